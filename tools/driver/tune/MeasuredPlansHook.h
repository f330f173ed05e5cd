//===- MeasuredPlansHook.h - What --plans and dlc tune do around phase schedule -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_TUNE_MEASUREDPLANSHOOK_H
#define DLC_TOOLS_DRIVER_TUNE_MEASUREDPLANSHOOK_H

#include "tools/driver/compiler/PhaseHook.h"

namespace dlc {

/// Gives kernels the plans of the file of --plans, and `dlc tune` the plans that they could run by.
std::unique_ptr<PhaseHook> makeMeasuredPlansHook(CompileSession &session);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TUNE_MEASUREDPLANSHOOK_H
