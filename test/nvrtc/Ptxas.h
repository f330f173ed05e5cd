//===- Ptxas.h - What ptxas says of the kernels that it compiled *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef DLC_TEST_NVRTC_PTXAS_H
#define DLC_TEST_NVRTC_PTXAS_H

#include <string>
#include <string_view>
#include <vector>

namespace dlc::nvrtc {

/// What one kernel needs on one architecture.
struct KernelResources {
  std::string name;
  int registers = 0;    ///< a thread
  int sharedBytes = 0;  ///< static, a block
  int stackBytes = 0;   ///< a thread
  int spilledBytes = 0; ///< stores and loads, a thread
};

/// A log of NVRTC with --ptxas-options=-v, taken apart.
struct PtxasLog {
  std::vector<KernelResources> kernels;
  /// What is neither a figure nor a heading: warnings, and that wgmma instructions wait for each
  /// other.
  std::string remarks;

  static PtxasLog parse(std::string_view log);
};

} // namespace dlc::nvrtc

#endif // DLC_TEST_NVRTC_PTXAS_H
