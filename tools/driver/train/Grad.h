//===- Grad.h - dlc grad: the step of a training as text ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_GRAD_H
#define DLC_TOOLS_DRIVER_TRAIN_GRAD_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// `dlc grad`: an ExitCode; everything is reported.
int gradModel(const GradOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_GRAD_H
