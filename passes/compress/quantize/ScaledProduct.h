//===- ScaledProduct.h - A product of f32 as one of integers ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With x = q * s and w = r * t, where t has one number for each channel of the result,
//   sum of x * w = s * t * (sum of q * r),
// and where q and r are integers, so is the sum on the right: exact, and the same on every target.
// All is said in plain arithmetic, which fuses as any other does.
//
// MLIR's quant dialect has types for such integers, and dlc uses none of them. Their scales and
// zero points are numbers within the type. Here scales are values: those of weights are computed
// when the file is loaded, so that dlc refit takes new weights, and those of dynamic rows when the
// model runs. A product, a maximum or a cast of such a type would need a meaning of its own in the
// verifiers, the interpreter, fusion and both code generators, all of which know integers, or a
// pass that turns the types into this very arithmetic first. It would delete nothing: a QDQ model
// of ONNX comes as arithmetic, too, and raise-integer-products and narrow-products read what is
// imported and what is quantized here in one form.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_QUANTIZE_SCALEDPRODUCT_H
#define DLC_PASSES_COMPRESS_QUANTIZE_SCALEDPRODUCT_H

#include "ir/dl/base/DLBuilder.h"
#include "passes/compress/quantize/QuantizableProducts.h"

namespace dlc {

/// The grids of an activation of which each row, all that one sum reads, has its own:
/// x = (q - zeroPoint) * scale, in the dims of the activation with 1 for each that is summed over.
struct RowGrids {
  mlir::Value scale, zeroPoint; // f32, and an integer type, or null where all are 0
};

/// Replaces the product by one of `activation` and `weight`, tensors of i32, or of f32, in the dims
/// of its operands, times `scale`: f32, s * t above, in the dims of the weight with 1 for each that
/// is summed over. The bias is added to that. With `rows`, `activation` is q, and scale times that
/// of the row is s * t: the zero point is taken off the sums, as that many times the sum of the
/// weights, which is the same in integers. `builder` stands before the product, which is erased.
void replaceByScaledProduct(const QuantizableProduct &product, mlir::Value activation,
                            mlir::Value weight, mlir::Value scale, dl::Builder &builder,
                            std::optional<RowGrids> rows = std::nullopt);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_QUANTIZE_SCALEDPRODUCT_H
