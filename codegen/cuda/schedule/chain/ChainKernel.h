//===- ChainKernel.h - The code of a chain of kernels -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CHAIN_CHAINKERNEL_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CHAIN_CHAINKERNEL_H

#include "ir/dlx/DLXOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace dlc::codegen {

/// Adds the function of `chain` to `module`, which has those of its stages, and records on `chain`
/// how it is launched. Fails with an error where a stage's code can be no part of a chain:
/// formChains() takes none of these.
llvm::LogicalResult buildChain(dlx::KernelOp chain, mlir::gpu::GPUModuleOp module);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CHAIN_CHAINKERNEL_H
