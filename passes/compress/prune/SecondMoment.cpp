//===- SecondMoment.cpp - The inputs of a product, multiplied by themselves ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/SecondMoment.h"

#include "ir/kernel/Sides.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc {

namespace {

/// The attributes of a convolution's windows.
struct Windows {
  ArrayRef<int64_t> stride, padding, dilation;
  int64_t groups;

  int64_t low(unsigned dim) const { return padding[dim]; }
  int64_t high(unsigned dim) const {
    return padding[padding.size() == stride.size() ? dim : stride.size() + dim];
  }
};

/// The dims of an activation by what they are in the matrix x, each list in the order of the loops.
struct MatrixDims {
  SmallVector<int64_t> rows, groups, columns;
};

} // namespace

static std::optional<Windows> windowsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Windows>>(op)
      .Case<dl::Conv1dOp, dl::Conv2dOp, dl::Conv3dOp>([](auto conv) {
        return Windows{conv.getStride(), conv.getPadding(), conv.getDilation(),
                       static_cast<int64_t>(conv.getGroups())};
      })
      .Default(std::nullopt);
}

static std::optional<int64_t> productOf(dl::Dims dims, ArrayRef<int64_t> chosen) {
  int64_t product = 1;
  for (int64_t dim : chosen) {
    auto size = dl::asConstant(dims[dim]);
    if (!size)
      return std::nullopt;
    product *= *size;
  }
  return product;
}

