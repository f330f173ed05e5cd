//===- TargetGpu.h - The GPU that a module is compiled for --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_MACHINE_TARGETGPU_H
#define DLC_IR_MACHINE_TARGETGPU_H

#include "ir/machine/GpuModel.h"

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// An IntegerAttr on `module @cuda`: the architecture (90 for sm_90) of the one GPU that the file
/// is for. Without it the kernels are to suit every GPU.
inline constexpr llvm::StringLiteral kTargetGpu = "dl.gpu";

/// The GPU that `op` is compiled for; `*unnamed` where that may be any.
inline const GpuModel &gpuOf(mlir::Operation *op, const GpuModel *unnamed = &kHopper) {
  for (; op != nullptr; op = op->getParentOp())
    if (auto architecture = op->getAttrOfType<mlir::IntegerAttr>(kTargetGpu))
      return gpuModelOf(static_cast<int>(architecture.getInt()));
  return *unnamed;
}

} // namespace dlc

#endif // DLC_IR_MACHINE_TARGETGPU_H
