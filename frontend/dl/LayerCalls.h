//===- LayerCalls.h - Calls of layers in forward ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_LAYERCALLS_H
#define DLC_FRONTEND_DL_LAYERCALLS_H

#include "frontend/dl/Lower.h"
#include "frontend/dl/OpEmitter.h"

namespace dlc::frontend {

/// Builds the ops of layer calls, and the weights that they read.
class LayerCalls {
public:
  LayerCalls(mlir::OpBuilder &builder, OpEmitter &emitter, const BoundWeights &weights,
             Diagnostics &diagnostics)
      : builder(builder), emitter(emitter), weights(weights), diagnostics(diagnostics) {}

  /// Calls `layer`, whose kind is known, by the name `name` at `loc`. Poison after an error, which has been reported.
  Item call(const Layer &layer, llvm::StringRef name, llvm::SMLoc loc,
            llvm::ArrayRef<PassedArgument> arguments);

  /// The dl.weight of the parameter: one for each, however often it is read.
  mlir::Value weightOf(const Parameter &parameter);

private:
  mlir::OpBuilder &builder;
  OpEmitter &emitter;
  const BoundWeights &weights;
  Diagnostics &diagnostics;
  llvm::StringMap<mlir::Value> weightValues; // by path
  mlir::Operation *lastWeight = nullptr;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LAYERCALLS_H
