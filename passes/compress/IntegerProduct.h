//===- IntegerProduct.h - A product of f32 as one of integers --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With x = q * s and w = r * t, where t has one number for each channel of the result,
//   sum of x * w = s * t * (sum of q * r),
// and the sum on the right is one of integers: exact, and the same on every target. All is said in
// plain arithmetic, which fuses as any other does.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_INTEGERPRODUCT_H
#define DLC_PASSES_COMPRESS_INTEGERPRODUCT_H

#include "ir/dl/DLBuilder.h"
#include "passes/compress/QuantizableProducts.h"

namespace dlc {

/// Replaces the product by one of `activation` and `weight`, tensors of i32 in the dims of its
/// operands, times `scale`: f32, s * t above, in the dims of the weight with 1 for each that is
/// summed over. The bias is added to that. `builder` stands before the product, which is erased.
void replaceByIntegerProduct(const QuantizableProduct &product, mlir::Value activation,
                             mlir::Value weight, mlir::Value scale, dl::Builder &builder);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_INTEGERPRODUCT_H
