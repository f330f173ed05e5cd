//===- Tensors.h - Arrays from files, from the command line, and compared -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_RUN_TENSORS_H
#define DLC_TOOLS_DRIVER_RUN_TENSORS_H

#include "runtime/include/dlc/runtime.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

/// An array of the host, row-major.
struct HostTensor {
  dlc_dtype dtype = DLC_F32;
  std::vector<int64_t> dims;
  std::vector<uint8_t> data;

  int64_t size() const;
  /// Zeros; false where there is not that much memory.
  bool allocate();
  /// Element number `position` as a double.
  double at(int64_t position) const;
  /// How many elements are NaN; 0 for integers.
  int64_t countNaN() const;
  /// Bytes stand for the numbers of a `dtype` for which npy has none: of less than a byte, and
  /// floats of one.
  void takeBytesAs(dlc_dtype type);
  dlc_tensor view();
  /// "f32[1,10]".
  std::string describe() const;
};

/// nullopt where no dtype has this name.
std::optional<dlc_dtype> dtypeNamed(const std::string &name);

/// "x=@x.npy", "@x.npz", "x=8x1x28x28xf32=random", "x=zeros": where the values of an input or
/// output come from or go to.
struct TensorSpec {
  std::string name;                // empty where it was left out
  std::string file;                // behind '@'
  std::optional<HostTensor> shape; // dims and dtype, without data
  bool random = false, zeros = false;

  /// nullopt and a sentence in `problem` where `text` says none of these.
  static std::optional<TensorSpec> parse(const std::string &text, std::string &problem);
};

/// Reads a .npy, or the array `name` of a .npz; an ExitCode, with a sentence in `problem` unless
/// that is kOk.
int readTensor(const std::string &path, const std::string &name, HostTensor &tensor,
               std::string &problem);
/// Reads its dtype and dims alone.
int readLayout(const std::string &path, const std::string &name, HostTensor &tensor,
               std::string &problem);
/// Whether the file holds named arrays, by its name's end: .npz.
bool isArchive(const std::string &path);
struct NamedTensor {
  std::string name;
  const HostTensor *tensor;
};
/// Writes an .npz of the arrays, or an .npy of the only one; "-" is standard output. An ExitCode,
/// reported unless it is kOk.
int writeTensors(const std::string &path, const std::vector<NamedTensor> &tensors);
/// Numbers that depend on `seed` and the position alone: floats in [-1, 1), integers from 0 to 15,
/// bools. False where there is not that much memory.
bool fillRandom(HostTensor &tensor, uint64_t seed);

/// Where `actual` lies further than atol + rtol*|expected| from `expected`: what follows its name
/// in a sentence, with the worst element. NaN matches NaN alone.
std::optional<std::string> findDifference(const HostTensor &actual, const HostTensor &expected,
                                          double atol, double rtol);
/// That the output `name` holds NaN, how many and where the first is; empty where it holds none.
std::string describeNaN(const std::string &name, const HostTensor &tensor);
/// For each row of the last dim, its `count` largest elements with their positions.
std::string describeTop(const std::string &name, const HostTensor &tensor, int64_t count);
/// One line: type, smallest, largest, mean.
std::string describeValues(const std::string &name, const HostTensor &tensor);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_RUN_TENSORS_H
