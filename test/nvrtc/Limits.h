//===- Limits.h - What a kernel may need on each architecture ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef DLC_TEST_NVRTC_LIMITS_H
#define DLC_TEST_NVRTC_LIMITS_H

#include "test/nvrtc/Ptxas.h"

#include <string>
#include <vector>

namespace dlc::nvrtc {

/// What one block may have (CUDA programming guide, technical specifications by compute
/// capability).
struct Architecture {
  const char *name;
  int sharedBytes; ///< static and dynamic, a block that asks for more than 48 KiB
  int registers = 65536;
};

/// Those for which every kernel is compiled: the oldest that dlc serves, the one with wgmma and
/// TMA, and the newest with the least shared memory.
inline constexpr Architecture kArchitectures[] = {
    {"sm_80", 163 << 10}, {"sm_90a", 227 << 10}, {"sm_120", 99 << 10}};

/// A kernel as it is launched.
struct LaunchFacts {
  int threads = 0;       ///< a block; 0 where not known
  int dynamicShared = 0; ///< bytes
  std::string kind;      ///< map, reduce, contraction; empty where not known
};

/// What is wrong with `kernel` as it is launched on `arch`; empty where nothing is. A kernel may
/// spill where the table of spills (Limits.cpp) allows it.
std::string problemOf(const KernelResources &kernel, const LaunchFacts &launch,
                      const Architecture &arch);

/// The lines of the table of spills that no kernel needed so far: "conv*: sm_80".
std::vector<std::string> unneededSpills();
/// The table, a line for each entry, with its reason.
std::string describeSpills();

} // namespace dlc::nvrtc

#endif // DLC_TEST_NVRTC_LIMITS_H
