//===- ConvolutionGradients.cpp - Derivatives of convolutions -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Windows.h"

using namespace mlir;

namespace dlc::dl {

/// Returns the gradient of a weight, which is a convolution, too: the samples take the role of the
/// channels, `window` slides over `x`, and stride and dilation are exchanged. The result is
/// [channels of x / groups, channels of window, ...] with the spatial dims of `weight`.
static Term weightWorth(Derivation &d, const Term &x, const Term &window, const Windows &windows,
                        int64_t groups, ArrayRef<AffineExpr> weight) {
  Dims dims = x.dims();
  auto rank = static_cast<int64_t>(dims.size());
  AffineExpr each = normalize(dims[1].floorDiv(groups));
  Dims apart{dims[0], d.dim(groups), each}, joined{each, normalize(dims[0] * groups)};
  apart.append(dims.begin() + 2, dims.end());
  joined.append(dims.begin() + 2, dims.end());
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank + 1));
  std::swap(order[0], order[2]); // channels, groups, samples
  auto exchanged = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(exchanged[0], exchanged[1]);
  Term samples = x.reshape(apart).permute(order).reshape(joined);
  Windows turned = windows;
  std::swap(turned.stride, turned.dilation);
  Term worth = turned.convolve(samples, window.permute(exchanged), groups);
  // With a stride the convolution may give more places than the weight has.
  for (size_t i = 2; i < weight.size(); ++i)
    worth = worth.narrowed(static_cast<int64_t>(i), d.dim(0), weight[i]);
  return worth.permute(exchanged);
}

static void deriveBias(Derivation &d) {
  if (!d.wants(2))
    return;
  // Sums of each sample come first: they are short, and threads share them.
  SmallVector<int64_t> spatial = llvm::to_vector(llvm::seq<int64_t>(2, d.rank()));
  d.add(2, d.dy().sum(spatial, /*keepsDims=*/false).sum({0}, false).reshape(d.dims(2)));
}

template <typename Conv> static void deriveConvolution(Derivation &d, Conv op) {
  Windows windows(d, op.getStride(), op.getPadding(), op.getDilation());
  auto groups = static_cast<int64_t>(op.getGroups());
  if (d.wants(0) && !typeOf(d.x(1).value()).hasStaticShape())
    return d.refuse("a convolution by " + text(d.x(1).value()),
                    "; give the symbols numbers by --shapes");
  if (d.wants(0))
    d.add(0, windows.spread(d, d.dy(), d.x(1), groups));
  if (d.wants(1))
    d.add(1, weightWorth(d, d.x(0), d.dy(), windows, groups, d.dims(1)));
  deriveBias(d);
}
static void derive(Derivation &d, Conv1dOp op) { deriveConvolution(d, op); }
static void derive(Derivation &d, Conv2dOp op) { deriveConvolution(d, op); }
static void derive(Derivation &d, Conv3dOp op) { deriveConvolution(d, op); }

template <typename Conv> static void deriveTransposed(Derivation &d, Conv op) {
  Windows windows(d, op.getStride(), op.getPadding(), op.getDilation());
  auto groups = static_cast<int64_t>(op.getGroups());
  if (d.wants(0)) {
    Term dx = windows.convolve(d.dy(), d.x(1), groups);
    for (size_t i = 2; i < d.dims().size(); ++i) // output_padding may be as wide as a stride
      dx = dx.narrowed(static_cast<int64_t>(i), d.dim(0), d.dims()[i]);
    d.add(0, dx);
  }
  if (d.wants(1))
    d.add(1, weightWorth(d, d.dy(), d.x(0), windows, groups, d.dims(1)));
  deriveBias(d);
}
static void derive(Derivation &d, ConvTranspose1dOp op) { deriveTransposed(d, op); }
static void derive(Derivation &d, ConvTranspose2dOp op) { deriveTransposed(d, op); }
static void derive(Derivation &d, ConvTranspose3dOp op) { deriveTransposed(d, op); }

ArrayRef<GradientRule> convolutionGradients() {
  return rulesOf<Conv1dOp, Conv2dOp, Conv3dOp, ConvTranspose1dOp, ConvTranspose2dOp,
                 ConvTranspose3dOp>();
}

} // namespace dlc::dl
