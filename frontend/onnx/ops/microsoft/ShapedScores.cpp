//===- ShapedScores.cpp - Attention whose scores are more than products -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/ops/microsoft/ShapedScores.h"
#include "frontend/onnx/OpRules.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc::onnx {

/// x with its heads, or the one of all, as [heads of keys, queries of each].
static Item grouped(NodeImport &node, Item x, const ShapedScores &by) {
  if (!x.isTensor() || node.hasFailed())
    return x;
  dl::Dims dims = dl::getDims(x.tensorType());
  if (dims.size() < 3) // the same for all heads
    return x;
  size_t at = dims.size() - 3;
  bool isShared = dl::isConstant(dims[at], 1) && by.heads != 1;
  dims[at] = node.dim(isShared ? 1 : by.heads / by.heldHeads);
  dims.insert(dims.begin() + at, node.dim(isShared ? 1 : by.heldHeads));
  return node.reshape(x, dims);
}

Item attended(NodeImport &node, Item q, Item k, Item v, const ShapedScores &by) {
  if (node.hasFailed() || !q.isTensor() || !k.isTensor() || !v.isTensor())
    return {Item::Poison(), {}};
  dl::Dims dims = dl::getDims(q.tensorType()); // [N, heads, T, width]
  AffineExpr one = node.dim(1), groups = node.dim(by.heldHeads),
             each = node.dim(by.heads / by.heldHeads), keys = dl::getDims(k.tensorType())[2];
  Type dtype = q.tensorType().getElementType(), precise = wider(dtype, node.builder.getF32Type());
  auto wide = [&](Item x) { return node.cast(x, precise); };
  auto ofAll = [&](const Item &x) { // a reshape, which a cache keeps apart (CacheRewrite.cpp)
    dl::Dims shared = dl::getDims(x.tensorType());
    shared.insert(shared.begin() + 2, one);
    return node.reshape(wide(x), shared);
  };
  double width = static_cast<double>(dl::asConstant(dims[3]).value_or(1));
  Item turned = node.call("transpose", {ofAll(k), item(int64_t(-2)), item(int64_t(-1))});
  Item scores = node.call("matmul", {grouped(node, wide(q), by), turned});
  scores = node.call("mul", {scores, item(by.scale != 0 ? by.scale : 1 / std::sqrt(width))});
  if (by.cap > 0)
    scores = node.call(
        "mul", {node.call("tanh", {node.call("div", {scores, item(by.cap)})}), item(by.cap)});
  if (by.bias)
    scores = node.call("add", {scores, grouped(node, wide(*by.bias), by)});
  else if (by.mask)
    scores = node.call("where", {grouped(node, *by.mask, by), scores,
                                 node.scalar(-std::numeric_limits<double>::infinity(), precise)});
  if (by.isSmooth) {
    Item share =
        by.sink ? node.reshape(wide(*by.sink), {groups, each, one, one}) : node.scalar(0, precise);
    share = node.broadcast(share, {dims[0], groups, each, dims[2], one});
    scores = node.call("cat", {Item{Item::List{scores, share}, {}}, item(int64_t(-1))});
  }
  Item weights = node.call("softmax", {scores, item(int64_t(-1))});
  if (by.isSmooth)
    weights =
        node.call("narrow", {weights, item(int64_t(-1)), item(int64_t(0)), Item::dim(keys, {})});
  Item y = node.call("matmul", {weights, ofAll(v)});
  return node.hasFailed() ? y : node.cast(node.reshape(y, dims), dtype);
}

} // namespace dlc::onnx
