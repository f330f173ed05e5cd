//===- IndexMath.h - Symbolic index expressions and the loops that bind them --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules keep indices as affine expressions over loop variables (dims) and the module's symbols
// until the moment of a load or store: so both targets can ask how an address moves along a loop,
// drop bounds checks that cannot fail, and print the simplest arithmetic.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_INDEXMATH_H
#define DLC_CODEGEN_PLAN_INDEXMATH_H

#include "ir/dl/base/DLTypes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace dlc::codegen {

/// How an address moves when a loop variable grows by one.
enum class Stride { uniform, unit, other };

/// The loop variables and symbols in scope, and what they are bound to.
class IndexMath {
public:
  /// `symbols` are the ranges of the module's symbols.
  IndexMath(mlir::MLIRContext *context, llvm::ArrayRef<dl::Range> symbols)
      : context(context), symbolRanges(symbols.begin(), symbols.end()) {}

  /// A new loop variable that runs over [0, extent); `extent` may name symbols and loop variables.
  /// Null `value`: bound later.
  mlir::AffineExpr addLoop(mlir::AffineExpr extent, mlir::Value value = {});
  void bindLoop(mlir::AffineExpr variable, mlir::Value value);
  /// A variable that stands for an index in [0, extent) which a body computes; bound (bindLoop)
  /// where it does.
  mlir::AffineExpr addComputed(mlir::AffineExpr extent);
  /// True where `expr` names such a variable: its value is known only in the body that computes it.
  bool isComputed(mlir::AffineExpr expr) const;
  /// The index value of a symbol.
  void bindSymbol(unsigned position, mlir::Value value) { symbols[position] = value; }

  mlir::AffineExpr constant(int64_t value) const {
    return mlir::getAffineConstantExpr(value, context);
  }
  mlir::AffineExpr simplify(mlir::AffineExpr expr) const;

  /// Builds `expr` as an index value.
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::AffineExpr expr) const;

  /// How `expr` moves along `variable`. `other` also where it cannot be told.
  Stride strideAlong(mlir::AffineExpr expr, mlir::AffineExpr variable) const;
  /// The change of `expr` along `variable` where it is constant.
  std::optional<int64_t> stepAlong(mlir::AffineExpr expr, mlir::AffineExpr variable) const;

  /// True where 0 <= expr over all loops and symbol ranges can be proved.
  bool isNonNegative(mlir::AffineExpr expr) const;
  /// True where expr < bound can be proved.
  bool isBelow(mlir::AffineExpr expr, mlir::AffineExpr bound) const;
  /// Values that `expr` takes over all loops and symbol ranges; nullopt where unbounded.
  std::optional<dl::Range> range(mlir::AffineExpr expr) const;
  /// Returns the size to choose tiles for: `expr` if it is constant, else its value at the symbols'
  /// usual sizes. `expr` must not contain loop variables.
  std::optional<int64_t> usual(mlir::AffineExpr expr) const {
    return dl::usualOf(expr, symbolRanges);
  }

private:
  /// `expr` with each loop variable at the end of its range that makes it smallest (or largest);
  /// null where the direction of some variable is unknown.
  mlir::AffineExpr extreme(mlir::AffineExpr expr, bool largest) const;
  std::optional<dl::Range> affineRange(mlir::AffineExpr expr) const;
  std::optional<dl::Range> rangeOfParts(mlir::AffineExpr expr) const;
  mlir::AffineExpr quotientsAsLoops(mlir::AffineExpr expr);

  mlir::MLIRContext *context;
  llvm::SmallVector<dl::Range> symbolRanges;
  llvm::SmallVector<mlir::AffineExpr> extents; // of the loop variables
  llvm::SmallVector<mlir::Value> loops;
  llvm::SmallVector<unsigned> computed; // positions among the loop variables
  llvm::DenseMap<unsigned, mlir::Value> symbols;
  /// The results of simplify(), by the expression and the number of loop variables. Copies of
  /// this object share them.
  using Simplified = llvm::DenseMap<std::pair<mlir::AffineExpr, unsigned>, mlir::AffineExpr>;
  std::shared_ptr<Simplified> simplified = std::make_shared<Simplified>();
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_INDEXMATH_H
