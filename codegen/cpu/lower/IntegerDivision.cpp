//===- IntegerDivision.cpp - Quotients of vectors of integers -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x86 has vector division for floats only. Dividing a and b as floats of p bits, which hold both,
// and truncating gives the integer quotient while a < 2^p: if a / b is not an integer, it is at
// least 1 / b away from one, and the rounding error is at most a / b * 2^-p.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/lower/LowerKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace dlc::codegen {

namespace {

/// LLVM will find a constant: a number that is repeated, or chosen by comparing numbers, as
/// divisors are.
static bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || matchPattern(op, m_Constant()))
    return op != nullptr;
  return isa<vector::BroadcastOp, arith::CmpIOp, arith::SelectOp>(op) &&
         llvm::all_of(op->getOperands(), isConstant);
}

template <typename Op, typename FromInteger, typename ToInteger, bool isRemainder>
struct DivideAsFloats : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    // Division by a constant is a multiplication; that of 64 bits fits no float.
    if (!type || !type.getElementType().isInteger() || type.getElementTypeBitWidth() > 32 ||
        isConstant(op.getRhs()))
      return failure();
    Location loc = op.getLoc();
    Type wide = type.clone(type.getElementTypeBitWidth() > 16 ? Type(rewriter.getF64Type())
                                                              : Type(rewriter.getF32Type()));
    Value a = FromInteger::create(rewriter, loc, wide, op.getLhs()),
          b = FromInteger::create(rewriter, loc, wide, op.getRhs());
    Value quotient =
        ToInteger::create(rewriter, loc, type, arith::DivFOp::create(rewriter, loc, a, b));
    if (!isRemainder) {
      rewriter.replaceOp(op, quotient);
      return success();
    }
    Value whole = arith::MulIOp::create(rewriter, loc, quotient, op.getRhs());
    rewriter.replaceOpWithNewOp<arith::SubIOp>(op, op.getLhs(), whole);
    return success();
  }
};

} // namespace

void populateIntegerDivisionPatterns(RewritePatternSet &patterns) {
  using namespace arith;
  patterns.add<DivideAsFloats<DivSIOp, SIToFPOp, FPToSIOp, false>,
               DivideAsFloats<RemSIOp, SIToFPOp, FPToSIOp, true>,
               DivideAsFloats<DivUIOp, UIToFPOp, FPToUIOp, false>,
               DivideAsFloats<RemUIOp, UIToFPOp, FPToUIOp, true>>(patterns.getContext());
}

} // namespace dlc::codegen
