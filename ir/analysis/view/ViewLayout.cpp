//===- ViewLayout.cpp - In which layout a view has the bytes of its operand ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/view/ViewLayout.h"

#include "ir/analysis/view/ReshapeGroups.h"
#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc {

using Order = SmallVector<int64_t, 4>;

static bool isOne(AffineExpr dim) { return dl::isConstant(dim, 1); }

Order memoryOrder(const dl::Layout &layout, int64_t rank) {
  return layout.order.empty() ? llvm::to_vector<4>(llvm::seq<int64_t>(0, rank))
                              : Order(layout.order);
}

/// The dims of `order` that move in memory: those of size 1 do not.
static Order movingDims(ArrayRef<AffineExpr> dims, ArrayRef<int64_t> order) {
  return llvm::to_vector<4>(
      llvm::make_filter_range(order, [&](int64_t dim) { return !isOne(dims[dim]); }));
}

/// The canonical layout of a tensor of these dims, those that move in this order.
static dl::Layout canonicalLayout(ArrayRef<AffineExpr> dims, ArrayRef<int64_t> moving) {
  if (llvm::is_sorted(moving))
    return {};
  auto rank = static_cast<int64_t>(dims.size());
  dl::Layout last = dl::Layout::channelsLast(rank);
  if (movingDims(dims, last.order) == moving)
    return last;
  dl::Layout layout;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (isOne(dims[dim]))
      layout.order.push_back(dim);
  layout.order.append(moving.begin(), moving.end());
  return layout;
}

dl::Layout canonicalLayout(RankedTensorType type, const dl::Layout &layout) {
  if (layout.isTiled())
    return layout;
  dl::Dims dims = dl::getDims(type);
  return canonicalLayout(dims, movingDims(dims, memoryOrder(layout, type.getRank())));
}

/// The layout of a tensor of dims `to` that has the bytes of one of dims `from` in `layout`, with
/// the same elements in row-major order.
static std::optional<dl::Layout> reshaped(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to,
                                          const dl::Layout &layout) {
  if (layout.isRowMajor())
    return dl::Layout();
  auto groups = dimGroupsOf(from, to);
  if (!groups)
    return std::nullopt;
  Order old = movingDims(from, memoryOrder(layout, static_cast<int64_t>(from.size()))), moving;
  auto movingOf = [](ArrayRef<AffineExpr> dims, unsigned begin, unsigned end) {
    return movingDims(dims, llvm::to_vector<4>(llvm::seq<int64_t>(begin, end)));
  };
  for (size_t at = 0; at < old.size();) {
    const DimGroup &group = *llvm::find_if(*groups, [&](const DimGroup &group) {
      return old[at] >= group.fromBegin && old[at] < group.fromEnd;
    });
    // Dims that become others together have to lie as in row-major order.
    Order members = movingOf(from, group.fromBegin, group.fromEnd);
    if (ArrayRef(old).drop_front(at).take_front(members.size()) != ArrayRef(members))
      return std::nullopt;
    moving.append(movingOf(to, group.toBegin, group.toEnd));
    at += members.size();
  }
  return canonicalLayout(to, moving);
}

/// The dim of the operand that each dim of the result of `permute` is.
static Order sourcesOf(dl::PermuteOp permute) {
  auto rank = static_cast<int64_t>(permute.getDims().size());
  return llvm::map_to_vector<4>(permute.getDims(),
                                [&](int64_t dim) { return dim < 0 ? dim + rank : dim; });
}

/// The canonical layout of a tensor of dims `to` whose dim names[i] is what dim i is in `layout`.
static dl::Layout renamed(ArrayRef<AffineExpr> to, const dl::Layout &layout, const Order &names) {
  Order order;
  for (int64_t dim : memoryOrder(layout, static_cast<int64_t>(to.size())))
    order.push_back(names[dim]);
  return canonicalLayout(to, movingDims(to, order));
}

std::optional<dl::Layout> layoutOfResult(Operation *op, const dl::Layout &layout) {
  if (layout.isTiled())
    return std::nullopt;
  if (auto reshape = dyn_cast<dl::ReshapeOp>(op))
    return reshaped(dl::dimsOf(reshape.getX()), dl::dimsOf(reshape), layout);
  auto permute = dyn_cast<dl::PermuteOp>(op);
  if (!permute)
    return std::nullopt;
  Order sources = sourcesOf(permute), results(sources.size());
  for (auto [to, from] : llvm::enumerate(sources))
    results[from] = static_cast<int64_t>(to);
  return renamed(dl::dimsOf(permute), layout, results);
}

std::optional<dl::Layout> layoutOfOperand(Operation *op, const dl::Layout &layout) {
  if (layout.isTiled())
    return std::nullopt;
  if (auto reshape = dyn_cast<dl::ReshapeOp>(op))
    return reshaped(dl::dimsOf(reshape), dl::dimsOf(reshape.getX()), layout);
  auto permute = dyn_cast<dl::PermuteOp>(op);
  if (!permute)
    return std::nullopt;
  return renamed(dl::dimsOf(permute.getX()), layout, sourcesOf(permute));
}

bool keepsBytes(Operation *op) {
  if (!isa<dl::PermuteOp, dl::ReshapeOp>(op))
    return false;
  auto x = cast<RankedTensorType>(op->getOperand(0).getType()),
       y = cast<RankedTensorType>(op->getResult(0).getType());
  auto layout = layoutOfResult(op, dl::getLayout(x));
  return layout && *layout == canonicalLayout(y, dl::getLayout(y));
}

} // namespace dlc
