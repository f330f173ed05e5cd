//===- ResizeImport.h - One Resize or Upsample on its way into the function ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_OPS_RESIZE_RESIZEIMPORT_H
#define DLC_FRONTEND_ONNX_OPS_RESIZE_RESIZEIMPORT_H

#include "frontend/onnx/Importer.h"

#include <cmath>

namespace dlc::onnx {

/// Whether `factor` is 1/2, 1/4 and so on, down to 2^-30.
inline bool isPowerOfHalf(double factor) {
  int exponent;
  return std::frexp(factor, &exponent) == 0.5 && exponent <= 0 && exponent > -30;
}

class ResizeImport {
public:
  explicit ResizeImport(NodeImport &node)
      : node(node), isUpsample(node.node.op == "Upsample" || node.opset < 11) {}
  bool run();

private:
  void readAttributes();
  bool readSizes();
  std::optional<dl::Dims> sizesOfScales(const Known &given, llvm::ArrayRef<int64_t> axes);
  bool keepAspectRatio(llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<double> wanted);
  bool expectFactor(double number);
  bool expectSize(double number);
  /// Returns dim * factor, rounded down; nothing, reported, if it is unknown or too large.
  std::optional<mlir::AffineExpr> scaled(mlir::AffineExpr dim, double factor);
  bool readRegion(llvm::ArrayRef<int64_t> axes);
  /// Whether an axis has another size, or the same one of elements that lie elsewhere.
  bool isResized(size_t axis) const {
    return sizes[axis] != dims[axis] || scales[axis] != 1 || position == "tf_crop_and_resize";
  }
  /// Imports what dl.interpolate computes. Returns false for any other Resize.
  bool interpolate(Item x);
  bool isInterpolation(std::string &torchMode, size_t first);
  Item resized(Item x, size_t axis, std::optional<Item> &isOutside);
  Item coordinates(size_t axis);
  /// How a coordinate along an axis is rounded to an element. Before opset 11 a smaller size rounds
  /// up and a larger one down, as the node tests of opset 10 and ONNX Runtime do.
  llvm::StringRef rounding(size_t axis) const {
    return isUpsample && scales[axis] > 0 && scales[axis] < 1 ? llvm::StringRef("ceil")
                                                              : llvm::StringRef(nearest);
  }
  Item nearestOf(Item at, llvm::StringRef rounding);
  Item weight(Item fraction, int64_t tap, double filter);
  Item cubic(Item distance);
  Item elementsAt(Item x, size_t axis, Item index);
  Item alongAxis(Item vector, size_t axis);

  /// `op` of numbers that are known, or that the sizes of a run give, as tensors of f64.
  Item math(llvm::StringRef op, Item a, Item b);
  Item math(llvm::StringRef op, Item a, double b) { return math(op, std::move(a), item(b)); }
  /// A dim as a number of f64.
  Item length(mlir::AffineExpr dim);
  Item distance(Item top, Item width);
  Item last(size_t axis) { return math("sub", length(dims[axis]), 1); }
  /// Returns the factor by which an axis is scaled.
  Item factor(size_t axis);
  /// The whole dim by the factor that was given, or 1 where a run says the dim.
  double size(size_t axis) const {
    return static_cast<double>(dl::asConstant(dims[axis]).value_or(1));
  }
  /// Whether interpolate finds the size of the axis by its factor.
  bool isSizeOfFactor(size_t axis) const;
  /// Whether the corners of the result are those of its whole elements, as the standard says and
  /// PyTorch and ONNX Runtime compute, and not those of the size that the scale asks for before it
  /// is rounded, as the standard's node tests have it. These shrink; exporters seldom do.
  bool hasWholeCorners(size_t axis) const {
    return bySize || scales[axis] >= 1 || node.importer.producer().starts_with("pytorch");
  }

  /// How far a window reaches from its centre, in elements of the result and of x.
  double reach() const { return mode == "cubic" ? 2 : 1; }
  double reach(size_t axis) const {
    // A factor of -0.0 reaches as far as one of 0.
    return antialiases && scales[axis] < 1 ? reach() / std::abs(scales[axis]) : reach();
  }

  NodeImport &node;
  bool isUpsample, bySize = false, excludesOutside = false, antialiases = false;
  std::string mode, position, nearest, policy;
  double cubicFactor = 0, extrapolation = 0;
  dl::Dims dims, sizes;
  llvm::SmallVector<double> scales, starts, ends;
};

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_OPS_RESIZE_RESIZEIMPORT_H
