//===- CompileUsage.h - Whether the options of a compile go together ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPILER_COMPILEUSAGE_H
#define DLC_TOOLS_DRIVER_COMPILER_COMPILEUSAGE_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// kUsage, after an error, where options of `dlc compile` contradict one another.
int checkUsage(const CompileOptions &options);
/// kUnsupported, after an error, where an option cannot be had with a model that is cut into
/// segments.
int checkSegmentUsage(const CompileOptions &options);
/// Whether `scheme`, which `option` names, can do what `options` ask for, and has the data that it
/// needs. An ExitCode, reported unless it is kOk.
int checkScheme(QuantizationScheme scheme, const QuantizationOptions &options,
                const CalibrationOptions &calibration, const std::string &option);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_COMPILEUSAGE_H
