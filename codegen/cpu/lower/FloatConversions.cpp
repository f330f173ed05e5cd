//===- FloatConversions.cpp - Rounding to bf16 and f16 without a library ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction sets that dlc compiles for widen bf16 and f16 and round f32 to f16 themselves;
// rounding to bf16, and f64 to either, would call compiler-rt. Both round to nearest even; NaN
// stays NaN.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/lower/LowerKernels.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace dlc::codegen {

namespace {

/// Integer arithmetic on values of one type, scalars or vectors.
class Bits {
public:
  Bits(OpBuilder &builder, Location loc, Type like) : builder(builder), loc(loc), like(like) {}

  Type shaped(Type element) const {
    if (auto vector = dyn_cast<VectorType>(like))
      return vector.clone(element);
    return element;
  }
  Value constant(unsigned width, int64_t value) const {
    Type element = builder.getIntegerType(width), type = shaped(element);
    TypedAttr attribute = IntegerAttr::get(element, value);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(builder, loc, attribute);
  }
  template <typename Op> Value make(Value a, Value b) const {
    return Op::create(builder, loc, a, b);
  }
  Value add(Value a, Value b) const { return make<arith::AddIOp>(a, b); }
  Value isNan(Value a) const {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, a, a);
  }

  OpBuilder &builder;
  Location loc;
  Type like;
};

/// f64 to f32 by rounding to odd, so that rounding the f32 further down gives what rounding the f64
/// once would.
Value roundToOdd(const Bits &bits, Value wide) {
  OpBuilder &b = bits.builder;
  Location loc = bits.loc;
  Value narrow = arith::TruncFOp::create(b, loc, bits.shaped(b.getF32Type()), wide);
  Value back = arith::ExtFOp::create(b, loc, wide.getType(), narrow);
  Value pattern = arith::BitcastOp::create(b, loc, bits.shaped(b.getI32Type()), narrow);
  // NaN compares as exact and is left alone.
  Value inexact = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, back, wide);
  Value away =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, math::AbsFOp::create(b, loc, back),
                            math::AbsFOp::create(b, loc, wide));
  Value one = bits.constant(32, 1);
  Value toZero =
      arith::SelectOp::create(b, loc, away, bits.make<arith::SubIOp>(pattern, one), pattern);
  Value odd =
      arith::SelectOp::create(b, loc, inexact, bits.make<arith::OrIOp>(toZero, one), pattern);
  return arith::BitcastOp::create(b, loc, narrow.getType(), odd);
}

Value toBFloat16(const Bits &bits, Value value, Type target) {
  OpBuilder &b = bits.builder;
  Location loc = bits.loc;
  Value pattern = arith::BitcastOp::create(b, loc, bits.shaped(b.getI32Type()), value);
  Value sixteen = bits.constant(32, 16);
  // Half of the last place, less one where the kept bits are even: ties go to even.
  Value kept = bits.make<arith::ShRUIOp>(pattern, sixteen);
  Value odd = bits.make<arith::AndIOp>(kept, bits.constant(32, 1));
  Value rounded = bits.add(bits.add(pattern, bits.constant(32, 0x7fff)), odd);
  Value quiet = bits.make<arith::OrIOp>(pattern, bits.constant(32, 0x400000));
  Value chosen = arith::SelectOp::create(b, loc, bits.isNan(value), quiet, rounded);
  Value half = arith::TruncIOp::create(b, loc, bits.shaped(b.getI16Type()),
                                       bits.make<arith::ShRUIOp>(chosen, sixteen));
  return arith::BitcastOp::create(b, loc, target, half);
}

struct ExpandTruncation : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    Value value = op.getIn();
    Type from = getElementTypeOrSelf(value), to = getElementTypeOrSelf(op.getType());
    if (!to.isBF16() && !(to.isF16() && from.isF64()))
      return failure();
    Bits bits(rewriter, op.getLoc(), value.getType());
    if (from.isF64())
      value = roundToOdd(bits, value);
    if (to.isBF16())
      rewriter.replaceOp(op, toBFloat16(bits, value, op.getType()));
    else
      rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), value);
    return success();
  }
};

