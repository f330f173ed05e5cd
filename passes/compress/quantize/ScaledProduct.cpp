//===- ScaledProduct.cpp - A product of f32 as one of numbers in few bits -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/ScaledProduct.h"

#include "ir/dl/contraction/DLContraction.h"

using namespace mlir;

namespace dlc {

/// `x`, whose dims are those of an operand with 1 for each that is summed over, in the dims of the
/// result. `resultDims`: for each dim of the operand the dim of the result that it is, or -1.
static Value alongResult(Value x, ArrayRef<int64_t> resultDims, dl::Dims result,
                         dl::Builder &builder) {
  // The dims in the result's order first, then 1 for each that the operand does not have.
  SmallVector<int64_t> order;
  for (size_t dim = 0; dim < resultDims.size(); ++dim)
    order.push_back(dim);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(resultDims[a], a) < std::pair(resultDims[b], b);
  });
  dl::Dims dims(result.size(), dl::constantDim(1, builder.getContext())), own = dl::dimsOf(x);
  for (auto [dim, at] : llvm::enumerate(resultDims))
    if (at >= 0)
      dims[at] = own[dim];
  return builder.broadcast(builder.reshape(builder.permute(x, order), dims), result);
}

void replaceByScaledProduct(const QuantizableProduct &product, Value activation, Value weight,
                            Value scale, dl::Builder &builder, std::optional<RowGrids> rows) {
  Operation *op = product.op;
  OperationState state(op->getLoc(), op->getName());
  SmallVector<Value> operands = {activation, weight};
  if (product.weight == 0)
    std::swap(operands[0], operands[1]);
  state.addOperands(operands);
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  state.addTypes(dl::withElementType(result, getElementTypeOrSelf(activation.getType())));
  state.addAttributes(op->getAttrs());
  state.attributes.erase(kActivationRange);
  Value sums = builder.create(state)->getResult(0);

  dl::Dims dims = dl::getDims(result);
  Value scales = alongResult(scale, product.weightDims, dims, builder);
  if (rows) {
    SmallVector<int64_t> ofRows = *dl::resultDimsOf(op, 1 - product.weight);
    if (rows->zeroPoint) {
      Type i32 = builder.getI32Type();
      Value ofWeights = builder.make<dl::SumOp>(
          weight, builder.getDenseI64ArrayAttr(summedDims(product.weightDims)),
          builder.getBoolAttr(true), TypeAttr::get(i32));
      Value zeroPoint = alongResult(builder.cast(rows->zeroPoint, i32), ofRows, dims, builder);
      ofWeights = alongResult(builder.cast(ofWeights, i32), product.weightDims, dims, builder);
      sums = builder.make<dl::SubOp>(sums, builder.make<dl::MulOp>(zeroPoint, ofWeights));
    }
    scales = builder.make<dl::MulOp>(alongResult(rows->scale, ofRows, dims, builder), scales);
  }
  Value y = builder.make<dl::MulOp>(builder.cast(sums, builder.getF32Type()), scales);
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
