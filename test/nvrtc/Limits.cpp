//===- Limits.cpp - What a kernel may need on each architecture -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/nvrtc/Limits.h"

#include <algorithm>
#include <cstring>
#include <fnmatch.h>

using namespace dlc::nvrtc;

namespace {

/// Kernels that may spill registers, and why that is no loss.
struct SpillRule {
  const char *kind;   ///< of the kernel
  const char *kernel; ///< pattern of its name, as for file names
  const char *arch;   ///< pattern
  int bytes;          ///< at most, loads and stores of a thread together
  const char *reason;
  bool isNeeded = false;
};

// Bytes count each store and each load once, over the whole text of the kernel; none of these is an
// accumulator. Estimates: no GPU has timed the kernels with another limit of registers (the
// hardware check will).
std::vector<SpillRule> spillRules = {
    {"contraction", "*conv*", "*", 160,
     "places of windows, computed once a block and kept over the loop; the limit on registers lets "
     "more blocks "
     "hide the loads of one another"},
    {"contraction", "*", "*", 64,
     "addresses of an edge, kept over the loop under the same limit; in few rows, what ptxas "
     "spills at 40, 48 and 80 registers, the most with which 6, 5 and 3 blocks of 256 threads "
     "fit"},
    {"attention", "*", "*", 64, "addresses and bounds of a mask, kept over the walk over the keys"},
    {"recurrent", "*", "*", 32, "addresses, stored before the first step"},
    {"map", "*", "*", 48, "words of f64 polynomials, each stored and loaded once an element"},
    {"reduce", "*", "*", 16, "the same beside a row of f64 that the thread keeps"},
};

} // namespace

/// Registers are given to a warp in units of 256.
static int registersOfBlock(int perThread, int threads) {
  int perWarp = (perThread * 32 + 255) / 256 * 256;
  return perWarp * ((threads + 31) / 32);
}

std::string dlc::nvrtc::problemOf(const KernelResources &kernel, const LaunchFacts &launch,
                                  const Architecture &arch) {
  std::string problem;
  auto add = [&](const std::string &text) { problem += (problem.empty() ? "" : "; ") + text; };
  if (kernel.spilledBytes > 0) {
    bool isAllowed = false;
    for (SpillRule &rule : spillRules)
      if (launch.kind == rule.kind && fnmatch(rule.kernel, kernel.name.c_str(), 0) == 0 &&
          fnmatch(rule.arch, arch.name, 0) == 0) {
        rule.isNeeded = true;
        isAllowed |= kernel.spilledBytes <= rule.bytes;
      }
    if (!isAllowed)
      add("spills " + std::to_string(kernel.spilledBytes) + " bytes, and no rule allows it");
  }
  if (launch.threads > 0)
    if (int needed = registersOfBlock(kernel.registers, launch.threads); needed > arch.registers)
      add(std::to_string(kernel.registers) + " registers in " + std::to_string(launch.threads) +
          " threads are " + std::to_string(needed) + ", a block has " +
          std::to_string(arch.registers));
  if (int bytes = kernel.sharedBytes + launch.dynamicShared; bytes > arch.sharedBytes)
    add(std::to_string(bytes) + " bytes of shared memory, a block has " +
        std::to_string(arch.sharedBytes));
  return problem;
}

std::vector<std::string> dlc::nvrtc::unneededSpills() {
  std::vector<std::string> names;
  for (const SpillRule &rule : spillRules)
    if (!rule.isNeeded)
      names.push_back(std::string(rule.kernel) + " (" + rule.kind + ") on " + rule.arch);
  return names;
}

std::string dlc::nvrtc::describeSpills() {
  std::string text;
  for (const SpillRule &rule : spillRules)
    text += std::string("may spill: ") + rule.kernel + " (" + rule.kind + ") on " + rule.arch +
            ", " + std::to_string(rule.bytes) + " bytes: " + rule.reason + "\n";
  return text;
}
