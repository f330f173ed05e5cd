//===- List.h - The functions and layers of the language ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_INSPECT_LIST_H
#define DLC_TOOLS_DRIVER_INSPECT_LIST_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// Prints each function or kind of layer whose name fits one of the globs, with its arguments and
/// what it computes. Returns an ExitCode: kUsage where a glob fits none.
int listLanguage(const ListOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_INSPECT_LIST_H
