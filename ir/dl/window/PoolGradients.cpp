//===- PoolGradients.cpp - Derivatives of pools -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Windows.h"

using namespace mlir;

namespace dlc::dl {

/// Returns how many elements each window has, as [1, 1, ...]. If `withPadding`, this includes the
/// padding. With ceil_mode, the last window may end after the padding; that part is not included.
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
  d.add(0, windows.spread(d, part, window).reshape(x));
}
static void derive(Derivation &d, AvgPool1dOp op) { deriveMeans(d, op); }
static void derive(Derivation &d, AvgPool2dOp op) { deriveMeans(d, op); }
static void derive(Derivation &d, AvgPool3dOp op) { deriveMeans(d, op); }

namespace {
/// How the windows of a maximum move along each spatial dim.
struct MaxWindows {
  SmallVector<int64_t> kernel, stride, padding, dilation;

  template <typename Pool>
  explicit MaxWindows(Pool op)
      : kernel(op.getKernelSize()), stride(op.getStride().value_or(op.getKernelSize())),
        padding(op.getPadding()), dilation(op.getDilation()) {}
  MaxWindows() = default;

  size_t count() const { return kernel.size(); }
  /// Returns true if no element is in two windows.
  bool areApart() const {
    return llvm::all_of(llvm::seq<size_t>(0, count()),
                        [&](size_t i) { return stride[i] > dilation[i] * (kernel[i] - 1); });
  }
};
} // namespace

/// Returns `ofWindows`, with one element per window, as a tensor of `dims`: the element of a window
/// at all places of the window. Places outside of all windows have an element of a neighbour, or 0.
static Term atElements(Derivation &d, const Dims &dims, Term ofWindows, const MaxWindows &windows) {
  for (size_t i = 0; i < windows.count(); ++i) {
    uint64_t axis = 2 + i;
    ofWindows = ofWindows.make<RepeatInterleaveOp>(static_cast<uint64_t>(windows.stride[i]), axis);
    int64_t before = windows.padding[i];
    AffineExpr after = dims[axis] + before - ofWindows.dims()[axis];
    ofWindows = ofWindows.padded(static_cast<int64_t>(axis), d.dim(-before), after);
  }
  return ofWindows;
}

/// Returns zeros of `dims` with `dy` added at the first largest element of each window.
/// `positions` are the places of these elements in their planes. If windows do not overlap, each
/// element is compared with the position of its window, without a scatter.
static Term atLargest(Derivation &d, const Dims &dims, const Term &positions, const Term &dy,
                      const MaxWindows &windows) {
  AffineExpr area = normalize(product(ArrayRef(dims).drop_front(2), d.b.getContext()));
  if (windows.areApart()) {
    Dims plane = dims;
    plane[0] = plane[1] = d.dim(1);
    Term chosen = atElements(d, dims, positions, windows), worth = atElements(d, dims, dy, windows);
    return where(chosen.equals(d.arange(area).reshape(plane)), worth, 0.0);
  }
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
  d.add(0, atLargest(d, d.dims(), {positions.getIndices(), d.b}, d.dy(), MaxWindows(op)));
}
static void derive(Derivation &d, MaxPool1dOp op) { deriveLargest<MaxPool1dWithIndicesOp>(d, op); }
static void derive(Derivation &d, MaxPool2dOp op) { deriveLargest<MaxPool2dWithIndicesOp>(d, op); }

/// The op is a maximum over windows of planes, and then over windows of the first spatial dim.
static void derive(Derivation &d, MaxPool3dOp op) {
  Dims x = d.dims(), y = d.dy().dims();
  MaxWindows all(op);
  auto pool = [&](const Term &of, auto numbers) {
    MaxWindows windows;
    windows.kernel = numbers(all.kernel, 1);
    windows.stride = numbers(all.stride, 1);
    windows.padding = numbers(all.padding, 0);
    windows.dilation = numbers(all.dilation, 1);
    auto list = [&](ArrayRef<int64_t> of) { return d.b.getDenseI64ArrayAttr(of); };
    auto made = MaxPool2dWithIndicesOp::create(d.b, of.value(), list(windows.kernel),
                                               list(windows.stride), list(windows.padding),
                                               list(windows.dilation), op.getCeilModeAttr());
    return std::make_pair(made, windows);
  };
  Dims planes{x[0], normalize(x[1] * x[2]), x[3], x[4]};
  auto [inPlanes, ofPlanes] = pool(d.x().reshape(planes), [](ArrayRef<int64_t> all, int64_t) {
    return llvm::to_vector(all.drop_front());
  });
  Term values(inPlanes.getValues(), d.b);
  AffineExpr area = normalize(y[3] * y[4]);
  Dims lines{x[0], x[1], x[2], area};
  auto [inLines, ofLines] = pool(values.reshape(lines), [](ArrayRef<int64_t> all, int64_t other) {
    return SmallVector<int64_t>{all[0], other};
  });
  Term dy = d.dy().reshape({y[0], y[1], y[2], area});
  Term worth = atLargest(d, lines, {inLines.getIndices(), d.b}, dy, ofLines).reshape(values.dims());
  d.add(0, atLargest(d, planes, {inPlanes.getIndices(), d.b}, worth, ofPlanes).reshape(x));
}

/// Derives an op whose second result has the positions.
template <typename Pool> static void derivePositioned(Derivation &d, Pool op) {
  d.add(0, atLargest(d, d.dims(), d.y(1), d.dy(), MaxWindows(op)));
}
static void derive(Derivation &d, MaxPool1dWithIndicesOp op) { derivePositioned(d, op); }
static void derive(Derivation &d, MaxPool2dWithIndicesOp op) { derivePositioned(d, op); }

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
