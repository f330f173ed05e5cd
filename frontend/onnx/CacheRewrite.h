//===- CacheRewrite.h - A function whose past has a fixed size ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder's graph takes the past of each layer, P positions, and gives it back with those of the
// T new tokens after it. As a state it has one size: C positions, of which the first ones are
// taken. The function was imported as the graph says it; here its P becomes
//
//   in the types        C - T, so that P + T, the dim of past and new together, is C. No type is
//                       inferred again.
//   as a number         what a state `length` counts: where positions begin, where a table is read.
//   the concatenation   an update_slice of the state, from `length` on.
//
// Elements beyond length + T are no positions yet. What keeps them apart from real ones
// (mixesPadding) stays as it is; a softmax along them gets -inf there, and a sum or product over
// them 0. An input of P + T, as an attention mask, takes the part of the new tokens, and a state
// holds the rest.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ONNX_CACHEREWRITE_H
#define DLC_FRONTEND_ONNX_CACHEREWRITE_H

#include "ir/dl/base/DLBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

#include <string>

namespace dlc::onnx {

/// The function in which one symbol, the size of the past, becomes the rest of a capacity.
class CacheRewrite {
public:
  CacheRewrite(mlir::func::FuncOp function, unsigned past, mlir::AffineExpr step, int64_t capacity)
      : function(function), context(function.getContext()), past(past), step(step),
        whole(dl::normalize(mlir::getAffineSymbolExpr(past, context) + step)), capacity(capacity),
        padded(dl::kMaxSymbols) {
    padded.set(past);
  }

  /// Finds what becomes of each op; tells `report` of those that stand in the way.
  void plan(const llvm::DenseMap<mlir::Operation *, mlir::BlockArgument> &growing,
            llvm::function_ref<void(mlir::Operation *, const llvm::Twine &)> report);
  /// Changes the function. Its states are named `length` and, for an input x, "past_x".
  void apply(llvm::ArrayRef<std::string> taken);

private:
  enum class Change { append, number, positions, maskSoftmax, maskSum };

  bool isTouched(mlir::Operation *op) const;
  bool mentionsPast(mlir::AffineExpr dim) const { return dim.isFunctionOfSymbol(past); }
  /// The dim of past and new together among those of a tensor.
  std::optional<int64_t> cachedDim(mlir::Value x) const;
  bool staysZero(mlir::Operation *op) const;
  bool isPlain(mlir::Value x) const;
  /// Both plan an op that depends on the past's size; why that cannot be, or empty.
  std::string planOp(mlir::Operation *op);
  std::string planNumber(mlir::Operation *op, mlir::AffineExpr number);
  mlir::AffineExpr resized(mlir::AffineExpr dim) const;
  mlir::RankedTensorType resized(mlir::RankedTensorType type) const;
  void resizeAttributes(mlir::Operation *op);
  mlir::BlockArgument addState(const std::string &name, mlir::RankedTensorType type);
  /// a and r of a number a P + r; nothing of others.
  std::optional<std::pair<int64_t, mlir::AffineExpr>> linear(mlir::AffineExpr number) const;
  /// a P + r as `length`, of `dtype`, times a, plus r.
  mlir::Value numberOf(dl::Builder &b, mlir::AffineExpr number, mlir::Type dtype);
  mlir::Value masked(dl::Builder &b, mlir::Value x, int64_t dim, double fill);
  void change(mlir::Operation *op, Change how, mlir::BlockArgument state);

  mlir::func::FuncOp function;
  mlir::MLIRContext *context;
  unsigned past;
  mlir::AffineExpr step, whole;
  int64_t capacity;
  llvm::SmallBitVector padded;
  llvm::MapVector<mlir::Operation *, std::pair<Change, mlir::BlockArgument>> changes;
  llvm::DenseMap<mlir::OpOperand *, int64_t> masks; // operands to mask, with the dim
  llvm::DenseMap<mlir::Operation *, mlir::AffineExpr>
      begins;                         // of what is appended to others than states
  llvm::DenseSet<mlir::Value> places; // positions that are taken
  llvm::DenseSet<mlir::Value> zeros;  // tensors that are 0 beyond the positions that are taken
  llvm::SmallVector<std::pair<mlir::BlockArgument, int64_t>>
      partial; // inputs of past and new together
  mlir::Value length, valid;
};

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_CACHEREWRITE_H
