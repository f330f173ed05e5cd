//===- ChannelRemoval.cpp - A function without some of its channels -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/ChannelGroups.h"

using namespace mlir;

namespace dlc {

/// How many of the indices before `end` are left.
static int64_t keptBefore(ArrayRef<int64_t> kept, int64_t end) {
  return llvm::lower_bound(kept, end) - kept.begin();
}

static void changePad(dl::PadOp op, const ChannelGroups &groups, const llvm::BitVector &removed) {
  SmallVector<AffineExpr> widths(op.getPad().getResults());
  const int64_t rank = dl::typeOf(op.getY()).getRank();
  for (size_t at = 0; at < widths.size(); at += 2) {
    const auto dim = static_cast<unsigned>(rank - 1 - static_cast<int64_t>(at) / 2);
    auto low = dl::asConstant(widths[at]), high = dl::asConstant(widths[at + 1]);
    if (groups.isSymbolic(op.getY(), dim) || !low || !high || (*low == 0 && *high == 0))
      continue;
    SmallVector<int64_t> kept = groups.keptIndices(op.getY(), dim, removed);
    auto whole = *dl::asConstant(dl::dimsOf(op.getY())[dim]);
    if (static_cast<int64_t>(kept.size()) == whole)
      continue;
    const int64_t behind = static_cast<int64_t>(kept.size()) - keptBefore(kept, whole - *high);
    widths[at] = dl::constantDim(keptBefore(kept, *low), op.getContext());
    widths[at + 1] = dl::constantDim(behind, op.getContext());
  }
  op.setPad(dl::dimsMap(widths, op.getContext()));
}

static void changeSlice(dl::SliceOp op, const ChannelGroups &groups,
                        const llvm::BitVector &removed) {
  const auto rank = dl::typeOf(op.getY()).getRank();
  const auto dim = static_cast<unsigned>((static_cast<int64_t>(op.getDim()) + rank) % rank);
  if (groups.isSymbolic(op.getX(), dim))
    return;
  SmallVector<int64_t> from = groups.keptIndices(op.getX(), dim, removed),
                       to = groups.keptIndices(op.getY(), dim, removed);
  const int64_t whole = *dl::asConstant(dl::dimsOf(op.getX())[dim]);
  if (static_cast<int64_t>(from.size()) == whole)
    return;
  int64_t start = op.getStart().value_or(0);
  start = std::clamp<int64_t>(start < 0 ? start + whole : start, 0, whole);
  Builder builder(op.getContext());
  const int64_t begin = keptBefore(from, start);
  op.setStartAttr(builder.getI64IntegerAttr(begin));
  op.setEndAttr(builder.getI64IntegerAttr(begin + static_cast<int64_t>(to.size())));
}

static void changeReshape(dl::ReshapeOp op, dl::Dims dims) {
  SmallVector<AffineExpr> shape(op.getShape().getResults());
  for (auto [said, dim] : llvm::zip_equal(shape, dims))
    if (auto size = dl::asConstant(said); size && *size != -1)
      said = dim;
  op.setShape(dl::dimsMap(shape, op.getContext()));
}

void removeChannels(func::FuncOp function, const ChannelGroups &groups,
                    const llvm::BitVector &removed) {
  auto dimsLeft = [&](Value value) {
    dl::Dims dims = dl::dimsOf(value);
    for (unsigned dim = 0; dim < dims.size(); ++dim)
      if (!groups.isSymbolic(value, dim))
        dims[dim] =
            dl::constantDim(static_cast<int64_t>(groups.keptIndices(value, dim, removed).size()),
                            function.getContext());
    return dims;
  };
  for (Operation &op : function.front()) {
    if (auto pad = dyn_cast<dl::PadOp>(op))
      changePad(pad, groups, removed);
    else if (auto slice = dyn_cast<dl::SliceOp>(op))
      changeSlice(slice, groups, removed);
    else if (auto reshape = dyn_cast<dl::ReshapeOp>(op))
      changeReshape(reshape, dimsLeft(reshape.getY()));
    else if (isa<dl::Conv1dOp, dl::Conv2dOp, dl::Conv3dOp>(op))
      // Groups of one input channel each go with it.
      if (auto count = op.getAttrOfType<IntegerAttr>("groups");
          count && count.getInt() > 1 && dl::isConstant(dl::dimsOf(op.getOperand(1))[1], 1))
        op.setAttr("groups",
                   IntegerAttr::get(count.getType(),
                                    static_cast<int64_t>(
                                        groups.keptIndices(op.getOperand(0), 1, removed).size())));
  }
  // All values, when nothing looks at the old types any more.
  SmallVector<std::pair<Value, Type>> types;
  for (Operation &op : function.front())
    for (Value result : op.getResults())
      types.emplace_back(result,
                         dl::makeTensor(dimsLeft(result), dl::typeOf(result).getElementType()));
  for (auto [value, type] : types)
    value.setType(type);
}

} // namespace dlc
