//===- MathExpansion.cpp - Functions of math as arithmetic --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function reduces its argument, evaluates a polynomial (MathCoefficients.h) and undoes the
// reduction: see the file of its family. Branches are selects, since lanes of a vector differ; only
// what is rare and long stands under a condition.
//
// Largest error in units of the last place; gelu and sigmoid, which are composites, have units of
// max(|y|, |x| 2^-10). The inputs of exp to erf, of gelu and of sigmoid are all 2^32 in single
// precision (tools/scripts/math-ulp), those of the others every 1021st; in double precision a
// million samples; pairs in both.
//            exp   exp2  expm1 log   log2  log10 log1p tanh  erf   erfc  gelu  sigmoid
//   single   0.90  0.92  1.07  0.83  0.78  0.67  1.37  1.51  1.07  1.45  3.12  2.18
//   double   0.84  0.91  1.03  0.83  0.90  0.73  1.34  1.48  0.98  1.45  15.8  1.97
//            sin   cos   tan   asin  acos  atan  atan2 pow   fmod
//   single   0.78  0.77  0.99  0.62  0.56  1.01  1.38  1.21  0
//   double   0.77  0.77  0.90  0.59  0.59  1.20  1.39  1.19  0
//===------------------------------------------------------------------------------------------===//
#include "ir/scalar/MathExpansion.h"

#include "ir/scalar/MathExpander.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc {
namespace {

class ExpandMath final : public RewritePattern {
public:
  ExpandMath(StringRef name, MLIRContext *context) : RewritePattern(name, /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    std::optional<MathFunction> function = expandedMath(op);
    if (!function)
      return rewriter.notifyMatchFailure(op, "neither f32 nor f64");
    rewriter.replaceOp(op, expandMath(rewriter, op->getLoc(), *function, op->getOperands()));
    return success();
  }
};

/// Targets that divide as fast need no other word for it.
class DivideForReciprocal final : public OpRewritePattern<dls::ReciprocalOp> {
public:
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dls::ReciprocalOp op, PatternRewriter &rewriter) const override {
    TypedAttr one = rewriter.getFloatAttr(getElementTypeOrSelf(op.getType()), 1.0);
    if (auto vector = dyn_cast<VectorType>(op.getType()))
      one = DenseElementsAttr::get(vector, one);
    Value numerator = arith::ConstantOp::create(rewriter, op.getLoc(), one);
    rewriter.replaceOpWithNewOp<arith::DivFOp>(op, numerator, op.getX());
    return success();
  }
};

} // namespace

std::optional<MathFunction> expandedMath(Operation *op) {
  std::optional<MathFunction> function =
      llvm::TypeSwitch<Operation *, std::optional<MathFunction>>(op)
#define DLC_SCALAR_OP(Class, Weight)
#define DLC_MATH_OP(Class, Function, Weight)                                                       \
  .Case<Class>([](auto) { return MathFunction::Function; })
#include "ir/scalar/ScalarOps.def"
          .Default([](auto) { return std::nullopt; });
  if (!function)
    return std::nullopt;
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  if (!element.isF32() && !element.isF64() && !element.isInteger())
    return std::nullopt;
  return function;
}

StringRef mathFunctionName(MathFunction function) {
  switch (function) {
#define DLC_SCALAR_OP(Class, Weight)
#define DLC_MATH_OP(Class, Function, Weight)                                                       \
  case MathFunction::Function:                                                                     \
    return #Function;
#include "ir/scalar/ScalarOps.def"
  }
  llvm_unreachable("all functions are named");
}

unsigned numArguments(MathFunction function) {
  switch (function) {
  case MathFunction::pow:
  case MathFunction::ipow:
  case MathFunction::fmod:
  case MathFunction::atan2:
    return 2;
  default:
    return 1;
  }
}

Value expandMath(OpBuilder &builder, Location loc, MathFunction function, ValueRange arguments) {
  Value x = arguments[0];
  if (function == MathFunction::ipow)
    return expandIntegerPower(builder, loc, x, arguments[1]);
  Expander expander(builder, loc, x.getType());
  switch (function) {
  case MathFunction::pow:
    return expander.pow(x, arguments[1]);
  case MathFunction::fmod:
    return expander.fmod(x, arguments[1]);
  case MathFunction::atan2:
    return expander.atan2(x, arguments[1]);
  case MathFunction::ipow:
    break;
#define DLC_UNARY(Function)                                                                        \
  case MathFunction::Function:                                                                     \
    return expander.Function(x);
    DLC_UNARY(exp)
    DLC_UNARY(exp2)
    DLC_UNARY(expm1)
    DLC_UNARY(log)
    DLC_UNARY(log2)
    DLC_UNARY(log10)
    DLC_UNARY(log1p)
    DLC_UNARY(tanh)
    DLC_UNARY(sigmoid)
    DLC_UNARY(erf)
    DLC_UNARY(erfc)
    DLC_UNARY(gelu)
    DLC_UNARY(sin)
    DLC_UNARY(cos)
    DLC_UNARY(tan)
    DLC_UNARY(asin)
    DLC_UNARY(acos)
    DLC_UNARY(atan)
#undef DLC_UNARY
  }
  llvm_unreachable("all functions are expanded");
}

void loadMathDialects(MLIRContext *context) {
  context->loadDialect<dls::DLSDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect,
                       scf::SCFDialect, vector::VectorDialect>();
}

void populateMathExpansionPatterns(RewritePatternSet &patterns) {
#define DLC_SCALAR_OP(Class, Weight)
#define DLC_MATH_OP(Class, Function, Weight)                                                       \
  patterns.add<ExpandMath>(Class::getOperationName(), patterns.getContext());
#include "ir/scalar/ScalarOps.def"
  patterns.add<DivideForReciprocal>(patterns.getContext());
}

func::FuncOp buildMathFunction(OpBuilder &builder, Location loc, StringRef name,
                               MathFunction function, Type type) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> inputs(numArguments(function), type);
  auto func = func::FuncOp::create(loc, name, builder.getFunctionType(inputs, {type}));
  func.setPrivate();
  builder.setInsertionPointToStart(func.addEntryBlock());
  func::ReturnOp::create(builder, loc, expandMath(builder, loc, function, func.getArguments()));
  return func;
}

} // namespace dlc
