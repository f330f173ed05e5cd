//===- OverwrittenStates.h - Maps that overwrite states with their new values -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_BUFFERS_OVERWRITTENSTATES_H
#define DLC_PASSES_BUFFERS_OVERWRITTENSTATES_H

#include "ir/dlx/DLXOps.h"

namespace dlc {

/// Returns true if the kernel of `launch` may write a result to `state`: each element that it reads
/// of the state is the one that it writes, as in the step of an optimizer.
bool mayOverwrite(dlx::LaunchOp launch, mlir::Value state);

/// Lets the launch that computes the new value of a state write it to the state, if the launch is
/// the last command that reads the old value. Returns the number of such states.
unsigned overwriteStates(dlx::ProgramOp program);

} // namespace dlc

#endif // DLC_PASSES_BUFFERS_OVERWRITTENSTATES_H
