//===- SortKey.cpp - Elements as whole numbers in the same order --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bits of positive floats are ordered as the floats are, those of negative ones the other way
// round: the sign bit is flipped in the former, all bits in the latter. Signed integers have their
// sign bit flipped.
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/SortKey.h"

#include "codegen/plan/BodyEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace dlc::codegen {

LineOpInterface lineOpOf(dlx::KernelOp kernel) {
  return *kernel.getBodyBlock().getOps<LineOpInterface>().begin();
}

unsigned inputOf(LineOpInterface op, unsigned operand) {
  return cast<BlockArgument>(op->getOperand(operand)).getArgNumber();
}

SmallVector<AffineExpr> repeatedIndices(RankedTensorType type, ArrayRef<AffineExpr> indices) {
  SmallVector<AffineExpr> own(indices);
  for (auto [index, size] : llvm::zip(own, dl::getDims(type)))
    if (dl::isConstant(size, 1))
      index = getAffineConstantExpr(0, type.getContext());
  return own;
}

unsigned keyBits(Type elementType) { return computeType(elementType).getIntOrFloatBitWidth(); }

Type keyType(Type elementType) {
  return IntegerType::get(elementType.getContext(), keyBits(elementType) > 32 ? 64 : 32);
}

Value sortKey(OpBuilder &builder, Location loc, Value stored, Type elementType, bool descending) {
  Value x = fromStorage(builder, loc, stored, elementType);
  unsigned bits = keyBits(elementType);
  auto shape = dyn_cast<VectorType>(x.getType());
  auto shaped = [&](Type type) { return shape ? Type(shape.clone(type)) : type; };
  Type type = shaped(keyType(elementType));
  Type word = shaped(IntegerType::get(builder.getContext(), bits));
  auto constant = [&](Type type, const APInt &value) -> Value {
    TypedAttr one = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (shape)
      one = DenseElementsAttr::get(cast<ShapedType>(type), one);
    return arith::ConstantOp::create(builder, loc, one);
  };
  Value key;
  if (isa<FloatType>(getElementTypeOrSelf(x.getType()))) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(x.getType()));
    Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, x, zero);
    Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, x, x);
    Value plain = arith::SelectOp::create(builder, loc, isZero, zero, x);
    Value raw = arith::BitcastOp::create(builder, loc, word, plain);
    Value all = constant(word, APInt::getAllOnes(bits));
    // No choice: it would become a branch that signs at random mislead.
    Value signs = arith::ShRSIOp::create(builder, loc, raw, constant(word, APInt(bits, bits - 1)));
    Value flipped =
        arith::OrIOp::create(builder, loc, signs, constant(word, APInt::getSignMask(bits)));
    Value ordered = arith::XOrIOp::create(builder, loc, raw, flipped);
    key = arith::SelectOp::create(builder, loc, isNan, all, ordered);
  } else {
    key = x;
    if (scalarKind(elementType) == ScalarKind::signedInt)
      key = arith::XOrIOp::create(builder, loc, x, constant(word, APInt::getSignMask(bits)));
  }
  if (descending)
    key = arith::XOrIOp::create(builder, loc, key, constant(word, APInt::getAllOnes(bits)));
  return word == type ? key : arith::ExtUIOp::create(builder, loc, type, key).getResult();
}

} // namespace dlc::codegen
