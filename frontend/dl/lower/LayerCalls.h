//===- LayerCalls.h - Calls of layers in forward ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_LOWER_LAYERCALLS_H
#define DLC_FRONTEND_DL_LOWER_LAYERCALLS_H

#include "frontend/dl/lower/FunctionCalls.h"
#include "frontend/dl/lower/Lower.h"
#include "frontend/weights/WeightBinding.h"

namespace dlc::frontend {

/// The dtype of the first tensor of floats in `item`, a tensor or nested lists of them; null where
/// there is none.
mlir::Type floatDtype(const Item &item);

/// Builds the ops of layer calls, and the weights that they read.
class LayerCalls {
public:
  LayerCalls(mlir::OpBuilder &builder, OpEmitter &emitter, const BoundWeights &weights,
             Diagnostics &diagnostics, FunctionCalls::LibraryCall library = {})
      : functions(emitter, diagnostics, std::move(library)), diagnostics(diagnostics),
        weightValues(builder, weights, diagnostics) {}

  /// Calls `layer`, whose kind is known, by the name `name` at `loc`. Poison after an error, which
  /// has been reported.
  Item call(const Layer &layer, llvm::StringRef name, llvm::SMLoc loc,
            llvm::ArrayRef<PassedArgument> arguments);

  /// The dl.weight of the parameter: one for each, however often it is read.
  mlir::Value weightOf(const Parameter &parameter) { return weightValues.get(parameter); }

private:
  friend class LayerCall;

  FunctionCalls functions;
  Diagnostics &diagnostics;
  WeightValues weightValues;
};

/// One call of a layer, as the kinds of layers see it that are made of several functions
/// (LayerKind::build).
class LayerCall {
public:
  LayerCall(LayerCalls &calls, const Layer &layer, const Signature &forward,
            const BoundArguments &bound, llvm::SMLoc loc);

  /// The layer's arguments.
  const LayerArguments arguments;
  const llvm::SMLoc loc;

  /// What the call passes for a parameter of `forward`; Item::None where it passes nothing.
  Item input(llvm::StringRef name) const;
  /// The first input.
  const Item &first() const { return *inputs.front(); }
  /// The weights that go to this parameter, in the layer's dtype, in the order of the layer's list.
  Item::List weights(llvm::StringRef parameter) const;
  /// The only one of them; Item::None where the layer has none.
  Item weight(llvm::StringRef parameter) const;
  Item function(llvm::StringRef callee, llvm::ArrayRef<Item> positional,
                llvm::ArrayRef<FunctionCalls::Named> named = {}) const {
    return calls.functions.call(callee, loc, positional, named);
  }
  Item reshape(const Item &x, llvm::ArrayRef<mlir::AffineExpr> dims) const;
  /// The call of the layer's own function, by the names of parameters (LayerKind::passes).
  Item functionOfLayer() const;

private:
  std::optional<Item> passed(const Param &param, bool &isFirstPassed) const;

  LayerCalls &calls;
  const Layer &layer;
  const Signature &forward;
  BoundArguments inputs;
  mlir::Type dtype; // of the first float input; null where there is none
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LOWER_LAYERCALLS_H
