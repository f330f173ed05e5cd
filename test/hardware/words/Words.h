//===- Words.h - each word of the dlc:: vocabulary on a GPU -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef DLC_TEST_HARDWARE_WORDS_WORDS_H
#define DLC_TEST_HARDWARE_WORDS_WORDS_H

#include "test/hardware/Gpu.h"

#include <functional>
#include <string>
#include <vector>

namespace dlc::hardware {

/// When two answers are the same.
enum class Sameness {
  bits, ///< each bit
  f32,  ///< each bit, but any NaN is as good as another
  f64,  ///< likewise
  /// Sums of 16 products in [-1, 1], in the order and with the rounding of the hardware: within
  /// 2^-16
  nearF32
};

/// Words whose answers one launch gives.
struct WordCase {
  std::string name;
  std::string file, kernel;
  std::vector<std::string> words;
  Sameness sameness = Sameness::bits;
  /// Compute capability 9.0 alone has them.
  bool needsHopper = false;
  /// Launches `function` and gives what it wrote.
  std::function<rt::Status(Gpu &, cuda::Function, std::vector<char> &)> run;
};

/// All of them, in a fixed order. Inputs are the same on each machine.
const std::vector<WordCase> &wordCases();

/// Those of products with two of each four elements, which also compare with a product of the host.
std::vector<WordCase> sparseCases();
/// Those of wgmma of bytes and of e4m3.
std::vector<WordCase> narrowCases();

/// The file `name` of the embedded kernels, with all device headers.
cuda::KernelText textOf(const std::string &name);

/// Empty where the answers are the same, else a sentence about the first difference.
std::string difference(Sameness sameness, const std::vector<char> &actual,
                       const std::vector<char> &expected);

} // namespace dlc::hardware

#endif // DLC_TEST_HARDWARE_WORDS_WORDS_H
