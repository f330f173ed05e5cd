//===- GroupQueryAttention.cpp - Attention whose heads share keys -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder attention of ONNX Runtime. seqlens_k holds the index of the last key of each text, so
// its new tokens begin at that plus 1 minus their number. total_sequence_length tells whether the
// caches grow by the new tokens, or are buffers into which these are written.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/attention/Rotary.h"
#include "frontend/onnx/ops/microsoft/ShapedScores.h"

#include <limits>

using namespace mlir;

namespace dlc::onnx {

namespace {

class GroupQueryAttention {
public:
  explicit GroupQueryAttention(NodeImport &node) : node(node) {}
  bool run();

private:
  enum Input {
    query,
    key,
    value,
    pastKey,
    pastValue,
    lastKeys,
    total,
    cosines,
    sines,
    positions,
    added,
    sink,
    keyScale,
    valueScale,
    queryNorm,
    keyNorm,
    queryLengths
  };

  bool checkForm();
  bool split();
  Item asHeads(Item x, int64_t count);
  Item normed(Item x, Input weight, StringRef epsilon);
  bool findCapacity();
  void findBegins();
  Item queryPlaces(bool isTable);
  bool rotate();
  Item appended(Input past, Item fresh);
  std::optional<Item> visible();
  bool buildBias();
  Item triangle();
  Item attend();

  static dl::Dims dimsOf(const Item &x) { return dl::getDims(x.tensorType()); }
  static Item pair(Item a, Item b) { return {Item::List{std::move(a), std::move(b)}, {}}; }
  Item count(AffineExpr size) { return Item::dim(size, {}); }
  Item steps(AffineExpr size) { return node.call("arange", {count(size)}); }
  Item lowest() { return node.scalar(-std::numeric_limits<double>::infinity(), node.dtype(query)); }

