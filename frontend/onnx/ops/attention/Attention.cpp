//===- Attention.cpp - Attention of ONNX --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scaled_dot_product_attention where it says all, so that one kernel computes it; else its parts,
// of which each is a result of the node or has an option of its own.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc::onnx {

namespace {

class AttentionImport {
public:
  explicit AttentionImport(NodeImport &node) : node(node) {}
  bool run();

private:
  enum Input { query, key, value, mask, pastKey, pastValue, lengths };

  bool readHeads();
  Item heads(Input input, int64_t count);
  Item joined(Item past, Item present, size_t output);
  bool buildMask();
  Item causal();
  Item paddedMask();
  bool attend();
  Item attendInParts(Item bias);
  /// A row of weights that attends to nothing is 0, not NaN.
  Item zeroWhereHidden(Item rows);

  Item number(double x) { return node.scalar(x, dtype); }
  Item grouped(Item x, int64_t perGroup);
  static dl::Dims dimsOf(const Item &x) { return dl::getDims(x.tensorType()); }

  NodeImport &node;
  bool isFlat = false; // [B, L, heads * width]
  int64_t queryHeads = 0, heldHeads = 0;
  Type dtype; // of the arithmetic
  Item q, k, v;
  /// Which pairs may meet, and what is added to their scores; null where it is all of them, or
  /// nothing.
  std::optional<Item> allowed, bias;
  /// Some row may attend to nothing.
  bool mayHideRows = false;
};

} // namespace

bool AttentionImport::readHeads() {
  int64_t rank = node.rank(query);
  isFlat = rank == 3;
  queryHeads = node.integer("q_num_heads", 0);
  heldHeads = node.integer("kv_num_heads", 0);
  if (rank != 3 && rank != 4)
    return node.fail("its query is " + node.typeText(query) + "; expected 3 or 4 dims");
  if (node.rank(key) != rank || node.rank(value) != rank)
    return node.fail("its query, key and value are " + node.typeText(query) + ", " +
                     node.typeText(key) + " and " + node.typeText(value) +
                     "; expected equal ranks");
  if (!isFlat) {
    auto of = dl::asConstant(node.dims(query)[1]), held = dl::asConstant(node.dims(key)[1]);
    if (!of || !held)
      return node.unsupported("its heads are symbolic", "; dlc needs their number");
    queryHeads = *of;
    heldHeads = *held;
  }
  if (queryHeads < 1 || heldHeads < 1 || queryHeads % heldHeads)
    return node.fail("it has " + llvm::Twine(queryHeads) + " heads of queries and " +
                     llvm::Twine(heldHeads) + " of keys; expected a multiple of them");
  return true;
}

/// An input as [B, heads, length, width].
Item AttentionImport::heads(Input input, int64_t count) {
  Item x = node.tensor(input);
  if (!isFlat || node.hasFailed())
    return x;
  dl::Dims dims = node.dims(input);
  auto width = dl::asConstant(dims[2]);
  if (!width || *width % count) {
    node.fail("the last dim of " + node.typeText(input) + " is not that of " + llvm::Twine(count) +
              " heads");
    return {Item::Poison(), {}};
  }
  Item split = node.reshape(x, {dims[0], dims[1], node.dim(count), node.dim(*width / count)});
  return node.permute(split, {0, 2, 1, 3});
}

/// What was there before, then what comes now; a result of the node.
Item AttentionImport::joined(Item past, Item present, size_t output) {
  Item all = past.isTensor()
                 ? node.call("cat", {Item{Item::List{past, present}, {}}, item(int64_t(2))})
                 : present;
  if (node.wants(output))
    node.set(output, all);
  return all;
}

/// Query i sees the keys up to i, counted from the end of the past; with lengths, so that the last
/// query sees the last key.
Item AttentionImport::causal() {
  dl::Dims rows = dimsOf(q), columns = dimsOf(k);
  AffineExpr one = node.dim(1), past = node.dim(0);
  Item row = node.reshape(node.call("arange", {Item::dim(rows[2], {})}), {rows[2], one});
  if (node.has(pastKey))
    past = node.dims(pastKey)[2];
  if (node.has(lengths)) {
    Item last = node.reshape(node.cast(node.tensor(lengths), node.builder.getI64Type()),
                             {rows[0], one, one, one});
    row = node.call("add", {row, node.call("sub", {last, Item::dim(rows[2], {})})});
    mayHideRows = true;
  } else if (!dl::isConstant(past, 0)) {
    row = node.call("add", {row, Item::dim(past, {})});
  }
  Item column = node.reshape(node.call("arange", {Item::dim(columns[2], {})}), {one, columns[2]});
  return node.call("ge", {row, column});
}

