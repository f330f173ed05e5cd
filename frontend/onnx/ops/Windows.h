//===- Windows.h - The windows of convolutions and pools in ONNX --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_OPS_WINDOWS_H
#define DLC_FRONTEND_ONNX_OPS_WINDOWS_H

#include "frontend/onnx/Importer.h"

namespace dlc::onnx {

/// Numbers of each spatial dim.
struct Window {
  llvm::SmallVector<int64_t> kernel, stride, dilation, low, high;

  bool isSymmetric() const { return low == high; }
  bool isPadded() const;
  /// One width for both sides of each dim, or all low widths and then all high ones: as `dl.conv2d`
  /// takes them.
  Item padding() const;
};

/// Reads kernel_shape (or takes `kernel`), strides, dilations, pads and auto_pad of a node whose x
/// has the dims `dims`. Nothing after an error.
std::optional<Window> readWindow(NodeImport &node, llvm::ArrayRef<mlir::AffineExpr> dims,
                                 llvm::ArrayRef<int64_t> kernel);

/// The convolution of x by weight with the window and groups of the node, and a bias from an input:
/// both are made from the inputs `xInput` and `weightInput`, and have their dims.
Item convolved(NodeImport &node, Item x, Item weight, size_t xInput, size_t weightInput,
               std::optional<size_t> bias);

/// x with its spatial dims padded by a number.
Item padded(NodeImport &node, Item x, const Window &window, double value);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_OPS_WINDOWS_H
