//===- Quantized.h - Tensors of integers that stand for numbers ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_OPS_QUANTIZED_H
#define DLC_FRONTEND_ONNX_OPS_QUANTIZED_H

#include "frontend/onnx/Importer.h"

namespace dlc::onnx {

/// Returns round(x) + zero point in `dtype`: the nearest number that it has.
Item quantized(NodeImport &node, Item x, std::optional<Item> zeroPoint, mlir::Type dtype);

/// x on the 256 numbers of u8 from its smallest element, or 0, to its largest.
struct DynamicCodes {
  Item codes, scale, zeroPoint;
};
DynamicCodes dynamicallyQuantized(NodeImport &node, Item x);

/// Returns an input of integers minus the zero point in another input, if there is one, in i32.
Item centered(NodeImport &node, size_t input, size_t zeroPointInput,
              llvm::function_ref<Item()> zeroPoint);
Item centered(NodeImport &node, size_t input, size_t zeroPointInput);

/// Returns the product in i32 of inputs `a` and `b`, each minus its zero point.
Item integerProduct(NodeImport &node, size_t a, size_t aZero, size_t b, size_t bZero);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_OPS_QUANTIZED_H
