//===- CompileUsage.h - Whether the options of a compile go together ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPILEUSAGE_H
#define DLC_TOOLS_DRIVER_COMPILEUSAGE_H

#include "tools/driver/cli/Compiler.h"

namespace dlc {

/// kUsage, after an error, where options of `dlc compile` contradict one another.
int checkUsage(const CompileOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILEUSAGE_H
