//===- StoredPart.cpp - The tensors that take the place of a compressed weight ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/StoredPart.h"

using namespace mlir;

namespace dlc {

Value storedPart(dl::WeightOp weight, StringRef suffix, ArrayRef<int64_t> shape, Type element) {
  OpBuilder builder(weight);
  StringAttr file = weight.getFile() ? builder.getStringAttr(kPackedFile) : StringAttr();
  return dl::WeightOp::create(builder, weight.getLoc(), RankedTensorType::get(shape, element),
                              builder.getStringAttr(weight.getName() + suffix), file,
                              builder.getI64IntegerAttr(file ? -1 : 0), builder.getStringAttr(""),
                              StringAttr())
      ->getResult(0);
}

} // namespace dlc
