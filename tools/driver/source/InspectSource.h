//===- InspectSource.h - What is in a model's text ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_SOURCE_INSPECTSOURCE_H
#define DLC_TOOLS_DRIVER_SOURCE_INSPECTSOURCE_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// Prints the layers of a .dl file with what they give and own, and the totals; an ExitCode.
int inspectSource(const InspectSourceOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_SOURCE_INSPECTSOURCE_H