/// The dims of a product other than a convolution.
static std::optional<MatrixDims> matrixDims(Operation *op, unsigned activation) {
  LoopNest nest = cast<LoopNestOpInterface>(op).getLoopNest();
  const unsigned first = nest.terms[0].operand == activation ? 0 : 1;
  Sides sides = *findSides(nest, first);
  MatrixDims dims;
  SmallVector<std::pair<unsigned, int64_t>> byLoop;
  for (auto [dim, index] : llvm::enumerate(nest.terms[first].map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(index);
    if (!loop)
      return std::nullopt;
    byLoop.emplace_back(loop.getPosition(), dim);
  }
  llvm::sort(byLoop);
  for (auto [loop, dim] : byLoop)
    if (loop >= nest.parallel.size())
      dims.columns.push_back(dim);
    else if (sides.batch.test(loop))
      dims.groups.push_back(dim);
    else
      dims.rows.push_back(dim);
  return dims;
}

std::optional<ProductShape> productShape(Operation *product, unsigned activation) {
  auto looped = dyn_cast<LoopNestOpInterface>(product);
  if (!looped || activation > 1 || product->getNumOperands() < 2 ||
      !isa<FloatType>(getElementTypeOrSelf(product->getOperand(activation))))
    return std::nullopt;
  LoopNest nest = looped.getLoopNest();
  if (!nest.isProduct || nest.terms.size() != 2 ||
      nest.terms[0].operand + nest.terms[1].operand != 1)
    return std::nullopt;
  if (auto windows = windowsOf(product)) {
    if (activation != 0)
      return std::nullopt;
    SmallVector<int64_t> all;
    for (size_t dim = 1; dim < nest.reduction.size() + 1; ++dim)
      all.push_back(dim);
    return ProductShape{windows->groups, *productOf(dl::dimsOf(product->getOperand(1)), all)};
  }
  if (nest.isWindow())
    return std::nullopt;
  auto dims = matrixDims(product, activation);
  if (!dims)
    return std::nullopt;
  dl::Dims sizes = dl::dimsOf(product->getOperand(activation));
  auto groups = productOf(sizes, dims->groups), columns = productOf(sizes, dims->columns);
  if (!groups || !columns)
    return std::nullopt;
  return ProductShape{*groups, *columns};
}

/// The windows of x as [N, groups, channels of a group * window, positions...].
static Value unfold(Value x, const Windows &windows, dl::Dims window, dl::Builder &builder) {
  const unsigned spatial = windows.stride.size();
  for (unsigned dim = 0; dim < spatial; ++dim)
    x = builder.pad(x, 2 + dim, windows.low(dim), windows.high(dim));
  SmallVector<int64_t> sizes;
  int64_t count = 1;
  for (AffineExpr size : window) {
    sizes.push_back(*dl::asConstant(size));
    count *= sizes.back();
  }
  SmallVector<Value> taps;
  for (int64_t tap = 0; tap < count; ++tap) {
    Value shown = x;
    for (int64_t dim = spatial - 1, rest = tap; dim >= 0; rest /= sizes[dim--]) {
      const int64_t at = rest % sizes[dim], step = windows.dilation[dim];
      shown = builder.pad(shown, 2 + dim, -at * step, -(sizes[dim] - 1 - at) * step);
      shown = builder.slice(shown, 2 + dim, 0, std::nullopt, windows.stride[dim]);
    }
    taps.push_back(builder.unsqueeze(shown, 2));
  }
  Value all = taps.size() == 1 ? taps.front() : builder.make<dl::CatOp>(taps, uint64_t{2});
  dl::Dims dims = dl::dimsOf(all);
  const int64_t channels = *dl::asConstant(dims[1]);
  dl::Dims grouped = {dims[0], dl::constantDim(windows.groups, builder.getContext()),
                      dl::constantDim(channels / windows.groups * count, builder.getContext())};
  grouped.append(dims.begin() + 3, dims.end());
  return builder.reshape(all, grouped);
}

/// The elements that the product would read from `x` in place of its activation, and a row of ones:
/// [batch, groups, columns + 1, rows]. There are several batches where the rows are several dims:
/// sums of some hundred or thousand terms take less time than long ones, and round less.
static Value columnsOf(Operation *product, unsigned activation, Value x, dl::Builder &builder) {
  ProductShape shape = *productShape(product, activation);
  MatrixDims dims;
  if (auto windows = windowsOf(product)) {
    dl::Dims window = dl::dimsOf(product->getOperand(1));
    x = unfold(x, *windows, dl::Dims(window.begin() + 2, window.end()), builder);
    dims.rows = {0};
    for (int64_t dim = 3, rank = dl::typeOf(x).getRank(); dim < rank; ++dim)
      dims.rows.push_back(dim);
    dims.groups = {1};
    dims.columns = {2};
  } else {
    dims = *matrixDims(product, activation);
  }
  if (dl::typeOf(x).getElementTypeBitWidth() < 32)
    x = builder.cast(x, builder.getF32Type());
  const bool isBatched = dims.rows.size() > 1;
  SmallVector<int64_t> order;
  if (isBatched)
    order.push_back(dims.rows.front());
  llvm::append_range(order, dims.groups);
  llvm::append_range(order, dims.columns);
  llvm::append_range(order, ArrayRef(dims.rows).drop_front(isBatched));
  dl::Dims sizes = dl::dimsOf(x), rows;
  for (int64_t dim : ArrayRef(dims.rows).drop_front(isBatched))
    rows.push_back(sizes[dim]);
  auto constant = [&](int64_t size) { return dl::constantDim(size, builder.getContext()); };
  dl::Dims matrix = {isBatched ? sizes[dims.rows.front()] : constant(1), constant(shape.groups),
                     constant(shape.columns), dl::product(rows, builder.getContext())};
  x = builder.reshape(builder.permute(x, order), matrix);
  matrix[2] = constant(1);
  Value ones = builder.full(matrix, dl::typeOf(x).getElementType(), 1.0);
  return builder.make<dl::CatOp>(ValueRange{x, ones}, uint64_t{2});
}

Value buildSecondMoment(Operation *product, unsigned activation, Value reference,
                        dl::Builder &builder) {
  Value own = product->getOperand(activation);
  Value x = columnsOf(product, activation, own, builder);
  Value other = reference == own ? x : columnsOf(product, activation, reference, builder);
  const int64_t loops[] = {0, 1, 2, 4}, others[] = {0, 1, 3, 4};
  Value products = builder.make<dl::ContractOp>(x, other, ArrayRef<int64_t>(loops),
                                                ArrayRef<int64_t>(others), uint64_t{4});
  if (dl::isConstant(dl::dimsOf(products)[0], 1))
    return builder.squeeze(products, 0);
  return builder.make<dl::SumOp>(products, builder.getDenseI64ArrayAttr({0}),
                                 builder.getBoolAttr(false), TypeAttr());
}

} // namespace dlc
