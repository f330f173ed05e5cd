//===- KernelDigest.h - What a kernel computes, in 16 digits ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TUNE_KERNELDIGEST_H
#define DLC_TOOLS_DRIVER_TUNE_KERNELDIGEST_H

#include "ir/dlx/DLXOps.h"

#include <string>

namespace dlc {

/// 16 hexadecimal digits that are equal for kernels with the same body, types and attributes,
/// whatever they are called and whichever lines they come from. `kernel` has no plan yet.
std::string digestOf(dlx::KernelOp kernel);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TUNE_KERNELDIGEST_H
