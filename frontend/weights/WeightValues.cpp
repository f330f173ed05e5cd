//===- WeightValues.cpp - The ops that stand for a model's parameters ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/weights/WeightBinding.h"
#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc::frontend {

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
    builder.setInsertionPointToStart(builder.getInsertionBlock());
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
  if (weight.isTransposed) {
    value = dl::PermuteOp::create(
        builder, loc, RankedTensorType::get({weight.shape[1], weight.shape[0]}, weight.dtype),
        value, builder.getDenseI64ArrayAttr({1, 0}));
    last = value.getDefiningOp();
  }
  return value;
}

} // namespace dlc::frontend
