//===- Normalizations.cpp - Norms of ONNX Runtime, with what is added before --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

/// Over the last dim. `bias`: the input that holds it, none where the op has none.
static Item normalized(NodeImport &node, StringRef callee, Item x, size_t weight,
                       std::optional<size_t> bias) {
  if (!x.isTensor())
    return x;
  auto size = dl::asConstant(dl::getDims(x.tensorType()).back());
  if (!size) {
    node.unsupported("it normalizes over a symbolic dim", "; dlc needs its number");
    return {Item::Poison(), {}};
  }
  std::vector<std::pair<StringRef, Item>> named{{"weight", node.tensor(weight)},
                                                {"eps", item(node.real("epsilon", 1e-12))}};
  if (bias && node.has(*bias))
    named.push_back({"bias", node.tensor(*bias)});
  return node.call(callee, {x, itemList(SmallVector<int64_t>{*size})}, named);
}

/// x, what skips, and a bias, added and normalized; result 3 is the sum. `shift`: of the
/// normalization, as in `normalized`.
static bool skipNorm(NodeImport &node, StringRef callee, std::optional<size_t> shift, size_t bias) {
  if (node.rank(0) < 2)
    return node.fail("it takes a tensor [N, T, width] or [T, width], got " + node.typeText(0));
  if (node.wants(1) || node.wants(2))
    return node.unsupported("its mean or its deviation is used, as in training",
                            "; dlc gives results 0 and 3");
  Item sum = node.call("add", {node.tensor(0), node.tensor(1)});
  if (node.has(bias))
    sum = node.call("add", {sum, node.tensor(bias)});
  node.set(0, normalized(node, callee, sum, 2, shift));
  if (node.wants(3))
    node.set(3, sum);
  return !node.hasFailed();
}
static bool buildSkipLayerNorm(NodeImport &node) { return skipNorm(node, "layer_norm", 3, 4); }
static bool buildSkipRmsNorm(NodeImport &node) {
  return skipNorm(node, "rms_norm", std::nullopt, 3);
}

/// The positions of an embedding's inputs, and the sum of the rows that it looks up.
struct Embedding {
  size_t ids, segments, segmentRows, scale, shift, mask;
  Item sum;
};

/// Normalizes the sum; result 1 is how many tokens of each text the mask lets through, result 2 the
/// sum.
static bool setEmbedded(NodeImport &node, const Embedding &of, Item scale, Item shift) {
  dl::Dims dims = node.dims(of.ids);
  auto width =
      of.sum.isTensor() ? dl::asConstant(dl::getDims(of.sum.tensorType()).back()) : std::nullopt;
  if (!width)
    return node.hasFailed()
               ? false
               : node.unsupported("it normalizes over a symbolic dim", "; dlc needs its number");
  node.set(
      0,
      node.call("layer_norm", {of.sum, itemList(SmallVector<int64_t>{*width})},
                {{"weight", scale}, {"bias", shift}, {"eps", item(node.real("epsilon", 1e-12))}}));
  if (node.wants(1)) {
    Type i32 = node.builder.getI32Type();
    Item count = node.full(item(int64_t(0)), dl::makeTensor({dims[0]}, i32));
    if (node.has(of.mask)) {
      Item isOne = node.call("eq", {node.tensor(of.mask), node.scalar(1, node.dtype(of.mask))});
      count = node.cast(node.call("sum", {isOne, itemList(SmallVector<int64_t>{1})}), i32);
    }
    node.set(1, count);
  }
  if (node.wants(2))
    node.set(2, of.sum);
  return !node.hasFailed();
}

/// Rows of three tables, added and normalized.
static bool buildEmbedLayerNorm(NodeImport &node) {
  enum Input { ids, segments, words, positions, segmentRows, scale, shift, mask, places };
  node.integer("mask_index_type", 1); // whether result 1 is there, which the graph says too
  if (node.rank(ids) != 2)
    return node.fail("its ids are " + node.typeText(ids) + "; expected [N, T]");
  AffineExpr length = node.dims(ids)[1];
  Item y = node.call("embedding", {node.tensor(ids), node.tensor(words)});
  Item place =
      node.has(places) ? node.tensor(places) : node.call("arange", {Item::dim(length, {})});
  y = node.call("add", {y, node.call("embedding", {place, node.tensor(positions)})});
  if (node.has(segments) && node.has(segmentRows))
    y = node.call("add",
                  {y, node.call("embedding", {node.tensor(segments), node.tensor(segmentRows)})});
  return setEmbedded(node, {ids, segments, segmentRows, scale, shift, mask, y}, node.tensor(scale),
                     node.tensor(shift));
}

