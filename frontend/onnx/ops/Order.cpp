//===- Order.cpp - Running sums and the largest elements, of ONNX -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

/// Sums or products up to each element along `axis`, in the dtype of x; from the end with
/// `reverse`, without the element itself with `exclusive`: `nothing` before the first.
static Item runningAlong(NodeImport &node, StringRef callee, double nothing, int64_t axis) {
  bool isExclusive = node.integer("exclusive", 0) != 0, isReverse = node.integer("reverse", 0) != 0;
  auto turned = [&](Item from) {
    return isReverse ? node.call("flip", {from, itemList(SmallVector<int64_t>{axis})}) : from;
  };
  Item sums = node.call(callee, {turned(node.tensor(0)), item(axis), item(node.dtype(0))});
  if (isExclusive) {
    // Each one a place on.
    SmallVector<int64_t> widths(2 * (node.rank(0) - axis));
    widths[widths.size() - 2] = 1;
    widths[widths.size() - 1] = -1;
    sums = node.call("pad", {sums, itemList(widths), item(StringRef("constant")), item(nothing)});
  }
  return turned(sums);
}

static bool buildRunning(NodeImport &node, StringRef callee, double nothing) {
  int64_t rank = node.rank(0);
  bool isOne = node.rank(1) == 0 || (node.rank(1) == 1 && dl::isConstant(node.dims(1)[0], 1));
  if (!node.hasFailed() && (rank == 0 || !isOne))
    return node.fail("its axis is " + node.typeText(1) + " and its input " + node.typeText(0) +
                     "; expected one number, and a dim");
  const Known *known = node.known(1);
  if (known && known->integers()) {
    auto axis = node.axis(known->integers()->front(), rank);
    if (axis)
      node.set(0, runningAlong(node, callee, nothing, *axis));
    return !node.hasFailed();
  }
  // The data say the axis: the results along all of them are computed, and one is taken.
  Item axis = node.call("remainder", {node.tensor(1), item(rank)});
  Item result = runningAlong(node, callee, nothing, 0);
  for (int64_t other = 1; other < rank; ++other)
    result = node.call("where", {node.call("eq", {axis, item(other)}),
                                 runningAlong(node, callee, nothing, other), result});
  node.set(0, result);
  return !node.hasFailed();
}

static bool buildCumSum(NodeImport &node) { return buildRunning(node, "cumsum", 0); }
static bool buildCumProd(NodeImport &node) { return buildRunning(node, "cumprod", 1); }

/// k is an attribute before opset 10, then an input. Of equal elements the one at the lower
/// position comes first.
static bool buildTopK(NodeImport &node) {
  auto axis = node.axis(node.integer("axis", -1), node.rank(0));
  bool isLargest = node.integer("largest", 1) != 0, isSorted = node.integer("sorted", 1) != 0;
  Item x = node.tensor(0);
  if (!axis || node.hasFailed())
    return false;
  AffineExpr count, size = node.dims(0)[*axis];
  if (node.opset < 10) {
    count = node.dim(node.integer("k", 0));
  } else if (const Known *known = node.known(1)) {
    auto dims = known->dims();
    if (!dims || dims->size() != 1)
      return node.fail("its count has several numbers; expected one");
    count = dims->front();
  }
  // At most so many are sought, or all are put in order; then those go that the count leaves out.
  frontend::OpEmitter &emitter = node.importer.opEmitter();
  auto most = count ? dl::asConstant(count) : std::nullopt;
  bool isFixed = most.has_value();
  auto room = dl::asConstant(size);
  if (auto range = count && count != size && !isFixed ? node.rangeOf(count) : std::nullopt;
      range && (room || emitter.isCounted(size)))
    most = room ? std::min(*room, range->max) : range->max;
  Item both =
      most ? node.call("topk", {x, item(*most), item(*axis), item(isLargest), item(isSorted)})
           : node.call("sort", {x, item(*axis), item(isLargest)});
  if (!both.is<Item::List>())
    return false;
  Item number = count ? Item() : node.tensor(1);
  for (auto [output, part] : llvm::enumerate(both.as<Item::List>())) {
    if (!part.isTensor())
      return false;
    AffineExpr found = dl::getDims(part.tensorType())[*axis];
    if (!count)
      node.set(output, node.head(part, number, *axis));
    else if (isFixed || found == count)
      node.set(output, part);
    else if (emitter.isCounted(count))
      node.set(output, node.head(part, node.count(count), *axis));
    else
      node.set(output,
               node.call("narrow", {part, item(*axis), item(int64_t(0)), Item::dim(count, {})}));
  }
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> orderRules() {
  static const OddRule rules[] = {
      {"CumSum", 11, buildCumSum}, {"CumProd", 26, buildCumProd}, {"TopK", 1, buildTopK}};
  return rules;
}

} // namespace dlc::onnx
