//===- Polynomial.h - Dims as sums of products --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR simplifies affine expressions, but products of symbols (N*T*8) only here and there. A dim
// that has some is brought into the normal form of polynomials: a sum of distinct products, each a
// coefficient times factors in a fixed order. A factor is a symbol, a loop variable or a quotient
// or remainder whose operands are in normal form themselves.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_BASE_POLYNOMIAL_H
#define DLC_IR_DL_BASE_POLYNOMIAL_H

#include "mlir/IR/AffineExpr.h"

#include <map>
#include <optional>
#include <vector>

namespace dlc::dl {

class Polynomial {
public:
  /// `expr` multiplied out; nullopt where a coefficient overflows.
  static std::optional<Polynomial> of(mlir::AffineExpr expr);

  mlir::AffineExpr toExpr(mlir::MLIRContext *context) const;
  /// This divided by `divisor`, where that leaves no remainder for any values of the symbols.
  std::optional<Polynomial> dividedExactly(const Polynomial &divisor) const;

private:
  /// A fixed order of factors that does not depend on addresses.
  struct Before {
    bool operator()(mlir::AffineExpr a, mlir::AffineExpr b) const;
    bool operator()(const std::vector<mlir::AffineExpr> &a,
                    const std::vector<mlir::AffineExpr> &b) const;
  };
  using Factors = std::vector<mlir::AffineExpr>; // sorted; empty: the constant

  bool add(const Factors &factors, int64_t coefficient);

  std::map<Factors, int64_t, Before> terms; // no zero coefficients
};

/// True where `expr` holds a product, quotient or remainder of two terms that both vary.
bool isNonlinear(mlir::AffineExpr expr);

} // namespace dlc::dl

#endif // DLC_IR_DL_BASE_POLYNOMIAL_H