/// The mask, with what forbids behind its last column where it is shorter than the keys.
Item AttentionImport::paddedMask() {
  Item given = node.tensor(mask);
  if (node.hasFailed())
    return given;
  dl::Dims dims = node.dims(mask);
  AffineExpr total = dimsOf(k)[2];
  if (dims.empty() || dims.back() == total || dl::isConstant(dims.back(), 1))
    return given;
  auto missing = dl::asConstant(dl::normalize(total - dims.back()));
  if (!missing || *missing < 0) {
    node.unsupported("its mask is " + node.typeText(mask) + " for " + node.text(total) + " keys",
                     "; dlc takes a mask of as many columns, or of so many fewer as is known");
    return {Item::Poison(), {}};
  }
  bool isBool = node.dtype(mask).isInteger(1);
  return node.call("pad",
                   {given, itemList(SmallVector<int64_t>{0, *missing}), item(StringRef("constant")),
                    item(isBool ? 0.0 : -std::numeric_limits<double>::infinity())});
}

bool AttentionImport::buildMask() {
  bool isCausal = node.integer("is_causal", 0) != 0;
  auto also = [&](Item condition) {
    allowed = allowed ? node.call("logical_and", {*allowed, condition}) : condition;
  };
  if (node.has(mask)) {
    mayHideRows = true;
    Item given = paddedMask();
    if (node.hasFailed())
      return false;
    if (given.tensorType().getElementType().isInteger(1))
      allowed = given;
    else
      bias = node.cast(given, dtype);
  }
  if (isCausal)
    also(causal());
  if (node.has(lengths)) {
    mayHideRows = true;
    dl::Dims rows = dimsOf(q), columns = dimsOf(k);
    AffineExpr one = node.dim(1);
    Item column = node.call("arange", {Item::dim(columns[2], {})});
    Item length = node.reshape(node.cast(node.tensor(lengths), node.builder.getI64Type()),
                               {rows[0], one, one, one});
    also(node.call("lt", {column, length}));
  }
  return !node.hasFailed();
}

Item AttentionImport::zeroWhereHidden(Item rows) {
  if (!mayHideRows)
    return rows;
  Item last = itemList(SmallVector<int64_t>{-1});
  Item isSeen = allowed && !bias
                    ? node.call("any", {*allowed, last, item(true)})
                    : node.call("ne", {node.call("amax", {*bias, last, item(true)}),
                                       number(-std::numeric_limits<double>::infinity())});
  return node.call("where", {isSeen, rows, number(0)});
}

/// Dim 1, the heads or 1, as [groups, perGroup].
Item AttentionImport::grouped(Item x, int64_t perGroup) {
  if (!x.isTensor() || dimsOf(x).size() < 3)
    return x;
  dl::Dims dims = dimsOf(x);
  size_t at = dims.size() - 3;
  auto count = dl::asConstant(dims[at]);
  bool isShared = count == 1;
  dims[at] = node.dim(isShared ? 1 : perGroup);
  dims.insert(dims.begin() + at, node.dim(isShared ? 1 : count.value_or(perGroup) / perGroup));
  return node.reshape(x, dims);
}

/// `add` is what is added to the scores, with the groups of heads apart; a poison for nothing.
Item AttentionImport::attendInParts(Item add) {
  int64_t perGroup = queryHeads / heldHeads;
  double scale = node.real("scale", 0), softcap = node.real("softcap", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(dl::asConstant(dimsOf(q)[3]).value_or(1)));
  int64_t mode = node.integer("qk_matmul_output_mode", 0);
  auto asHeads = [&](Item x) {
    if (!x.isTensor())
      return x;
    dl::Dims dims = dimsOf(x);
    return perGroup == 1 ? x : node.reshape(x, {dims[0], node.dim(queryHeads), dims[3], dims[4]});
  };
  auto give = [&](int64_t which, Item scores) {
    if (mode == which && node.wants(3))
      node.set(3, node.cast(asHeads(scores), node.dtype(query)));
  };
  Item queries = q, keys = k, values = v;
  if (perGroup > 1) {
    queries = grouped(q, perGroup);
    keys = node.call("unsqueeze", {k, item(int64_t(2))});
    values = node.call("unsqueeze", {v, item(int64_t(2))});
  }
  Item scores = node.call(
      "matmul", {queries, node.call("transpose", {keys, item(int64_t(-2)), item(int64_t(-1))})});
  scores = node.call("mul", {scores, item(scale)});
  if (node.hasFailed())
    return scores;
  give(0, scores);
  if (softcap > 0)
    scores = node.call(
        "mul", {node.call("tanh", {node.call("div", {scores, item(softcap)})}), item(softcap)});
  give(1, scores);
  if (add.isTensor())
    scores = node.call("add", {scores, add});
  give(2, scores);
  Type precise = dtype;
  if (node.hasAttribute("softmax_precision")) {
    auto type = elementType(node.integer("softmax_precision", 0));
    Type wanted = type ? frontend::dtypeOf(nameOf(*type), node.context) : Type();
    if (!isa_and_nonnull<FloatType>(wanted)) {
      node.fail("its softmax_precision is no float");
      return scores;
    }
    precise = wanted;
  }
  Item weights =
      node.cast(node.call("softmax", {node.cast(scores, precise), item(int64_t(-1))}), dtype);
  if (mode == 3 && node.wants(3))
    node.set(3, node.cast(zeroWhereHidden(asHeads(weights)), node.dtype(query)));
  return asHeads(node.call("matmul", {weights, values}));
}

