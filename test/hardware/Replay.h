//===- Replay.h - Each kernel of a CUDA program, on values of the CPU's -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's CPU program and its CUDA program come from the same fusions; the latter joins some of
// them further. So each buffer that a CUDA kernel writes is one that the CPU program writes too,
// but for what a schedule adds between two of its own kernels. The CPU program runs first, one
// command at a time, and everything that a command writes is recorded. Then each launch of the CUDA
// program runs on recorded values, and what it writes must be one of the recorded values again.
// Thus a wrong kernel is named, where the outputs of the whole model would only tell that there is
// one; a kernel whose place another one takes under these shapes or on this GPU runs as well;
// and nothing is compiled otherwise than for use.
//
// A kernel whose result is not recorded waits for the kernels that read it: it is right where these
// are, and neither right nor wrong where none of these has anything to do under the shapes of the
// run. A kernel that clears a workspace leaves zeros; how another one leaves that workspace says
// nothing.
//===----------------------------------------------------------------------===//
#ifndef DLC_TEST_HARDWARE_REPLAY_H
#define DLC_TEST_HARDWARE_REPLAY_H

#include "runtime/core/package/Module.h"
#include "test/hardware/CasePlan.h"

#include <set>

namespace dlc::hardware {

struct ReplayReport {
  std::set<std::string> right;   ///< kernels that gave what is recorded, in each of their launches
  std::set<std::string> unknown; ///< kernels whose results nothing read
  std::vector<std::string> problems; ///< a sentence for each kernel that did not
};

/// Whether a replay can judge the module: the data do not say how large its buffers are.
bool canReplay(const rt::Module &module);

/// `module` has a program for the CPU and one for CUDA; the GPU is number `ordinal`.
rt::Status replay(rt::Module &module, const Run &run, int roundingBits, int ordinal,
                  ReplayReport &report);

} // namespace dlc::hardware

#endif // DLC_TEST_HARDWARE_REPLAY_H
