//===- FusedAttention.cpp - Attention as ONNX Runtime writes it ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention projects one input to query, key and value, QAttention a quantized one by quantized
// weights; MultiHeadAttention is given all three. What a mask hides gets mask_filter_value added to
// its score, so that a query from which all is hidden still attends to all alike.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/Quantized.h"

#include <limits>

using namespace mlir;

namespace dlc::onnx {

namespace {

class FusedAttention {
public:
  explicit FusedAttention(NodeImport &node) : node(node) {}
  bool runAttention();
  bool runQuantized();
  bool runMultiHead();

private:
  bool readHeads();
  std::optional<SmallVector<int64_t>> readWidths(size_t input, size_t weight);
  bool attendProjected(Item all, ArrayRef<int64_t> widths, size_t pastBoth);
  Item partOf(size_t input, int64_t place, int64_t count);
  /// [N, L, heads * width] as [N, heads, L, width].
  Item asHeads(Item x);
  Item joined(Item past, Item present);
  bool buildBias(size_t mask, size_t added);
  std::optional<Item> isShown(size_t mask);
  bool attend();

  Item number(double x) { return node.scalar(x, q.tensorType().getElementType()); }
  static dl::Dims dimsOf(const Item &x) { return dl::getDims(x.tensorType()); }

  NodeImport &node;
  int64_t headCount = 0;
  Item q, k, v;             // [N, heads, length, width], the past among the keys and values
  AffineExpr past;          // how many positions are in it
  std::optional<Item> bias; // added to the scores
  bool isCausal = false;    // no query sees a later key, and `bias` does not say so
};

} // namespace

bool FusedAttention::readHeads() {
  headCount = node.integer("num_heads", 0);
  past = node.dim(0);
  return headCount > 0 ||
         node.fail("it has " + llvm::Twine(headCount) + " heads; expected 1 or more");
}

Item FusedAttention::asHeads(Item x) {
  if (!x.isTensor() || node.hasFailed())
    return x;
  dl::Dims dims = dimsOf(x);
  auto width = dims.size() == 3 ? dl::asConstant(dims[2]) : std::nullopt;
  if (!width || *width % headCount) {
    node.fail("it attends by " + dl::text(x.as<mlir::Value>()) + "; expected [N, T, width] of " +
              llvm::Twine(headCount) + " heads");
    return {Item::Poison(), {}};
  }
  return node.permute(
      node.reshape(x, {dims[0], dims[1], node.dim(headCount), node.dim(*width / headCount)}),
      {0, 2, 1, 3});
}

Item FusedAttention::joined(Item before, Item present) {
  if (!before.isTensor() || !present.isTensor())
    return present;
  return node.call("cat", {Item{Item::List{before, present}, {}}, item(int64_t(2))});
}

/// Which pairs of a query and a key the mask lets meet, broadcastable to [N, heads, T, S]: from the
/// number of keys of each text, or from numbers above 0.
std::optional<Item> FusedAttention::isShown(size_t mask) {
  Item given = node.tensor(mask);
  dl::Dims queries = dimsOf(q), keys = dimsOf(k), of = node.dims(mask);
  AffineExpr one = node.dim(1);
  auto isAbove = [&](const dl::Dims &dims) {
    return node.reshape(node.call("gt", {given, node.scalar(0, node.dtype(mask))}), dims);
  };
  if (of.size() == 1 && of[0] == queries[0]) {
    Item position = node.call("arange", {Item::dim(keys[2], {})});
    Item length = node.reshape(node.cast(given, node.builder.getI64Type()), {of[0], one, one, one});
    return node.call("lt", {position, length});
  }
  if (of.size() == 2 && of[1] == keys[2])
    return isAbove({of[0], one, one, of[1]});
  if (of.size() == 3 && of[2] == keys[2])
    return isAbove({of[0], one, of[1], of[2]});
  node.unsupported("its mask is " + node.typeText(mask) + " for queries " +
                       dl::text(q.as<mlir::Value>()) + " and keys " + dl::text(k.as<mlir::Value>()),
                   "; dlc takes lengths [N], and masks [N, S] and [N, T, S] of all S keys");
  return std::nullopt;
}

/// `mask`, `added`: inputs that may be left out.
bool FusedAttention::buildBias(size_t mask, size_t added) {
  double hidden = node.real("mask_filter_value", -10000);
  isCausal = node.integer("unidirectional", 0) != 0;
  if (node.has(mask)) {
    auto shown = isShown(mask);
    if (!shown || node.hasFailed())
      return false;
    bias = node.call("where", {*shown, number(0), number(hidden)});
  }
  if (node.has(added))
    bias = bias ? node.call("add", {*bias, node.tensor(added)}) : node.tensor(added);
  if (isCausal && (bias || !dl::isConstant(past, 0))) {
    dl::Dims queries = dimsOf(q), keys = dimsOf(k);
    Item row =
        node.reshape(node.call("arange", {Item::dim(queries[2], {})}), {queries[2], node.dim(1)});
    row = node.call("add", {row, Item::dim(past, {})});
    Item isPast = node.call("ge", {row, node.call("arange", {Item::dim(keys[2], {})})});
    bias = node.call("where", {isPast, bias ? *bias : number(0),
                               number(-std::numeric_limits<double>::infinity())});
    isCausal = false;
  }
  return !node.hasFailed();
}

bool FusedAttention::attend() {
  std::vector<std::pair<StringRef, Item>> named{{"is_causal", item(isCausal)}};
  if (double scale = node.real("scale", 0); scale != 0)
    named.push_back({"scale", item(scale)});
  if (bias)
    named.push_back({"attn_mask", *bias});
  Item y = node.call("scaled_dot_product_attention", {q, k, v}, named);
  if (node.hasFailed())
    return false;
  dl::Dims dims = dimsOf(y);
  node.set(0, node.reshape(node.permute(y, {0, 2, 1, 3}),
                           {dims[0], dims[2], dl::normalize(dims[1] * dims[3])}));
  return !node.hasFailed();
}

/// The widths of query, key and value, into which `weight` projects `input`.
std::optional<SmallVector<int64_t>> FusedAttention::readWidths(size_t input, size_t weight) {
  auto whole = node.rank(weight) == 2 ? dl::asConstant(node.dims(weight)[1]) : std::nullopt;
  SmallVector<int64_t> widths = node.integerList("qkv_hidden_sizes");
  if (whole && widths.empty())
    widths.assign(3, *whole / 3);
  if (node.rank(input) == 3 && whole && widths.size() == 3 &&
      widths[0] + widths[1] + widths[2] == *whole &&
      llvm::none_of(widths, [&](int64_t width) { return width < 1 || width % headCount != 0; }))
    return widths;
  node.fail("it attends from " + node.typeText(input) + " by " + node.typeText(weight) +
            "; expected [N, T, width] and the query, key and "
            "value of " +
            llvm::Twine(headCount) + " heads");
  return std::nullopt;
}

/// Takes query, key and value from `all`, [N, T, sum of widths], and joins the past in front.
bool FusedAttention::attendProjected(Item all, ArrayRef<int64_t> widths, size_t pastBoth) {
  int64_t start = 0;
  Item *parts[] = {&q, &k, &v};
  for (auto [part, width] : llvm::zip_equal(parts, widths)) {
    *part = asHeads(node.call("slice", {all, item(int64_t(2)), item(start), item(start + width)}));
    start += width;
  }
  if (node.has(pastBoth)) {
    if (node.rank(pastBoth) != 5)
      return node.fail("its past is " + node.typeText(pastBoth) +
                       "; expected [2, N, heads, P, width]");
    past = node.dims(pastBoth)[3];
    Item before = node.tensor(pastBoth);
    k = joined(node.call("select", {before, item(int64_t(0)), item(int64_t(0))}), k);
    v = joined(node.call("select", {before, item(int64_t(0)), item(int64_t(1))}), v);
  }
  if (node.hasFailed())
    return false;
  if (node.wants(1))
    node.set(1, node.call("stack", {Item{Item::List{k, v}, {}}}));
  return true;
}

bool FusedAttention::runAttention() {
  enum Input { input, weight, projectionBias, mask, pastBoth, added, pastLength };
  if (!readHeads())
    return false;
  if (node.integer("do_rotary", 0) != 0 || node.integer("past_present_share_buffer", 0) != 0 ||
      node.has(pastLength))
    return node.unsupported("it rotates, or its past is a buffer of a fixed size",
                            "; dlc takes a past that grows, and Attention of ONNX");
  node.integer("rotary_embedding_dim", 0);
  auto widths = readWidths(input, weight);
  if (!widths)
    return false;
  Item all = node.call("matmul", {node.tensor(input), node.tensor(weight)});
  if (node.has(projectionBias))
    all = node.call("add", {all, node.tensor(projectionBias)});
  return attendProjected(all, *widths, pastBoth) && buildBias(mask, added) && attend();
}

bool FusedAttention::runQuantized() {
  enum Input {
    input,
    weight,
    bias,
    inputScale,
    weightScale,
    mask,
    inputZero,
    weightZero,
    pastBoth
  };
  if (!readHeads())
    return false;
  if (node.integer("do_rotary", 0) != 0 || node.integer("past_present_share_buffer", 0) != 0)
    return node.unsupported("it rotates, or its past is a buffer of a fixed size",
                            "; dlc takes a past that grows");
  auto widths = readWidths(input, weight);
  for (Input needed : {bias, inputScale, weightScale})
    if (widths && !node.has(needed))
      return node.fail("it needs its input " + llvm::Twine(int(needed)));
  if (!widths)
    return false;
  Type f32 = node.builder.getF32Type(), dtype = node.dtype(bias);
  Item scale = node.call(
      "mul", {node.cast(node.tensor(inputScale), f32), node.cast(node.tensor(weightScale), f32)});
  Item sums = node.cast(integerProduct(node, input, inputZero, weight, weightZero), f32);
  Item all = node.call("add", {node.call("mul", {sums, scale}), node.cast(node.tensor(bias), f32)});
  return attendProjected(node.cast(all, dtype), *widths, pastBoth) &&
         buildBias(mask, /*added=*/pastBoth + 1) && attend();
}

/// Input `input` as [N, T, width]: the `place`th of the `count` tensors that it holds for each
/// head, [N, T, heads, count, width], if it has five dims.
Item FusedAttention::partOf(size_t input, int64_t place, int64_t count) {
  Item x = node.tensor(input);
  if (node.rank(input) != 5 || node.hasFailed())
    return x;
  dl::Dims dims = node.dims(input);
  if (dims[2] != node.dim(headCount) || dims[3] != node.dim(count)) {
    node.fail("its input " + llvm::Twine(input) + " is " + node.typeText(input) +
              "; expected [N, T, " + llvm::Twine(headCount) + ", " + llvm::Twine(count) +
              ", width]");
    return x;
  }
  return node.reshape(node.call("select", {x, item(int64_t(3)), item(place)}),
                      {dims[0], dims[1], dl::normalize(dims[2] * dims[4])});
}

bool FusedAttention::runMultiHead() {
  enum Input {
    query,
    key,
    value,
    projectionBias,
    mask,
    added,
    pastKey,
    pastValue,
    pastLength,
    beams
  };
  if (!readHeads())
    return false;
  bool isWhole = !node.has(key) && !node.has(value) && node.rank(query) == 5,
       isPair = node.has(key) && !node.has(value) && node.rank(key) == 5;
  if (!isWhole && !isPair && (!node.has(key) || !node.has(value)))
    return node.fail(
        "its query, key and value are not all there; expected [N, T, width] of each, or "
        "one tensor [N, T, heads, 3, width]");
  if (node.has(pastLength) || node.has(beams) || node.wants(3))
    return node.unsupported("its past is a buffer of a fixed size, or its scores are a result",
                            "; dlc takes a past that grows, and gives results 0 to 2");
  if (node.has(pastKey) != node.has(pastValue))
    return node.fail("it has one of past_key and past_value; expected both or none");
  bool isSplit = node.has(key) && node.rank(key) == 4; // [N, heads, S, width], from an encoder
  if (isSplit && (node.has(projectionBias) || node.has(pastKey) || node.rank(value) != 4))
    return node.unsupported("its keys are " + node.typeText(key) + " beside a bias or a past",
                            "; dlc takes [N, S, width] there");
  int64_t start = 0;
  auto shifted = [&](Item x) {
    if (!node.has(projectionBias) || node.hasFailed())
      return asHeads(x);
    auto width = dl::asConstant(dimsOf(x).back());
    if (!width) {
      node.unsupported("its query, key or value has a symbolic width", "; dlc needs its number");
      return x;
    }
    Item shift = node.call("slice", {node.tensor(projectionBias), item(int64_t(0)), item(start),
                                     item(start + *width)});
    start += *width;
    return asHeads(node.call("add", {x, shift}));
  };
  q = shifted(partOf(query, 0, 3));
  k = isSplit   ? node.tensor(key)
      : isWhole ? shifted(partOf(query, 1, 3))
                : shifted(partOf(key, 0, 2));
  v = isSplit   ? node.tensor(value)
      : isWhole ? shifted(partOf(query, 2, 3))
      : isPair  ? shifted(partOf(key, 1, 2))
                : shifted(node.tensor(value));
  if (node.has(pastKey)) {
    if (node.rank(pastKey) != 4)
      return node.fail("its past is " + node.typeText(pastKey) + "; expected [N, heads, P, width]");
    past = node.dims(pastKey)[2];
    k = joined(node.tensor(pastKey), k);
    v = joined(node.tensor(pastValue), v);
  }
  if (node.hasFailed())
    return false;
  if (node.wants(1))
    node.set(1, k);
  if (node.wants(2))
    node.set(2, v);
  return buildBias(mask, added) && attend();
}

static bool buildAttention(NodeImport &node) { return FusedAttention(node).runAttention(); }
static bool buildQAttention(NodeImport &node) { return FusedAttention(node).runQuantized(); }
static bool buildMultiHead(NodeImport &node) { return FusedAttention(node).runMultiHead(); }

llvm::ArrayRef<OddRule> microsoftAttentionRules() {
  static const OddRule rules[] = {
      {"com.microsoft.Attention", 1, buildAttention},
      {"com.microsoft.MultiHeadAttention", 1, buildMultiHead},
      {"com.microsoft.QAttention", 1, buildQAttention},
  };
  return rules;
}

} // namespace dlc::onnx