bool AttentionImport::attend() {
  double lowest = -std::numeric_limits<double>::infinity();
  bool isPlain = !node.wants(3) && node.real("softcap", 0) == 0;
  node.integer("qk_matmul_output_mode", 0);
  if (node.hasAttribute("softmax_precision")) {
    auto type = elementType(node.integer("softmax_precision", 0));
    isPlain &= type && frontend::dtypeOf(nameOf(*type), node.context) == dtype;
  }
  bool isUpToDiagonal = node.integer("is_causal", 0) != 0 && !node.has(mask) &&
                        !node.has(pastKey) && !node.has(lengths);
  if (!isUpToDiagonal && !buildMask())
    return false;
  if (allowed && bias) {
    bias = node.call("where", {*allowed, *bias, number(lowest)});
    allowed.reset();
  }
  Item y;
  if (isPlain) {
    std::vector<std::pair<StringRef, Item>> named{{"is_causal", item(isUpToDiagonal)},
                                                  {"enable_gqa", item(queryHeads != heldHeads)}};
    if (double scale = node.real("scale", 0); scale != 0)
      named.push_back({"scale", item(scale)});
    if (bias || allowed)
      named.push_back({"attn_mask", bias ? *bias : *allowed});
    y = node.call("scaled_dot_product_attention", {q, k, v}, named);
  } else {
    if (isUpToDiagonal)
      allowed = causal();
    Item add{Item::Poison(), {}};
    if (bias)
      add = *bias;
    else if (allowed)
      add = node.call("where", {*allowed, number(0), number(lowest)});
    if (node.hasFailed())
      return false;
    if (int64_t perGroup = queryHeads / heldHeads; perGroup > 1)
      add = grouped(add, perGroup);
    y = attendInParts(add);
  }
  if (node.hasFailed())
    return false;
  y = zeroWhereHidden(y);
  if (isFlat && !node.hasFailed()) {
    dl::Dims dims = dimsOf(y);
    y = node.reshape(node.permute(y, {0, 2, 1, 3}),
                     {dims[0], dims[2], dl::normalize(dims[1] * dims[3])});
  }
  node.set(0, node.cast(y, node.dtype(query)));
  return !node.hasFailed();
}

bool AttentionImport::run() {
  for (Input input : {query, key, value})
    if (!node.has(input))
      return node.fail("it needs its input " + llvm::Twine(int(input)));
  if (node.has(pastKey) != node.has(pastValue))
    return node.fail("it has one of past_key and past_value; expected both or none");
  if (!readHeads())
    return false;
  dtype = node.dtype(query);
  q = heads(query, queryHeads);
  auto past = [&](Input input) {
    return node.has(input) ? node.tensor(input) : Item{Item::Poison(), {}};
  };
  Item newKey = heads(key, heldHeads), newValue = heads(value, heldHeads);
  if (node.hasFailed())
    return false;
  k = joined(past(pastKey), newKey, 1);
  v = joined(past(pastValue), newValue, 2);
  // The value may have a dtype of its own.
  dtype = wider(dtype, node.dtype(value));
  for (Item *x : {&q, &k, &v})
    *x = node.cast(*x, dtype);
  return !node.hasFailed() && attend();
}

static bool buildAttention(NodeImport &node) { return AttentionImport(node).run(); }

llvm::ArrayRef<OddRule> attentionRules() {
  static const OddRule rules[] = {
      {"Attention", 23, buildAttention},
  };
  return rules;
}

} // namespace dlc::onnx
