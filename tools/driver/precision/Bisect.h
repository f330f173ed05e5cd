//===- Bisect.h - What keeps a model in 16 bits from holding a bound ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_PRECISION_BISECT_H
#define DLC_TOOLS_DRIVER_PRECISION_BISECT_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// Names the pass, or the layers, with which the outputs leave the bound. An ExitCode: kAccuracy
/// where a pass does, or where no layer may run in 16 bits.
int bisectModel(const BisectOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_PRECISION_BISECT_H
