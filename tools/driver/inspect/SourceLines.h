//===- SourceLines.h - The model's lines in the text of its kernels -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_INSPECT_SOURCELINES_H
#define DLC_TOOLS_DRIVER_INSPECT_SOURCELINES_H

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Adds the lines of the model that each kernel of `target` (module @cuda, scheduled) comes from to
/// the comment at the kernel's head: "model.dl:14: x = relu(conv1(x))". A file that cannot be read
/// any more is left out.
void quoteSourceLines(mlir::ModuleOp target);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_INSPECT_SOURCELINES_H
