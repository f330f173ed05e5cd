//===- Array.h - A caller's array as the C API takes it ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_PYTHON_ARRAY_H
#define DLC_RUNTIME_PYTHON_ARRAY_H

#include "runtime/python/Port.h"

#include <nanobind/ndarray.h>

namespace dlc::python {

/// Where a session runs.
struct Place {
  bool isCuda = false;    ///< the caller named CUDA; "auto" leaves it open
  int ordinal = 0;        ///< of the GPU
  void *stream = nullptr; ///< the caller's, where one was given
};

enum class Access { read, write };

/// Memory of an object of Python, described for the C API without a copy. An input that is not
/// contiguous is copied, with a warning. The object and its memory live as long as this does. Made
/// and destroyed with the GIL held.
class Array {
public:
  /// Whose arrays the results are.
  enum class Framework { numpy, torch, other };

  Array() = default;
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array();

  /// Describes `object` in `out`. What is no array, lies on a device that `place` is not, or cannot
  /// be written where it must be, raises dlc.Error; dtype and dims are left to the C API.
  void read(nanobind::handle object, const Port &port, Access access, const Place &place,
            dlc_tensor &out);

  Framework framework() const { return origin; }
  nanobind::handle object() const { return held; }
  bool isOnDevice() const { return onDevice; }

private:
  void readBuffer(const Port &port, Access access, dlc_tensor &out);
  bool openBuffer(nanobind::handle from, Access access);
  void readTorch(const Port &port, Access access, const Place &place, dlc_tensor &out);
  void readDLPack(const Port &port, Access access, const Place &place, dlc_tensor &out);
  void checkPlace(const Port &port, const Place &place, int ordinal) const;

  Framework origin = Framework::other;
  bool onDevice = false;
  nanobind::object held; ///< what the caller gave
  nanobind::object copy; ///< what is read instead
  Py_buffer buffer = {};
  nanobind::ndarray<nanobind::ro> imported;
};

} // namespace dlc::python

#endif // DLC_RUNTIME_PYTHON_ARRAY_H
