//===- KernelNames.h - finds the kernels in a text --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace dlc::emu {

struct KernelName {
  std::string name;
  /// The bound on the threads of a block, as written.
  std::string threads;
  /// The blocks of a cluster, as written.
  std::string cluster;
};

/// The kernels that `source` defines, by DLC_KERNEL(threads) name(, one of its kin, or __global__
/// void name(. Comments, strings and preprocessor lines do not count.
std::vector<KernelName> findKernels(const std::string &source);

} // namespace dlc::emu
