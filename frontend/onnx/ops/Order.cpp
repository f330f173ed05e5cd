//===- Order.cpp - Running sums and the largest elements, of ONNX ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

/// Sums or products up to each element, in the dtype of x; from the end with `reverse`, without the element itself with
/// `exclusive`: `nothing` before the first.
static bool buildRunning(NodeImport &node, StringRef callee, double nothing) {
  bool isExclusive = node.integer("exclusive", 0) != 0, isReverse = node.integer("reverse", 0) != 0;
  int64_t rank = node.rank(0);
  auto given = node.integers(1, "the axis");
  if (!given || given->size() != 1)
    return node.hasFailed() ? false : node.fail("its axis has several numbers; expected one");
  auto axis = node.axis(given->front(), rank);
  Item x = node.tensor(0);
  if (!axis || node.hasFailed())
    return false;
  auto turned = [&](Item from) {
    return isReverse ? node.call("flip", {from, itemList(SmallVector<int64_t>{*axis})}) : from;
  };
  Item sums = node.call(callee, {turned(x), item(*axis), item(node.dtype(0))});
  if (isExclusive) {
    // Each one a place on.
    SmallVector<int64_t> widths(2 * (rank - *axis));
    widths[widths.size() - 2] = 1;
    widths[widths.size() - 1] = -1;
    sums = node.call("pad", {sums, itemList(widths), item(StringRef("constant")), item(nothing)});
  }
  node.set(0, turned(sums));
  return !node.hasFailed();
}

static bool buildCumSum(NodeImport &node) { return buildRunning(node, "cumsum", 0); }
static bool buildCumProd(NodeImport &node) { return buildRunning(node, "cumprod", 1); }

/// k is an attribute before opset 10, then an input. Of equal elements the one at the lower position comes first.
static bool buildTopK(NodeImport &node) {
  auto axis = node.axis(node.integer("axis", -1), node.rank(0));
  bool isLargest = node.integer("largest", 1) != 0, isSorted = node.integer("sorted", 1) != 0;
  int64_t count = 0;
  if (node.opset < 10) {
    count = node.integer("k", 0);
  } else {
    auto given = node.integers(1, "the count");
    if (!given || given->size() != 1)
      return node.hasFailed() ? false : node.fail("its count has several numbers; expected one");
    count = given->front();
  }
  Item x = node.tensor(0);
  if (!axis || node.hasFailed())
    return false;
  Item both = node.call("topk", {x, item(count), item(*axis), item(isLargest), item(isSorted)});
  if (!both.is<Item::List>())
    return false;
  node.set(0, both.as<Item::List>()[0]);
  node.set(1, both.as<Item::List>()[1]);
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> orderRules() {
  static const OddRule rules[] = {
      {"CumSum", 11, buildCumSum}, {"CumProd", 26, buildCumProd}, {"TopK", 1, buildTopK}};
  return rules;
}

} // namespace dlc::onnx
