//===- Workspace.h - Memory through which the blocks of a kernel meet ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_WORKSPACE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_WORKSPACE_H

#include "ir/dlx/DLXOps.h"

namespace dlc::codegen {

/// Gives a kernel its last input, of `type`: memory that each of its launches finds zeroed.
void addWorkspace(dlx::KernelOp kernel, mlir::RankedTensorType type);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_WORKSPACE_H
