//===- Combine.cpp - Accumulators of reductions -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;

namespace dlc::codegen {

Value neutral(OpBuilder &builder, Location loc, Combiner combiner, Type type, ScalarKind kind) {
  // Any value of the type tells Scalar which constant to build.
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  Scalar scalar(builder, loc, zero, kind);
  switch (combiner) {
  case Combiner::add:
    return zero;
  case Combiner::mul:
    return scalar.constant(1.0).value();
  case Combiner::max:
  case Combiner::argmax:
    return scalar.lowest().value();
  case Combiner::min:
  case Combiner::argmin:
    return scalar.highest().value();
  }
  llvm_unreachable("unknown combiner");
}

Value combine(OpBuilder &builder, Location loc, Combiner combiner, ScalarKind kind, Value acc,
              Value term) {
  Scalar a(builder, loc, acc, kind), b(builder, loc, term, kind);
  switch (combiner) {
  case Combiner::add:
    return (a + b).value();
  case Combiner::mul:
    return (a * b).value();
  case Combiner::max:
    return max(a, b).value();
  case Combiner::min:
    return min(a, b).value();
  case Combiner::argmax:
  case Combiner::argmin:
    llvm_unreachable("argmax and argmin combine values with positions: combineBest");
  }
  llvm_unreachable("unknown combiner");
}

Best combineBest(OpBuilder &builder, Location loc, Combiner combiner, ScalarKind kind, Best a,
                 Best b) {
  Scalar x(builder, loc, a.value, kind), y(builder, loc, b.value, kind);
  Scalar earlier(
      builder, loc,
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, b.position, a.position)
          .getResult(),
      ScalarKind::boolean);
  Scalar isBeyond = combiner == Combiner::argmax ? x < y : y < x;
  Scalar takes = isBeyond | ((x == y) & earlier);
  if (kind == ScalarKind::floating) {
    // y is NaN and x is not, or both are and y comes earlier. (Comparisons with NaN are false.)
    Scalar xNan = isNan(x), yNan = isNan(y);
    Scalar xNumber = xNan == xNan.constant(0.0);
    takes = takes | (yNan & (xNumber | earlier));
  }
  Value better = takes.value();
  return {arith::SelectOp::create(builder, loc, better, b.value, a.value),
          arith::SelectOp::create(builder, loc, better, b.position, a.position)};
}

} // namespace dlc::codegen
