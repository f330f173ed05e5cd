//===- Term.h - Formulas of derivatives ---------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules are written as formulas: `dy * (1.0 - y * y)`. A term is a value or a number. An operator
// builds the op at the builder's place, with the dims of its operands broadcast against each other
// as PyTorch does.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_GRADIENT_TERM_H
#define DLC_IR_DL_GRADIENT_TERM_H

#include "ir/dl/base/DLBuilder.h"

namespace dlc::dl {

class Term {
public:
  Term(double number) : number(number) {}
  Term(mlir::Value value, Builder &builder) : held(value), b(&builder) {}

  bool isNumber() const { return !held; }
  double getNumber() const { return number; }
  // The functions below are for terms that are tensors.
  mlir::Value value() const { return held; }
  Builder &builder() const { return *b; }
  Dims dims() const { return dimsOf(held); }
  mlir::Type dtype() const { return typeOf(held).getElementType(); }

  /// The result of an op of this operand: x.make<ExpOp>(), a.make<MatmulOp>(b).
  template <typename Op, typename... Args> Term make(const Args &...args) const {
    return {b->make<Op>(held, plain(args)...), *b};
  }

  Term cast(mlir::Type dtype) const { return {b->cast(held, dtype), *b}; }
  Term reshape(llvm::ArrayRef<mlir::AffineExpr> dims) const { return {b->reshape(held, dims), *b}; }
  Term permute(llvm::ArrayRef<int64_t> order) const { return {b->permute(held, order), *b}; }
  Term broadcast(llvm::ArrayRef<mlir::AffineExpr> dims) const {
    return {b->broadcast(held, dims), *b};
  }
  /// The last two dims exchanged.
  Term transposed() const;
  Term sum(llvm::ArrayRef<int64_t> axes, bool keepsDims) const;
  Term mean(llvm::ArrayRef<int64_t> axes) const; ///< the dims stay, with size 1
  /// The sum that undoes a broadcast of a tensor of `dims`.
  Term summedTo(llvm::ArrayRef<mlir::AffineExpr> dims) const;
  /// Pads dim `axis` with zeros at both ends. A negative width removes elements instead.
  Term padded(int64_t axis, mlir::AffineExpr before, mlir::AffineExpr behind) const;
  /// `length` indices of dim `axis` from `start` on.
  Term narrowed(int64_t axis, mlir::AffineExpr start, mlir::AffineExpr length) const;
  /// Raises this to the power `exponent`.
  Term power(double exponent) const;
  /// Compares with `other`, a tensor or a number.
  Term equals(const Term &other) const;

private:
  static mlir::Value plain(const Term &term) { return term.held; }
  template <typename Arg> static const Arg &plain(const Arg &arg) { return arg; }

  double number = 0;
  mlir::Value held;
  Builder *b = nullptr;
};

// At least one of the operands is a tensor.
Term operator+(const Term &a, const Term &b);
Term operator-(const Term &a, const Term &b);
Term operator*(const Term &a, const Term &b);
Term operator/(const Term &a, const Term &b);
Term operator-(const Term &a);
Term operator<(const Term &a, const Term &b);
Term operator>(const Term &a, const Term &b);
Term operator<=(const Term &a, const Term &b);
Term operator>=(const Term &a, const Term &b);
/// One of `a` and `b` is a tensor.
Term where(const Term &condition, const Term &a, const Term &b);

} // namespace dlc::dl

#endif // DLC_IR_DL_GRADIENT_TERM_H
