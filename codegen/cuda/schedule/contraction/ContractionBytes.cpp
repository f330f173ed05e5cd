//===- ContractionBytes.cpp - Products of numbers that lie in memory as bytes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionBytes.h"

#include "ir/dl/contraction/DLContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace dlc::codegen {

bool ByteProduct::isSigned(unsigned term) const {
  return !getElementTypeOrSelf(operands[term].stored.getType()).isUnsignedInteger();
}

std::optional<ByteProduct> bytesOf(LoopNestOpInterface root, const LoopNest &nest) {
  if (!root)
    return std::nullopt;
  if (auto floats = dl::float8OperandsOf(root, nest))
    return ByteProduct{{OffsetIntegers{(*floats)[0]}, OffsetIntegers{(*floats)[1]}}, true};
  if (!nest.isProduct || nest.terms.size() != 2 ||
      !getElementTypeOrSelf(root->getResult(0).getType()).isSignlessInteger(32))
    return std::nullopt;
  ByteProduct found;
  for (unsigned term : {0u, 1u}) {
    const Access &access = nest.terms[term];
    auto integers = widenedFrom(root->getOperand(access.operand));
    if (!integers || access.isComputed() || (access.checked && access.fill != 0))
      return std::nullopt;
    // Where an operand has no element, the byte that means 0 is read in its place.
    Type type = getElementTypeOrSelf(integers->stored.getType());
    auto numbers = rangeOfType(type);
    IntegerRange zero = {integers->zeroPoint, integers->zeroPoint};
    if (type.getIntOrFloatBitWidth() != 8 || !numbers || !zero.isWithin(*numbers))
      return std::nullopt;
    found.operands[term] = *integers;
  }
  if (found.operands[0].zeroPoint != 0 && found.operands[1].zeroPoint != 0)
    return std::nullopt;
  return found;
}

memref::LoadOp byteLoadOf(Value value, int64_t zeroPoint) {
  if (zeroPoint != 0) {
    auto difference = value.getDefiningOp<arith::SubIOp>();
    APInt number;
    if (!difference || !matchPattern(difference.getRhs(), m_ConstantInt(&number)) ||
        number.getSExtValue() != zeroPoint)
      return nullptr;
    value = difference.getLhs();
  }
  Operation *wider = value.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(wider))
    return nullptr;
  auto load = wider->getOperand(0).getDefiningOp<memref::LoadOp>();
  return load && load.getType().isInteger(8) ? load : nullptr;
}

} // namespace dlc::codegen
