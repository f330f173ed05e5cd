//===- PoolGradients.cpp - Derivatives of pools -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Windows.h"

using namespace mlir;

namespace dlc::dl {

/// Returns how many elements each window has, as [1, 1, ...]. With `withPadding` the padding
/// counts, too. The part of a last window of ceil_mode that lies behind the padding never counts.
static Term elementCounts(Derivation &d, const Windows &windows, const Term &window,
                          const Dims &results, bool withPadding) {
  Dims ones(2, d.dim(1));
  Dims x = d.dims(), kernel = window.dims();
  for (size_t i = 0; i < windows.count; ++i)
    ones.push_back(x[2 + i] + (withPadding ? windows.low[i] + windows.high[i] : 0));
  Term plane(d.b.full(ones, d.dtype(), 1), d.b);
  Windows inside = windows;
  for (size_t i = 0; i < windows.count; ++i) {
    AffineExpr length = (results[2 + i] - 1) * windows.stride[i] + kernel[2 + i];
    AffineExpr before = d.dim(withPadding ? 0 : windows.low[i]);
    plane = plane.padded(static_cast<int64_t>(2 + i), before, length - before - ones[2 + i]);
    inside.low[i] = inside.high[i] = 0;
  }
  return inside.convolve(plane, window);
}

/// A mean over windows is a convolution of each channel, divided by the number of elements.
template <typename Pool> static void deriveMeans(Derivation &d, Pool op) {
  ArrayRef<int64_t> kernel = op.getKernelSize();
  Windows windows(d, op.getStride() ? ArrayRef<int64_t>(*op.getStride()) : kernel, op.getPadding(),
                  {});
  Dims x = d.dims(), y = d.dy().dims();
  Dims ones(2, d.dim(1)), flat{normalize(y[0] * y[1]), d.dim(1)};
  int64_t area = 1;
  for (int64_t size : kernel) {
    ones.push_back(d.dim(size));
    area *= size;
  }
  flat.append(y.begin() + 2, y.end());
  Term window(d.b.full(ones, d.dtype(), 1), d.b), part = d.dy().reshape(flat);
  bool isPadded = llvm::any_of(windows.low, [](int64_t width) { return width != 0; });
  bool areEqual = !op.getCeilMode() && (op.getCountIncludePad() || !isPadded);
  if (op.getDivisorOverride() || areEqual)
    part = part / static_cast<double>(op.getDivisorOverride().value_or(area));
  else
    part = part / elementCounts(d, windows, window, y, op.getCountIncludePad());
  d.add(0, windows.cutToX(d, windows.spread(part, window)).reshape(x));
}
static void derive(Derivation &d, AvgPool1dOp op) { deriveMeans(d, op); }
static void derive(Derivation &d, AvgPool2dOp op) { deriveMeans(d, op); }
static void derive(Derivation &d, AvgPool3dOp op) { deriveMeans(d, op); }

/// Returns zeros of `dims` with `dy` added at the first largest element of each window.
/// `positions` are the places of these elements in their planes.
static Term atLargest(Derivation &d, const Dims &dims, const Term &positions, const Term &dy) {
  auto flat = [&](const Dims &of) {
    ArrayRef<AffineExpr> all(of);
    return Dims{of[0], of[1], normalize(product(all.drop_front(2), d.b.getContext()))};
  };
  Dims y = flat(dy.dims());
  Term dx =
      d.zeros(flat(dims)).make<ScatterAddOp>(uint64_t(2), positions.reshape(y), dy.reshape(y));
  return dx.reshape(dims);
}

template <typename WithPositions, typename Pool> static void deriveLargest(Derivation &d, Pool op) {
  auto positions =
      WithPositions::create(d.b, d.x().value(), op.getKernelSizeAttr(), op.getStrideAttr(),
                            op.getPaddingAttr(), op.getDilationAttr(), op.getCeilModeAttr());
  d.add(0, atLargest(d, d.dims(), {positions.getIndices(), d.b}, d.dy()));
}
static void derive(Derivation &d, MaxPool1dOp op) { deriveLargest<MaxPool1dWithIndicesOp>(d, op); }
static void derive(Derivation &d, MaxPool2dOp op) { deriveLargest<MaxPool2dWithIndicesOp>(d, op); }

/// The op is a maximum over windows of planes, and then over windows of the first spatial dim.
static void derive(Derivation &d, MaxPool3dOp op) {
  Dims x = d.dims(), y = d.dy().dims();
  ArrayRef<int64_t> kernel = op.getKernelSize(), stride = op.getStride().value_or(kernel);
  auto pool = [&](const Term &of, auto numbers) {
    auto list = [&](ArrayRef<int64_t> all, int64_t other) {
      return d.b.getDenseI64ArrayAttr(numbers(all, other));
    };
    return MaxPool2dWithIndicesOp::create(d.b, of.value(), list(kernel, 1), list(stride, 1),
                                          list(op.getPadding(), 0), list(op.getDilation(), 1),
                                          op.getCeilModeAttr());
  };
  Dims planes{x[0], normalize(x[1] * x[2]), x[3], x[4]};
  auto inPlanes =
      pool(d.x().reshape(planes), [](ArrayRef<int64_t> all, int64_t) { return all.drop_front(); });
  Term values(inPlanes.getValues(), d.b);
  AffineExpr area = normalize(y[3] * y[4]);
  Dims lines{x[0], x[1], x[2], area};
  auto inLines = pool(values.reshape(lines), [](ArrayRef<int64_t> all, int64_t other) {
    return SmallVector<int64_t>{all[0], other};
  });
  Term dy = d.dy().reshape({y[0], y[1], y[2], area});
  Term worth = atLargest(d, lines, {inLines.getIndices(), d.b}, dy).reshape(values.dims());
  d.add(0, atLargest(d, planes, {inPlanes.getIndices(), d.b}, worth).reshape(x));
}

/// The second result of the op has the positions.
static void derivePositioned(Derivation &d) { d.add(0, atLargest(d, d.dims(), d.y(1), d.dy())); }
static void derive(Derivation &d, MaxPool1dWithIndicesOp) { derivePositioned(d); }
static void derive(Derivation &d, MaxPool2dWithIndicesOp) { derivePositioned(d); }

// The ops patches and overlap_add are each other's derivatives.
static void derive(Derivation &d, PatchesOp op) {
  Dims x = d.dims();
  ArrayRef<AffineExpr> size = ArrayRef(x).drop_front(2);
  d.add(0, d.dy().make<OverlapAddOp>(dimsMap(size, d.b.getContext()), op.getDilation(),
                                     op.getPadding(), op.getStride()));
}
static void derive(Derivation &d, OverlapAddOp op) {
  Dims x = d.dims();
  SmallVector<int64_t> kernel;
  for (AffineExpr dim : ArrayRef(x).slice(2, op.getStride().size()))
    kernel.push_back(*asConstant(dim));
  d.add(0, d.dy().make<PatchesOp>(ArrayRef<int64_t>(kernel), op.getDilation(), op.getPadding(),
                                  op.getStride()));
}

ArrayRef<GradientRule> poolGradients() {
  return rulesOf<AvgPool1dOp, AvgPool2dOp, AvgPool3dOp, MaxPool1dOp, MaxPool2dOp, MaxPool3dOp,
                 MaxPool1dWithIndicesOp, MaxPool2dWithIndicesOp, PatchesOp, OverlapAddOp>();
}

} // namespace dlc::dl
