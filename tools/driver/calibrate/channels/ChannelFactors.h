//===- ChannelFactors.h - Factors of channels, from an activation into its weights --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_CHANNELS_CHANNELFACTORS_H
#define DLC_TOOLS_DRIVER_CALIBRATE_CHANNELS_CHANNELFACTORS_H

#include "ir/dl/base/DLBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc {

/// Operands of products that read one activation, whose channels lie along `dim`.
struct ChannelReads {
  mlir::Value activation;
  int64_t dim;
  llvm::SmallVector<mlir::OpOperand *> uses;
};

/// The factors of the channels, f32[factors.size()], as a weight of the function that is held for
/// the package (WeightReader.h). Its name is `weight` with `.smooth`, and a number where another
/// weight has that name.
mlir::Value holdChannelFactors(mlir::func::FuncOp function, mlir::Location location,
                               llvm::StringRef weight, llvm::ArrayRef<float> factors);

/// `channels`, of one dim, repeated over the dims of `x` but for `dim`.
mlir::Value repeatChannels(mlir::Value channels, mlir::Value x, int64_t dim, dl::Builder &builder);

/// Makes the uses read the activation times `factors`, one for each channel. Where a norm gives the
/// activation to these uses alone, its weight and bias take the factors in, and no op is added that
/// runs with the model.
void multiplyChannels(const ChannelReads &reads, mlir::Value factors);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_CHANNELS_CHANNELFACTORS_H
