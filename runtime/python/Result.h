//===- Result.h - Arrays for a model's outputs -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_PYTHON_RESULT_H
#define DLC_RUNTIME_PYTHON_RESULT_H

#include "runtime/python/Array.h"

namespace dlc::python {

/// An array for an output, of the framework and on the device of the model's first input, or the
/// caller's own.
class Result {
public:
  /// Allocates memory for `dims` and describes it in `out`. `like` is the first input; null where
  /// the model has none: then the results are NumPy's.
  void allocate(const Array *like, const Port &port, const int64_t *dims, const Place &place,
                dlc_tensor &out);
  /// Describes the caller's array in `out`.
  void take(nanobind::handle array, const Port &port, const Place &place, dlc_tensor &out);

  /// An array of `dims` with a copy of `data`, in host memory, which the context has kept.
  nanobind::object keep(const Array *like, const Port &port, const int64_t *dims,
                        const Place &place, const void *data);

  /// The array of `dims`, which the data may have made smaller than those allocated.
  nanobind::object finish(const Port &port, const dlc_tensor &written, const int64_t *dims);

private:
  Array array;
  nanobind::object object;   ///< the array, unless DLPack hands it over
  nanobind::object block;    ///< the memory that DLPack hands over
  nanobind::object arrayApi; ///< the namespace whose arrays the first input is one of; may be null
};

} // namespace dlc::python

#endif // DLC_RUNTIME_PYTHON_RESULT_H
