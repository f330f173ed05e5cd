//===- WeightValues.cpp - The ops that stand for a model's parameters ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/weights/WeightBinding.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/structure/ScaleRange.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace dlc::frontend {

/// Returns the number with these bits, which may be of any float type of 16 bits or more.
static double numberOf(const llvm::fltSemantics &semantics, unsigned width, const uint8_t *bytes) {
  namespace endian = llvm::support::endian;
  if (width == 64)
    return llvm::bit_cast<double>(endian::read64le(bytes));
  if (width == 32)
    return llvm::bit_cast<float>(endian::read32le(bytes));
  llvm::APInt bits(width, endian::read16le(bytes));
  return llvm::APFloat(semantics, bits).convertToDouble();
}

DenseF64ArrayAttr unusualMagnitudes(Type dtype, ArrayRef<uint8_t> bytes) {
  auto type = dyn_cast<FloatType>(dtype);
  unsigned width = type ? type.getWidth() : 0;
  if (width < 16)
    return {};
  size_t count = bytes.size() / (width / 8);
  if (count == 0 || count > kMostScales)
    return {};
  auto at = [&](size_t index) {
    return Magnitudes::of(
        numberOf(type.getFloatSemantics(), width, bytes.data() + index * (width / 8)));
  };
  Magnitudes all = at(0);
  for (size_t index = 1; index < count; ++index)
    all = all.with(at(index));
  return all.areOfScales() ? DenseF64ArrayAttr()
                           : DenseF64ArrayAttr::get(type.getContext(), {all.least, all.most});
}

/// The first block of the function that `block` is in, whatever branches and loops are around it.
static Block &entryAround(Block *block) {
  auto function = dyn_cast<func::FuncOp>(block->getParentOp());
  if (!function)
    function = block->getParentOp()->getParentOfType<func::FuncOp>();
  return function.front();
}

Value WeightValues::get(const Parameter &parameter) {
  auto found = weights.find(parameter.path);
  BoundWeight weight;
  if (found != weights.end()) {
    weight = found->second;
  } else {
    weight.path = parameter.path;
    weight.dtype = parameter.dtype ? parameter.dtype : builder.getF32Type();
    weight.shape.assign(parameter.shape.begin(), parameter.shape.end());
  }
  Value &value = values[weight.path];
  if (value)
    return value;
  OpBuilder::InsertionGuard guard(builder);
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(&entryAround(builder.getInsertionBlock()));
  Location loc = diagnostics.translate(parameter.loc);
  auto attribute = [&](StringRef text) {
    return text.empty() ? StringAttr() : builder.getStringAttr(text);
  };
  value = dl::WeightOp::create(builder, loc, RankedTensorType::get(weight.shape, weight.dtype),
                               builder.getStringAttr(weight.path), attribute(weight.file),
                               builder.getI64IntegerAttr(weight.offset),
                               builder.getStringAttr(weight.hash),
                               attribute(weight.source == weight.path ? "" : weight.source));
  last = value.getDefiningOp();
  if (weight.magnitudes)
    last->setAttr(kMagnitudes, weight.magnitudes);
  if (weight.isTransposed) {
    value = dl::PermuteOp::create(
        builder, loc, RankedTensorType::get({weight.shape[1], weight.shape[0]}, weight.dtype),
        value, builder.getDenseI64ArrayAttr({1, 0}));
    last = value.getDefiningOp();
  }
  return value;
}

} // namespace dlc::frontend
