//===- DLBuilder.h - Builds dl ops whose types follow from their operands -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How decompositions and passes write graphs: `b.make<dl::MatmulOp>(q, k)` is an op at the
// builder's place, its type inferred. Nothing is implicit: operands of elementwise ops are
// broadcast and cast here by name.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_BASE_DLBUILDER_H
#define DLC_IR_DL_BASE_DLBUILDER_H

#include "ir/dl/DLOps.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace dlc::dl {

class Builder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  /// Builds before `op`, at its location.
  explicit Builder(mlir::Operation *op) : ImplicitLocOpBuilder(op->getLoc(), op) {}

  /// An op of one result. Arguments are the record's operands and attributes in order, an absent
  /// operand as Value(). That they fit is the caller's promise: types that cannot be inferred end
  /// the program.
  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return Op::create(*this, std::forward<Args>(args)...)->getResult(0);
  }

  // Each of the following returns its operand where nothing is to be done.

  mlir::Value cast(mlir::Value x, mlir::Type dtype);
  /// Dims of size 1 repeated, leading ones added.
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> dims);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> dims);
  mlir::Value permute(mlir::Value x, llvm::ArrayRef<int64_t> order);
  /// Two dims exchanged; negative ones count from the end.
  mlir::Value transpose(mlir::Value x, int64_t dim0, int64_t dim1);
  /// Indices from `start` to before `end` of a dim, every `step`-th; both lie in the dim, or below
  /// 0, where they count from its end. Without `end`, up to the end.
  mlir::Value slice(mlir::Value x, int64_t dim, int64_t start,
                    std::optional<int64_t> end = std::nullopt, int64_t step = 1);
  /// Zeros before (`low`) and behind (`high`) a dim; negative widths crop.
  mlir::Value pad(mlir::Value x, int64_t dim, int64_t low, int64_t high);
  /// The index `position` of a dim, which goes.
  mlir::Value select(mlir::Value x, int64_t dim, int64_t position);
  /// A dim of size 1 before position `dim` of the result; negative ones count from the result's
  /// end.
  mlir::Value unsqueeze(mlir::Value x, int64_t dim);
  /// A dim of size 1 goes.
  mlir::Value squeeze(mlir::Value x, int64_t dim);
  /// `value` in every element; of an integer dtype it is a whole number.
  mlir::Value full(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type dtype, double value);
  /// `value` in the dims and dtype of `x`.
  mlir::Value fullLike(mlir::Value x, double value);
};

/// The type of a dl value.
inline mlir::RankedTensorType typeOf(mlir::Value x) {
  return mlir::cast<mlir::RankedTensorType>(x.getType());
}
inline Dims dimsOf(mlir::Value x) { return getDims(typeOf(x)); }

} // namespace dlc::dl

#endif // DLC_IR_DL_BASE_DLBUILDER_H
