//===- Quantize.h - dlc quantize: a model with weights in few bits ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_QUANTIZE_H
#define DLC_TOOLS_DRIVER_COMPRESS_QUANTIZE_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// `dlc quantize`: an ExitCode; everything is reported.
int quantizeModel(const QuantizeOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_QUANTIZE_H
