//===- DLElementwise.cpp - Types and folds of elementwise ops -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::dl {

ScalarKind kindOf(Value tensor) { return scalarKind(getElementTypeOrSelf(tensor.getType())); }

LogicalResult inferElementwise(StringRef op, std::optional<Location> location, ValueRange operands,
                               SmallVectorImpl<Type> &types) {
  Type first = operands.front().getType();
  for (Value operand : operands.drop_front())
    if (!sameShapeAndElement(operand.getType(), first))
      return emitOptionalError(location, "'", op, "' needs operands of one shape and dtype, got ",
                               text(operands.front()), " and ", text(operand));
  types.push_back(first);
  return success();
}

LogicalResult inferPredicate(StringRef op, std::optional<Location> location, ValueRange operands,
                             SmallVectorImpl<Type> &types) {
  if (failed(inferElementwise(op, location, operands, types)))
    return failure();
  auto type = cast<RankedTensorType>(types.back());
  types.back() = withElementType(type, IntegerType::get(type.getContext(), 1));
  return success();
}

LogicalResult inferChoice(StringRef op, std::optional<Location> location, ValueRange operands,
                          SmallVectorImpl<Type> &types) {
  return inferElementwise(op, location, operands.drop_front(), types);
}

LogicalResult inferFilled(StringRef op, std::optional<Location> location, ValueRange operands,
                          SmallVectorImpl<Type> &types) {
  types.push_back(operands[0].getType());
  return success();
}

LogicalResult inferWithNumbers(StringRef op, std::optional<Location> location, ValueRange operands,
                               ArrayRef<std::optional<APFloat>> numbers,
                               SmallVectorImpl<Type> &types) {
  if (llvm::none_of(numbers, [](const auto &number) { return number.has_value(); }))
    return emitOptionalError(location, "'", op, "' needs at least one of its numbers");
  bool isInteger = getElementTypeOrSelf(operands.front()).isIntOrIndex();
  for (const std::optional<APFloat> &number : numbers)
    if (number && !number->isInteger() && isInteger)
      return emitOptionalError(location, "'", op, "' of ", text(operands.front()),
                               " needs whole numbers, got ", text(*number),
                               "; cast the tensor to a float");
  return inferElementwise(op, location, operands, types);
}

std::optional<int64_t> wrapDim(std::optional<Location> location, StringRef op, int64_t dim,
                               int64_t rank) {
  if (dim >= -rank && dim < rank)
    return dim < 0 ? dim + rank : dim;
  if (rank == 0)
    (void)emitOptionalError(location, "'", op, "' has dim ", dim, ", but its tensor has no dims");
  else
    (void)emitOptionalError(location, "'", op, "' has dim ", dim, "; expected ", -rank, " to ",
                            rank - 1, " for a tensor of rank ", rank);
  return std::nullopt;
}

/// "f32, i32 or u32": the dtypes whose elements take as many bytes.
static std::string dtypesOfBytes(unsigned bytes, MLIRContext *context) {
  SmallVector<StringRef> names;
  for (StringRef name : dtypeNames()) {
    unsigned width = dtypeNamed(name, context).getIntOrFloatBitWidth();
    if (width == 8 * bytes || (width == 1 && bytes == 1))
      names.push_back(name);
  }
  return llvm::join(ArrayRef(names).drop_back(), ", ") + " or " + names.back().str();
}

LogicalResult inferBitcast(StringRef op, std::optional<Location> location, Value operand,
                           Type dtype, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(operand.getType());
  // Of types of less than 8 bits a byte holds more than the bits of the element.
  auto bytes = [](Type type) {
    unsigned width = type.getIntOrFloatBitWidth();
    return width == 1 ? 1 : width % 8 ? 0 : width / 8;
  };
  unsigned from = bytes(x.getElementType()), to = bytes(dtype);
  if (from == 0)
    return emitOptionalError(location, "'", op, "' cannot read the bits of ", text(operand),
                             ", whose elements are smaller than a byte; cast it first");
  if (from != to)
    return emitOptionalError(location, "'", op, "' of ", text(operand), " to ", dtypeName(dtype),
                             ", which is of another size; expected ",
                             dtypesOfBytes(from, dtype.getContext()));
  types.push_back(withElementType(x, dtype));
  return success();
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

} // namespace dlc::dl