/// The same of tables of integers, whose scales and zero points are inputs in the same order.
static bool buildQuantizedEmbedLayerNorm(NodeImport &node) {
  enum Input { ids, segments, words, positions, segmentRows, scale, shift, mask };
  constexpr size_t kScales = 8, kZeros = 13; // of words, positions, segments, scale and shift
  Type f32 = node.builder.getF32Type(), i32 = node.builder.getI32Type();
  if (node.rank(ids) != 2)
    return node.fail("its ids are " + node.typeText(ids) + "; expected [N, T]");
  auto numbers = [&](Item codes, Input table) {
    size_t place = table - words;
    if (!node.has(kScales + place)) {
      node.fail("it needs its input " + llvm::Twine(kScales + place));
      return codes;
    }
    codes = node.cast(codes, i32);
    if (node.has(kZeros + place))
      codes =
          node.call("sub", {codes, node.cast(node.reshape(node.tensor(kZeros + place), {}), i32)});
    return node.call("mul",
                     {node.cast(codes, f32), node.reshape(node.tensor(kScales + place), {})});
  };
  auto rows = [&](Item at, Input table) {
    return numbers(node.call("index", {node.tensor(table), at}), table);
  };
  Item y = rows(node.tensor(ids), words);
  Item place = node.call("arange", {Item::dim(node.dims(ids)[1], {})});
  y = node.call("add", {y, rows(place, positions)});
  if (node.has(segments) && node.has(segmentRows))
    y = node.call("add", {y, rows(node.tensor(segments), segmentRows)});
  return setEmbedded(node, {ids, segments, segmentRows, scale, shift, mask, y},
                     numbers(node.tensor(scale), scale), numbers(node.tensor(shift), shift));
}

//===- Groups of channels ---------------------------------------------------------------------===//

/// Input 0 as [N, C, ...], whose channels are the last dim unless it says otherwise; and how to go
/// back.
static bool groupNorm(NodeImport &node, Item x, std::optional<size_t> sum) {
  int64_t rank = node.rank(0), groups = node.integer("groups", 0),
          activation = node.integer("activation", 0);
  bool isLast = node.integer("channels_last", 1) != 0;
  double eps = node.real("epsilon", 1e-5);
  if (rank < 3)
    return node.fail("it takes a tensor [N, ..., C], got " + node.typeText(0));
  if (activation != 0 && activation != 1)
    return node.unsupported("its activation is " + llvm::Twine(activation),
                            "; dlc takes 0 and 1, for SiLU");
  Type dtype = node.dtype(0), f32 = node.builder.getF32Type();
  if (sum && node.wants(*sum))
    node.set(*sum, x);
  x = node.cast(x, wider(dtype, f32));
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank)), back = order;
  if (isLast) {
    order.erase(order.end() - 1);
    order.insert(order.begin() + 1, rank - 1);
    back.erase(back.begin() + 1);
    back.push_back(1);
  }
  Type wide = wider(dtype, f32);
  Item y = node.call("group_norm", {node.permute(x, order), item(groups)},
                     {{"weight", node.cast(node.tensor(1), wide)},
                      {"bias", node.cast(node.tensor(2), wide)},
                      {"eps", item(eps)}});
  if (activation == 1)
    y = node.call("silu", {y});
  node.set(0, node.hasFailed() ? y : node.cast(node.permute(y, back), dtype));
  return !node.hasFailed();
}

static bool buildGroupNorm(NodeImport &node) {
  return groupNorm(node, node.tensor(0), std::nullopt);
}

/// x, what skips, [N, C] or with all dims, and a bias, added and normalized; result 1 is the sum.
static bool buildSkipGroupNorm(NodeImport &node) {
  enum Input { x, scale, shift, skip, bias };
  int64_t rank = node.rank(x);
  bool isLast = node.integer("channels_last", 1) != 0;
  auto ofChannels = [&](Input input) { // [C] or [N, C] against all dims
    Item given = node.tensor(input);
    dl::Dims dims = node.dims(input);
    if (isLast && dims.size() == 1)
      return given;
    size_t place = dims.size() - (isLast ? 1 : 0);
    dims.insert(dims.begin() + place, rank - 2, node.dim(1));
    return node.reshape(given, dims);
  };
  Item sum = node.tensor(x);
  if (rank < 3 || !node.has(skip))
    return node.fail("it takes a tensor [N, ..., C] and what skips, got " + node.typeText(x));
  sum = node.call("add", {sum, node.rank(skip) == 2 ? ofChannels(skip) : node.tensor(skip)});
  if (node.has(bias))
    sum = node.call("add", {sum, ofChannels(bias)});
  return groupNorm(node, sum, 1);
}

llvm::ArrayRef<OddRule> microsoftNormRules() {
  static const OddRule rules[] = {
      {"com.microsoft.EmbedLayerNormalization", 1, buildEmbedLayerNorm},
      {"com.microsoft.GroupNorm", 1, buildGroupNorm},
      {"com.microsoft.QEmbedLayerNormalization", 1, buildQuantizedEmbedLayerNorm},
      {"com.microsoft.SkipGroupNorm", 1, buildSkipGroupNorm},
      {"com.microsoft.SkipLayerNormalization", 1, buildSkipLayerNorm},
      {"com.microsoft.SkipSimplifiedLayerNormalization", 1, buildSkipRmsNorm},
  };
  return rules;
}

} // namespace dlc::onnx
