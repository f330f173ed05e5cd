//===- Format.h - The canonical layout of models ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_SOURCE_FORMAT_H
#define DLC_TOOLS_DRIVER_SOURCE_FORMAT_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// Formats each file; one that cannot be read or holds an error is reported, and the others are
/// formatted all the same. Returns the first ExitCode that is not kOk.
int formatFiles(const FormatOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_SOURCE_FORMAT_H