/// Integers of 64 bits such that f64 holds them and what they round to in 16 bits stays: beyond
/// 2^53 the low bits become one, which says that there were some.
Value withStickyBit(const Bits &bits, Value integers, bool isSigned) {
  OpBuilder &b = bits.builder;
  Location loc = bits.loc;
  constexpr int64_t kLow = 0x7ff, kSticky = 0x800, kExact = int64_t(1) << 53;
  Value zero = bits.constant(64, 0), exact = bits.constant(64, kExact);
  Value low = bits.make<arith::AndIOp>(integers, bits.constant(64, kLow));
  Value hasLow = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, low, zero);
  Value sticky = arith::SelectOp::create(b, loc, hasLow, bits.constant(64, kSticky), zero);
  Value high = bits.make<arith::AndIOp>(integers, bits.constant(64, ~kLow));
  Value isBeyond = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt,
                                         isSigned ? bits.add(integers, exact) : integers,
                                         isSigned ? bits.constant(64, 2 * kExact) : exact);
  return arith::SelectOp::create(b, loc, isBeyond, bits.make<arith::OrIOp>(high, sticky), integers);
}

/// Integers become 16-bit floats by way of f32, as bodies say; folding has merged the two steps.
/// Those that f32 would round go by way of f64.
template <typename Conversion> struct ExpandFromInteger : OpRewritePattern<Conversion> {
  using OpRewritePattern<Conversion>::OpRewritePattern;
  LogicalResult matchAndRewrite(Conversion op, PatternRewriter &rewriter) const override {
    Type to = getElementTypeOrSelf(op.getType());
    if (!to.isBF16() && !to.isF16())
      return failure();
    Bits bits(rewriter, op.getLoc(), op.getType());
    Value integers = op.getIn();
    unsigned width = getElementTypeOrSelf(integers).getIntOrFloatBitWidth();
    if (width > APFloat::semanticsPrecision(APFloat::IEEEdouble()))
      integers = withStickyBit(bits, integers, std::is_same_v<Conversion, arith::SIToFPOp>);
    bool isExact = width <= APFloat::semanticsPrecision(APFloat::IEEEsingle());
    Type middle = isExact ? Type(rewriter.getF32Type()) : rewriter.getF64Type();
    Value wide = Conversion::create(rewriter, op.getLoc(), bits.shaped(middle), integers);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};

/// Constants of bf16 as the integers that stand for them once all is LLVM.
struct LowerConstant : ConvertOpToLLVMPattern<arith::ConstantOp> {
  explicit LowerConstant(const LLVMTypeConverter &converter)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/2) {}
  LogicalResult matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return failure();
    Type type = getTypeConverter()->convertType(op.getType());
    TypedAttr bits;
    if (auto number = dyn_cast<FloatAttr>(op.getValue()))
      bits = IntegerAttr::get(type, number.getValue().bitcastToAPInt());
    else if (auto splat = dyn_cast<SplatElementsAttr>(op.getValue()))
      bits = DenseElementsAttr::get(cast<ShapedType>(type),
                                    splat.getSplatValue<APFloat>().bitcastToAPInt());
    else
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::ConstantOp>(op, type, bits);
    return success();
  }
};

/// f16 to f64 goes through f32, exactly.
struct ExpandExtension : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    Value value = op.getIn();
    Type from = getElementTypeOrSelf(value), to = getElementTypeOrSelf(op.getType());
    Location loc = op.getLoc();
    Bits bits(rewriter, loc, value.getType());
    if (to.isF64() && (from.isF16() || from.isBF16())) {
      Value middle =
          arith::ExtFOp::create(rewriter, loc, bits.shaped(rewriter.getF32Type()), value);
      rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), middle);
      return success();
    }
    if (!from.isBF16())
      return failure();
    Value half = arith::BitcastOp::create(rewriter, loc, bits.shaped(rewriter.getI16Type()), value);
    Value wide = arith::ExtUIOp::create(rewriter, loc, bits.shaped(rewriter.getI32Type()), half);
    Value shifted = bits.make<arith::ShLIOp>(wide, bits.constant(32, 16));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), shifted);
    return success();
  }
};

} // namespace

void populateFloatConversionPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandTruncation, ExpandExtension, ExpandFromInteger<arith::SIToFPOp>,
               ExpandFromInteger<arith::UIToFPOp>>(patterns.getContext());
}

void lowerBFloat16ToIntegers(LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  converter.addConversion(
      [](BFloat16Type type) -> Type { return IntegerType::get(type.getContext(), 16); });
  converter.addConversion([](VectorType type) -> std::optional<Type> {
    if (type.getRank() == 1 && type.getElementType().isBF16())
      return type.clone(IntegerType::get(type.getContext(), 16));
    return std::nullopt;
  });
  patterns.add<LowerConstant>(converter);
}

} // namespace dlc::codegen
