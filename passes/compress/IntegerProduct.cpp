//===- IntegerProduct.cpp - A product of f32 as one of integers ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "passes/compress/IntegerProduct.h"

using namespace mlir;

namespace dlc {

/// `scale`, in the dims of the weight, in dims that broadcast to `result`.
static Value alongResult(Value scale, const QuantizableProduct &product, dl::Dims result,
                         dl::Builder &builder) {
  // The dims in the result's order first, then 1 for each that the weight does not have.
  SmallVector<int64_t> order;
  for (size_t dim = 0; dim < product.weightDims.size(); ++dim)
    order.push_back(dim);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(product.weightDims[a], a) < std::pair(product.weightDims[b], b);
  });
  dl::Dims dims(result.size(), dl::constantDim(1, builder.getContext())), own = dl::dimsOf(scale);
  for (auto [dim, at] : llvm::enumerate(product.weightDims))
    if (at >= 0)
      dims[at] = own[dim];
  return builder.reshape(builder.permute(scale, order), dims);
}

void replaceByIntegerProduct(const QuantizableProduct &product, Value activation, Value weight,
                             Value scale, dl::Builder &builder) {
  Operation *op = product.op;
  OperationState state(op->getLoc(), op->getName());
  SmallVector<Value> operands = {activation, weight};
  if (product.weight == 0)
    std::swap(operands[0], operands[1]);
  state.addOperands(operands);
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  state.addTypes(dl::withElementType(result, builder.getI32Type()));
  state.addAttributes(op->getAttrs());
  state.attributes.erase(kActivationRange);
  Value sums = builder.create(state)->getResult(0);

  dl::Dims dims = dl::getDims(result);
  Value y =
      builder.make<dl::MulOp>(builder.cast(sums, builder.getF32Type()),
                              builder.broadcast(alongResult(scale, product, dims, builder), dims));
  if (op->getNumOperands() > 2) {
    Value bias = op->getOperand(2);
    dl::Dims along(dims.size(), dl::constantDim(1, builder.getContext()));
    auto channels = llvm::find_if(product.weightDims, [](int64_t at) { return at >= 0; });
    along[*channels] = dl::dimsOf(bias)[0];
    y = builder.make<dl::AddOp>(y, builder.broadcast(builder.reshape(bias, along), dims));
  }
  op->getResult(0).replaceAllUsesWith(y);
  op->erase();
}

} // namespace dlc
