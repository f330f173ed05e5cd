//===- DLAdaptivePool.cpp - Pools that divide their input into so many windows ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::dl {

/// What PyTorch's None is in the attribute: the dim stays.
static constexpr int64_t kUnchanged = -1;

template <typename Op>
static LogicalResult inferAdaptive(std::optional<Location> location, typename Op::Adaptor adaptor,
                                   unsigned spatial, SmallVectorImpl<Type> &types) {
  StringRef name = Op::getOperationName();
  RankedTensorType x = typeOf(adaptor.getX());
  ArrayRef<int64_t> output = adaptor.getOutputSize();
  if (x.getRank() != spatial + 2 || output.size() != spatial)
    return emitOptionalError(location, "'", name, "' needs x [N, C, ", spatial == 1 ? "L" : "H, W",
                             "] and an output_size of ", spatial,
                             spatial == 1 ? " number, got " : " numbers, got ",
                             text(adaptor.getX()), " and ", output.size());
  Dims dims = getDims(x);
  for (auto [dim, size] : llvm::zip(MutableArrayRef(dims).drop_front(2), output)) {
    if (size == kUnchanged)
      continue;
    if (size < 0)
      return emitOptionalError(location, "'", name, "' has output_size ", size,
                               "; expected 0 or more, or None");
    auto in = asConstant(dim);
    if (in == 0)
      return emitOptionalError(location, "'", name, "' of ", text(adaptor.getX()),
                               ", which is empty");
    if (!in && size > 1)
      return emitOptionalError(location, "'", name, "' cannot cut the symbolic dim ",
                               text(dim, adaptor.getOperands()), " into ", size,
                               "; expected output_size 1, 0 or None for it");
    dim = constantDim(size, x.getContext());
  }
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

/// The windows of dim `dim` one by one, each reduced by `reduce`.
static Value poolUnevenly(Builder &b, Value x, int64_t dim, int64_t windows,
                          function_ref<Value(Value)> reduce) {
  int64_t size = *asConstant(dimsOf(x)[dim]);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < windows; ++i) {
    int64_t begin = i * size / windows, end = llvm::divideCeil((i + 1) * size, windows);
    parts.push_back(reduce(b.slice(x, dim, begin, end)));
  }
  return b.make<CatOp>(parts, static_cast<uint64_t>(dim));
}

/// Alike windows in one pool, which `pool` builds; each other dim by itself, by `reduce` over a
/// dim, which stays.
static Value poolAdaptively(Builder &b, Value x, ArrayRef<int64_t> output,
                            function_ref<Value(Value, ArrayRef<int64_t>)> pool,
                            function_ref<Value(Value, int64_t)> reduce) {
  SmallVector<int64_t> kernel(output.size(), 1);
  SmallVector<int64_t> uneven;
  for (auto [i, windows] : llvm::enumerate(output)) {
    auto size = asConstant(dimsOf(x)[2 + i]);
    if (windows == kUnchanged || size == windows)
      continue;
    if (size && *size % windows == 0)
      kernel[i] = *size / windows;
    else
      uneven.push_back(2 + i);
  }
  // Values between two steps are not rounded to 16 bits.
  Type dtype = typeOf(x).getElementType();
  if (!uneven.empty() && isa<FloatType>(dtype))
    x = b.cast(x, computeType(dtype));
  if (llvm::any_of(kernel, [](int64_t size) { return size != 1; }))
    x = pool(x, kernel);
  for (int64_t dim : uneven) {
    int64_t windows = output[dim - 2];
    x = windows == 1
            ? reduce(x, dim)
            : poolUnevenly(b, x, dim, windows, [&](Value part) { return reduce(part, dim); });
  }
  return b.cast(x, dtype);
}

template <typename Pool, typename Op> static SmallVector<Value> decomposeMean(Op op, Builder &b) {
  if (llvm::is_contained(op.getOutputSize(), 0))
    return {b.fullLike(op.getY(), 0)};
  return {poolAdaptively(
      b, op.getX(), op.getOutputSize(),
      [&](Value x, ArrayRef<int64_t> kernel) {
        SmallVector<int64_t> zeros(kernel.size());
        return b.make<Pool>(x, kernel, b.getDenseI64ArrayAttr(kernel), zeros, false, true,
                            IntegerAttr());
      },
      [&](Value x, int64_t dim) {
        return b.make<MeanOp>(x, ArrayRef<int64_t>(dim), true, TypeAttr());
      })};
}

template <typename Pool, typename Op> static SmallVector<Value> decomposeMax(Op op, Builder &b) {
  if (llvm::is_contained(op.getOutputSize(), 0))
    return {b.fullLike(op.getY(), 0)};
  return {poolAdaptively(
      b, op.getX(), op.getOutputSize(),
      [&](Value x, ArrayRef<int64_t> kernel) {
        SmallVector<int64_t> zeros(kernel.size()), ones(kernel.size(), 1);
        return b.make<Pool>(x, kernel, b.getDenseI64ArrayAttr(kernel), zeros, ones, false);
      },
      [&](Value x, int64_t dim) { return b.make<AmaxOp>(x, ArrayRef<int64_t>(dim), true); })};
}

LogicalResult AdaptiveAvgPool1dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                    Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAdaptive<AdaptiveAvgPool1dOp>(location, adaptor, 1, types);
}
LogicalResult AdaptiveAvgPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                    Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAdaptive<AdaptiveAvgPool2dOp>(location, adaptor, 2, types);
}
LogicalResult AdaptiveMaxPool1dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                    Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAdaptive<AdaptiveMaxPool1dOp>(location, adaptor, 1, types);
}
LogicalResult AdaptiveMaxPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                    Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAdaptive<AdaptiveMaxPool2dOp>(location, adaptor, 2, types);
}

SmallVector<Value> AdaptiveAvgPool1dOp::decompose(Builder &builder) {
  return decomposeMean<AvgPool1dOp>(*this, builder);
}
SmallVector<Value> AdaptiveAvgPool2dOp::decompose(Builder &builder) {
  return decomposeMean<AvgPool2dOp>(*this, builder);
}
SmallVector<Value> AdaptiveMaxPool1dOp::decompose(Builder &builder) {
  return decomposeMax<MaxPool1dOp>(*this, builder);
}
SmallVector<Value> AdaptiveMaxPool2dOp::decompose(Builder &builder) {
  return decomposeMax<MaxPool2dOp>(*this, builder);
}

} // namespace dlc::dl