  NodeImport &node;
  int64_t heads = 0, heldHeads = 0, width = 0;
  AffineExpr texts, length;                  // N, and the tokens of a text that are new: T
  AffineExpr past, capacity;                 // positions of the caches before and after
  bool isGrown = false;                      // the new tokens of all texts begin at `past`
  std::optional<Item> begins, ends, lengths; // [N, 1] of each text: keys before, after, and tokens
  Item q, k, v; // [N, heads, T, width]; the keys and values in the end [N, heads, capacity, width]
  std::optional<Item> mask, bias;
  bool isCausal = false, isTriangle = false;
  int64_t window = -1; // keys that a query sees, if it is above 0
  double scale = 0, cap = 0;
  bool isSmooth = false; // a score without a key takes a share of each row
};

} // namespace

bool GroupQueryAttention::checkForm() {
  heads = node.integer("num_heads", 0);
  heldHeads = node.integer("kv_num_heads", 0);
  isCausal = node.integer("causal", 1) != 0;
  window = node.integer("local_window_size", -1);
  scale = node.real("scale", 0);
  cap = node.real("softcap", 0);
  isSmooth = node.integer("smooth_softmax", -1) > 0 || node.has(sink);
  if (heads < 1 || heldHeads < 1 || heads % heldHeads)
    return node.fail("it has " + llvm::Twine(heads) + " heads of queries and " +
                     llvm::Twine(heldHeads) + " of keys; expected a multiple of them");
  for (Input input : {lastKeys, total})
    if (!node.has(input))
      return node.fail("it needs its input " + llvm::Twine(int(input)));
  for (auto [a, b] : {std::pair(key, value), {pastKey, pastValue}, {queryNorm, keyNorm}})
    if (node.has(a) != node.has(b))
      return node.fail("it has one of its inputs " + llvm::Twine(int(a)) + " and " +
                       llvm::Twine(int(b)) + "; expected both or none");
  node.integer("kv_cache_bit_width", 0);
  for (StringRef name : {"k_quant_type", "v_quant_type"})
    if (std::string type = node.string(name, "NONE"); type != "NONE")
      return node.unsupported("its attribute " + frontend::quote(name) + " is " +
                                  frontend::quote(type),
                              "; dlc takes caches of floats");
  if (node.integer("sliding_window_cache", 0) != 0)
    return node.unsupported("its caches hold one window", "; dlc takes caches of all positions");
  if (node.integer("qk_output", 0) != 0 && node.wants(3))
    return node.unsupported("its scores are a result", "; dlc gives results 0 to 2");
  return true;
}

Item GroupQueryAttention::asHeads(Item x, int64_t count) {
  if (!x.isTensor() || node.hasFailed())
    return x;
  dl::Dims dims = dimsOf(x);
  return node.reshape(x, {dims[0], dims[1], node.dim(count), node.dim(width)});
}

/// The queries, keys and values, each [N, T, heads, width].
bool GroupQueryAttention::split() {
  auto whole = node.rank(query) == 3 ? dl::asConstant(node.dims(query)[2]) : std::nullopt;
  bool isPacked = !node.has(key);
  int64_t parts = isPacked ? heads + 2 * heldHeads : heads;
  if (!whole || *whole % parts)
    return node.fail("its query is " + node.typeText(query) + "; expected [N, T, width] of " +
                     llvm::Twine(parts) + " heads");
  width = *whole / parts;
  texts = node.dims(query)[0];
  length = node.dims(query)[1];
  Item all = node.tensor(query);
  if (isPacked) {
    auto part = [&](int64_t from, int64_t count) {
      return asHeads(node.call("slice", {all, item(int64_t(2)), item(from * width),
                                         item((from + count) * width)}),
                     count);
    };
    q = part(0, heads);
    k = part(heads, heldHeads);
    v = part(heads + heldHeads, heldHeads);
    return !node.hasFailed();
  }
  dl::Dims expected{texts, length, node.dim(heldHeads * width)};
  for (Input input : {key, value}) {
    dl::Dims dims = node.dims(input);
    if (dims.size() != 3 || dims[2] != expected[2] || !node.mayAgree(dims[1], length))
      return node.fail("its input " + llvm::Twine(int(input)) + " is " + node.typeText(input) +
                       " beside queries " + node.typeText(query) + "; expected [N, T, " +
                       llvm::Twine(heldHeads * width) + "]");
  }
  q = asHeads(all, heads);
  k = asHeads(node.expect(node.tensor(key), expected), heldHeads);
  v = asHeads(node.expect(node.tensor(value), expected), heldHeads);
  return !node.hasFailed();
}

/// x, each head divided by its root mean square and weighted, where the node has weights for that.
Item GroupQueryAttention::normed(Item x, Input weight, StringRef epsilon) {
  double common = node.real("qk_norm_epsilon", 1e-6), eps = node.real(epsilon, common);
  if (!node.has(weight))
    return x;
  return node.call("rms_norm", {x, itemList(SmallVector<int64_t>{width})},
                   {{"weight", node.tensor(weight)}, {"eps", item(eps)}});
}

/// How many positions the caches have before and after the new tokens.
bool GroupQueryAttention::findCapacity() {
  past = node.dim(0);
  capacity = length;
  isGrown = true;
  if (!node.has(pastKey))
    return true;
  for (Input input : {pastKey, pastValue}) {
    dl::Dims dims = node.dims(input);
    if (dims.size() != 4 || dims[1] != node.dim(heldHeads) || dims[3] != node.dim(width))
      return node.fail("its past is " + node.typeText(input) + "; expected [N, " +
                       llvm::Twine(heldHeads) + ", positions, " + llvm::Twine(width) + "]");
  }
  past = node.dims(pastKey)[2];
  AffineExpr grown = dl::normalize(past + length);
  auto sizes = node.sizes(total, "the total length", {1, INT32_MAX}, /*clamps=*/true, 1);
  if (!sizes || sizes->size() != 1)
    return sizes
               ? node.fail("its total length is " + node.typeText(total) + "; expected one number")
               : false;
  AffineExpr all = (*sizes)[0];
  bool isBuffer = all == past || dl::asConstant(past) || node.importer.isRead(all);
  isGrown = all == grown || (!isBuffer && node.mayAgree(all, grown));
  if (node.hasFailed())
    return false;
  if (isGrown)
    capacity = grown;
  else if (auto room = node.rangeOf(dl::normalize(past - all)); room && room->min >= 0)
    capacity = past;
  else
    capacity = node.larger(past, all);
  return capacity || node.unsupported("its caches have " + node.text(past) + " positions, and " +
                                          node.text(all) + " after it",
                                      "; dlc needs to know which is larger");
}

/// Where the new tokens of each text begin among its keys, and where they end.
void GroupQueryAttention::findBegins() {
  dl::Dims each{texts, node.dim(1)};
  auto numbers = [&](Input input) {
    Item given = node.cast(node.tensor(input), node.builder.getI64Type());
    return node.reshape(given, each);
  };
  if (node.has(queryLengths))
    lengths = numbers(queryLengths);
  // One text is as long as the longest of all, and a state counts the positions of all texts.
  bool isOne = !node.has(pastKey) || dl::isConstant(texts, 1),
       isCounted = node.importer.hasStates();
  bool isAlike = isGrown && !lengths && (isOne || isCounted);
  if (isAlike && !isOne)
    node.remark("the texts of a batch have equal lengths, as the states count them");
  if (isAlike && isCausal)
    return;
  ends = node.call("add", {numbers(lastKeys), item(int64_t(1))});
  if (isAlike)
    return;
  Item tokens = lengths ? *lengths : node.count(length);
  begins = node.call("clamp", {node.call("sub", {*ends, tokens}), item(int64_t(0))});
}

/// The positions of the queries: [T], or [N, T] where each text has its own.
Item GroupQueryAttention::queryPlaces(bool isTable) {
  Item places = steps(length);
  if (begins)
    return node.call("add", {*begins, places});
  if (!dl::isConstant(past, 0))
    places = node.call("add", {places, count(past)});
  return isTable ? node.reshape(places, {node.dim(1), length}) : places;
}

bool GroupQueryAttention::rotate() {
  Rotation by;
  by.interleaves = node.integer("rotary_interleaved", 0) != 0;
  if (node.integer("do_rotary", 0) == 0)
    return true;
  auto half = node.has(cosines) && node.has(sines) && node.rank(cosines) == 2
                  ? dl::asConstant(node.dims(cosines)[1])
                  : std::nullopt;
  if (!half)
    return node.fail("it rotates without tables of cosines and sines; expected "
                     "[positions, width / 2] of each");
  by.width = 2 * *half;
  Item places = node.has(positions) ? node.tensor(positions) : queryPlaces(/*isTable=*/true);
  by.cosines = node.call("index", {node.tensor(cosines), places});
  by.sines = node.call("index", {node.tensor(sines), places});
  q = rotated(node, q, by);
  k = rotated(node, k, by);
  return !node.hasFailed();
}

/// The cache with `fresh`, [N, heads, T, width], at the places of the new tokens.
Item GroupQueryAttention::appended(Input from, Item fresh) {
  if (!node.has(from) || node.hasFailed())
    return fresh;
  Item before = node.tensor(from);
  if (!begins)
    return node.call("cat", {pair(before, fresh), item(int64_t(2))});
  if (capacity != past) {
    before = node.call("cat", {pair(before, fresh), item(int64_t(2))});
    if (!isGrown)
      before = node.call("narrow", {before, item(int64_t(2)), item(int64_t(0)), count(capacity)});
  }
  AffineExpr one = node.dim(1);
  // [N, capacity]: the new token that each position gets.
  Item token = node.call("sub", {steps(capacity), *begins});
  Item isNew =
      node.call("logical_and", {node.call("ge", {token, item(int64_t(0))}),
                                node.call("lt", {token, lengths ? *lengths : node.count(length)})});
  dl::Dims wide{texts, one, capacity, one};
  if (!dl::isConstant(length, 1)) {
    Item last = node.call("sub", {node.count(length), item(int64_t(1))});
    Item place = node.call("minimum", {node.call("clamp", {token, item(int64_t(0))}), last});
    fresh = node.call("take_along_dim", {fresh, node.reshape(place, wide), item(int64_t(2))});
  }
  return node.call("where", {node.reshape(isNew, wide), fresh, before});
}

/// Which keys a query sees, broadcastable to [N, 1, T, capacity]; nothing where it is all of them.
std::optional<Item> GroupQueryAttention::visible() {
  AffineExpr one = node.dim(1);
  Item column = steps(capacity);
  if (!isCausal) {
    if (window > 0)
      node.fail("it has a window, and is not causal; expected local_window_size -1");
    return node.call("lt", {column, node.reshape(*ends, {texts, one, one, one})});
  }
  bool isOneToken = dl::isConstant(length, 1) && !begins;
  if (window <= 0 && isOneToken)
    return std::nullopt;
  if (window <= 0 && !begins && dl::isConstant(past, 0)) {
    isTriangle = true;
    return std::nullopt;
  }
  Item row = queryPlaces(/*isTable=*/false);
  row = node.reshape(row, begins ? dl::Dims{texts, one, length, one} : dl::Dims{length, one});
  Item sees = node.call("ge", {row, column});
  if (window <= 0)
    return sees;
  Item isNear = node.call("lt", {node.call("sub", {row, column}), item(window)});
  return node.call("logical_and", {sees, isNear});
}

bool GroupQueryAttention::buildBias() {
  mask = visible();
  if (!node.has(added))
    return !node.hasFailed();
  bias = node.tensor(added);
  if (node.hasFailed())
    return false;
  dl::Dims dims = node.dims(added);
  if (dims.size() != 4 || !(dims[3] == capacity || node.mayAgree(dims[3], capacity)))
    return node.hasFailed() ||
           node.unsupported("its attention_bias is " + node.typeText(added) + " for caches of " +
                                node.text(capacity) + " positions",
                            "; dlc takes a bias of as many columns");
  dims[3] = capacity;
  bias = node.expect(*bias, dims);
  if (isTriangle) {
    isTriangle = false;
    mask = triangle();
  }
  if (mask)
    bias = node.call("where", {*mask, *bias, lowest()});
  return !node.hasFailed();
}

/// Each query sees the keys up to its own.
Item GroupQueryAttention::triangle() {
  Item row = node.reshape(steps(length), {length, node.dim(1)});
  return node.call("ge", {row, steps(capacity)});
}

Item GroupQueryAttention::attend() {
  // A state that becomes a cache is kept apart in products and softmaxes (CacheRewrite.cpp).
  if (cap > 0 || isSmooth || node.importer.hasStates()) {
    ShapedScores scores{heads, heldHeads, scale, cap, isSmooth, {}, bias, mask};
    if (node.has(sink))
      scores.sink = node.tensor(sink);
    if (isTriangle)
      scores.mask = triangle();
    return attended(node, q, k, v, scores);
  }
  std::vector<std::pair<StringRef, Item>> named{{"is_causal", item(isTriangle)},
                                                {"enable_gqa", item(heads != heldHeads)}};
  if (scale != 0)
    named.push_back({"scale", item(scale)});
  if (bias || mask)
    named.push_back({"attn_mask", bias ? *bias : *mask});
  return node.call("scaled_dot_product_attention", {q, k, v}, named);
}

bool GroupQueryAttention::run() {
  if (!checkForm() || !split() || !findCapacity())
    return false;
  findBegins();
  q = normed(q, queryNorm, "q_norm_epsilon");
  k = normed(k, keyNorm, "k_norm_epsilon");
  if (!rotate())
    return false;
  for (Item *x : {&q, &k, &v})
    *x = node.permute(*x, {0, 2, 1, 3});
  k = appended(pastKey, k);
  v = appended(pastValue, v);
  if (node.hasFailed())
    return false;
  if (node.wants(1))
    node.set(1, k);
  if (node.wants(2))
    node.set(2, v);
  if (!buildBias())
    return false;
  Item y = attend();
  if (node.hasFailed())
    return false;
  node.set(0,
           node.reshape(node.permute(y, {0, 2, 1, 3}), {texts, length, node.dim(heads * width)}));
  return !node.hasFailed();
}

static bool buildGroupQueryAttention(NodeImport &node) { return GroupQueryAttention(node).run(); }

llvm::ArrayRef<OddRule> groupQueryRules() {
  static const OddRule rules[] = {
      {"com.microsoft.GroupQueryAttention", 1, buildGroupQueryAttention},
  };
  return rules;
}

} // namespace dlc::onnx
