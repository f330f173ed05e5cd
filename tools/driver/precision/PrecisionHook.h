//===- PrecisionHook.h - What --precision does around the phases --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_PRECISION_PRECISIONHOOK_H
#define DLC_TOOLS_DRIVER_PRECISION_PRECISIONHOOK_H

#include "tools/driver/compiler/PhaseHook.h"

namespace dlc {

/// Checks the names of --keep-f32 and, for --precision mixed, marks the ops that stay in f32 before
/// phase `precision`. It comes before a hook that compresses: errors are held against the model as
/// it was.
std::unique_ptr<PhaseHook> makePrecisionHook(CompileSession &session);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_PRECISION_PRECISIONHOOK_H
