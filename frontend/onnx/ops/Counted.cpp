//===- Counted.cpp - Results as large as the data say, of ONNX ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

/// A column for each element that is not zero, where PyTorch has a row.
static bool buildNonZero(NodeImport &node) {
  Item rows = node.call("nonzero", {node.tensor(0)});
  node.set(0, node.permute(rows, {1, 0}));
  return !node.hasFailed();
}

/// The slices along the axis, of the elements in a row without, where the condition holds.
static bool buildCompress(NodeImport &node) {
  Item x = node.tensor(0), condition = node.tensor(1);
  if (node.hasFailed())
    return false;
  if (node.rank(1) != 1)
    return node.fail("its condition has " + llvm::Twine(node.rank(1)) + " dims; expected one");
  std::optional<int64_t> axis = 0;
  if (node.hasAttribute("axis"))
    axis = node.axis(node.integer("axis", 0), node.rank(0));
  else
    x = node.call("flatten", {x});
  if (!axis || node.hasFailed())
    return false;
  Item places = node.call("flatten", {node.call("nonzero", {condition})});
  node.set(0, node.call("index_select", {x, item(*axis), places}));
  return !node.hasFailed();
}

/// Values, where each comes first, where each element's value stands, how often each occurs.
static bool buildUnique(NodeImport &node) {
  bool isSorted = node.integer("sorted", 1) != 0, hasAxis = node.hasAttribute("axis");
  Item x = node.tensor(0);
  SmallVector<Item> arguments = {x, item(isSorted)};
  if (hasAxis) {
    auto axis = node.axis(node.integer("axis", 0), node.rank(0));
    if (!axis)
      return false;
    arguments.push_back(item(*axis));
  }
  Item all = node.call("unique_all", arguments);
  if (!all.is<Item::List>())
    return false;
  for (auto [output, result] : llvm::enumerate(all.as<Item::List>()))
    node.set(output, output == 2 && !hasAxis ? node.call("flatten", {result}) : result);
  return !node.hasFailed();
}

/// Rows of image, class and box. Without a count of boxes there are none.
static bool buildNonMaxSuppression(NodeImport &node) {
  SmallVector<Item> arguments = {node.tensor(0), node.tensor(1)};
  SmallVector<std::pair<StringRef, Item>> named = {
      {"center_point_box", item(node.integer("center_point_box", 0) != 0)}};
  if (node.has(3))
    named.push_back({"iou_threshold", node.tensor(3)});
  if (node.has(4))
    named.push_back({"score_threshold", node.tensor(4)});
  const Known *known = node.known(2);
  auto most = known ? known->integers() : std::nullopt;
  if (!node.has(2))
    named.push_back({"most", item(int64_t(0))});
  else if (most && most->size() == 1) // exporters write the largest integer for all of them
    named.push_back({"most", item(std::clamp<int64_t>(most->front(), 0, INT32_MAX))});
  else
    named.push_back({"limit", node.tensor(2)});
  node.set(0, node.call("non_max_suppression", arguments, named));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> countedRules() {
  static const OddRule rules[] = {{"NonZero", 9, buildNonZero},
                                  {"Compress", 9, buildCompress},
                                  {"Unique", 11, buildUnique},
                                  {"NonMaxSuppression", 10, buildNonMaxSuppression}};
  return rules;
}

} // namespace dlc::onnx
