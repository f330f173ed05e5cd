//===- Check.h - All errors of a model, without compiling it ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_SOURCE_CHECK_H
#define DLC_TOOLS_DRIVER_SOURCE_CHECK_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// Reads the model, reports every error and warning; an ExitCode.
int checkModel(const CheckOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_SOURCE_CHECK_H
