//===- Sequence.cpp - Ops of ONNX along sequences, with state -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What they mean is what their function bodies in the standard say.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

//===- Causal convolution ---------------------------------------------------------------------===//

/// A depthwise convolution over [N, C, L] that sees what is past: the state is the last K - 1
/// elements.
static bool buildCausalConv(NodeImport &node) {
  std::string activation = node.string("activation", "none");
  Item x = node.tensor(0), weight = node.tensor(1);
  if (node.hasFailed())
    return false;
  auto channels = node.rank(0) == 3 ? dl::asConstant(node.dims(0)[1]) : std::nullopt;
  auto kernel = node.rank(1) == 3 ? dl::asConstant(node.dims(1)[2]) : std::nullopt;
  if (!channels || !kernel)
    return node.unsupported("it convolves " + node.typeText(0) + " with " + node.typeText(1),
                            "; dlc takes [N, C, L] and a weight of static dims");
  bool isSilu = activation == "silu" || activation == "swish";
  if (!isSilu && activation != "none")
    return node.unsupported("its activation is " + frontend::quote(activation),
                            "; dlc takes 'none', 'silu' and 'swish'");
  Item past = x;
  if (node.has(3))
    past = node.call("cat", {{Item::List{node.tensor(3), x}, {}}, item(int64_t(2))});
  else if (*kernel > 1)
    past = node.call("pad", {x, itemList(SmallVector<int64_t>{*kernel - 1, 0})});
  std::vector<std::pair<StringRef, Item>> named{{"groups", item(*channels)}};
  if (node.has(2))
    named.push_back({"bias", node.tensor(2)});
  Item y = node.call("conv1d", {past, weight}, named);
  node.set(0, isSilu ? node.call("silu", {y}) : y);
  if (node.wants(1)) {
    if (*kernel == 1)
      return node.unsupported("its window is one element, which leaves no state",
                              "; dlc has no tensors of dim 0 there");
    node.set(1,
             node.call("slice", {past}, {{"dim", item(int64_t(2))}, {"start", item(1 - *kernel)}}));
  }
  return !node.hasFailed();
}

//===- Linear attention -----------------------------------------------------------------------===//

/// [N, T, H D] as [N, H, T, D].
static Item headsOf(NodeImport &node, Item x, int64_t heads) {
  if (!x.isTensor())
    return x;
  dl::Dims dims = dl::getDims(x.tensorType());
  auto width = dims.size() == 3 ? dl::asConstant(dims[2]) : std::nullopt;
  if (!width || heads < 1 || *width % heads) {
    node.fail("it takes tensors [N, T, H D] of " + llvm::Twine(heads) + " heads, got " +
              dl::text(x.as<mlir::Value>()));
    return {Item::Poison(), {}};
  }
  Item apart = node.reshape(x, {dims[0], dims[1], node.dim(heads), node.dim(*width / heads)});
  return node.permute(apart, {0, 2, 1, 3});
}

/// The state S [N, H, D, E] takes up a key and a value at each step, and the query reads it:
///   S = exp(decay) S;  S += k (v - S'k) beta (delta rules) or k v;  y = scale S'q
static bool buildLinearAttention(NodeImport &node) {
  int64_t queryHeads = node.integer("q_num_heads", 1), heads = node.integer("kv_num_heads", 1);
  std::string rule = node.string("update_rule", "gated_delta");
  double scale = node.real("scale", 0);
  node.attribute("chunk_size"); // how the sums are grouped, and no other values
  bool isGated = rule == "gated" || rule == "gated_delta",
       isDelta = rule == "delta" || rule == "gated_delta";
  if (!isGated && !isDelta && rule != "linear")
    return node.unsupported("its update_rule is " + frontend::quote(rule),
                            "; dlc takes 'linear', 'gated', 'delta' and 'gated_delta'");
  auto steps = node.rank(0) == 3 ? dl::asConstant(node.dims(0)[1]) : std::nullopt;
  if (!steps || *steps < 1 || *steps > Importer::kMaxSteps)
    return node.unsupported("it attends over " + node.typeText(0),
                            "; dlc writes out 1 to " + llvm::Twine(Importer::kMaxSteps) +
                                " steps, whose number it needs");
  Type f32 = node.builder.getF32Type(), dtype = node.dtype(0);
  auto wide = [&](Item x) { return node.cast(x, f32); };
  Item q = wide(headsOf(node, node.tensor(0), queryHeads)),
       k = wide(headsOf(node, node.tensor(1), heads)),
       v = wide(headsOf(node, node.tensor(2), heads));
  if (!q.isTensor() || !k.isTensor() || !v.isTensor() || queryHeads % heads)
    return node.hasFailed() ? false
                            : node.fail("its q_num_heads is no multiple of its kv_num_heads");
  AffineExpr rows = node.dims(0)[0], depth = dl::getDims(k.tensorType())[3],
             width = dl::getDims(v.tensorType())[3];
  if (scale == 0)
    if (auto number = dl::asConstant(depth))
      scale = 1 / std::sqrt(static_cast<double>(*number));
  Item decay, beta;
  if (isGated)
    decay = node.call("exp", {wide(headsOf(node, node.tensor(4), heads))});
  if (isDelta) { // one number for each head and step, or one for all heads
    Item given = wide(node.tensor(5));
    if (!given.isTensor() || dl::getDims(given.tensorType()).size() != 3)
      return node.hasFailed() ? false : node.fail("its beta is no tensor [N, T, H]");
    dl::Dims dims = dl::getDims(given.tensorType());
    beta =
        node.permute(node.reshape(given, {dims[0], dims[1], dims[2], node.dim(1)}), {0, 2, 1, 3});
  }
  Item state =
      node.has(3)
          ? wide(node.tensor(3))
          : node.call("zeros", {dimItems({rows, node.dim(heads), depth, width}), item(f32)});
  auto at = [&](Item x, int64_t step) {
    return node.call("select", {x, item(int64_t(2)), item(step)});
  };
  auto column = [&](Item x) { return node.call("unsqueeze", {x, item(int64_t(3))}); };
  auto row = [&](Item x) { return node.call("unsqueeze", {x, item(int64_t(2))}); };
  Item::List results;
  for (int64_t step = 0; step < *steps && !node.hasFailed(); ++step) {
    Item key = column(at(k, step)), value = row(at(v, step));
    if (isGated)
      state = node.call("mul", {state, column(at(decay, step))});
    if (isDelta) {
      Item known = node.call("matmul", {node.permute(key, {0, 1, 3, 2}), state});
      value = node.call("mul", {node.call("sub", {value, known}), row(at(beta, step))});
    }
    state = node.call("add", {state, node.call("matmul", {key, value})});
    Item read = state;
    if (queryHeads != heads)
      read = node.call("repeat_interleave", {state, item(queryHeads / heads), item(int64_t(1))});
    results.push_back(node.call("matmul", {row(at(q, step)), read}));
  }
  Item all =
      results.size() == 1 ? results.front() : node.call("cat", {{results, {}}, item(int64_t(2))});
  all = node.call("mul", {all, node.scalar(scale, f32)});
  if (node.hasFailed())
    return false;
  node.set(0, node.cast(node.reshape(node.permute(all, {0, 2, 1, 3}),
                                     {rows, node.dims(0)[1], dl::normalize(width * queryHeads)}),
                        dtype));
  node.set(1, node.cast(state, node.has(3) ? node.dtype(3) : dtype));
  return !node.hasFailed();
}

//===- Attention with graphs of the model -----------------------------------------------------===//

/// softmax(prob_mod(score_mod(scale q k'))) v; the two graphs may change scores and weights.
static bool buildFlexAttention(NodeImport &node) {
  double scale = node.real("scale", 0);
  int64_t precision = node.integer("softmax_precision", 1);
  Item q = node.tensor(0), k = node.tensor(1), v = node.tensor(2);
  if (node.hasFailed())
    return false;
  Type dtype = node.dtype(0);
  auto heads = node.rank(0) == 4 && node.rank(1) == 4 && node.rank(2) == 4
                   ? dl::asConstant(node.dims(0)[1])
                   : std::nullopt;
  auto shared = heads ? dl::asConstant(node.dims(1)[1]) : std::nullopt;
  auto depth = heads ? dl::asConstant(node.dims(0)[3]) : std::nullopt;
  if (!shared || !depth || *shared < 1 || *heads % *shared)
    return node.unsupported("it attends over " + node.typeText(0) + " and " + node.typeText(1),
                            "; dlc takes [N, H, T, D] of static heads and depth");
  auto compute = elementType(precision);
  Type wide = compute ? frontend::dtypeOf(nameOf(*compute), node.context) : Type();
  if (!wide)
    return node.unsupported("its softmax_precision is " + dataTypeName(precision), "");
  if (*heads != *shared)
    for (Item *x : {&k, &v})
      *x = node.call("repeat_interleave", {*x, item(*heads / *shared), item(int64_t(1))});
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(*depth));
  Item scores = node.call(
      "mul", {node.call("matmul", {q, node.permute(k, {0, 1, 3, 2})}), node.scalar(scale, dtype)});
  auto changed = [&](StringRef name, Item x) {
    return node.hasAttribute(name) ? node.graph(name, x) : x;
  };
  scores = changed("score_mod", scores);
  Item weights = node.call("softmax", {node.cast(scores, wide), item(int64_t(-1))});
  weights = changed("prob_mod", node.cast(weights, dtype));
  node.set(0, node.call("matmul", {weights, v}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> sequenceRules() {
  static const OddRule rules[] = {
      {"CausalConvWithState", 1, buildCausalConv},
      {"LinearAttention", 1, buildLinearAttention},
      {"ai.onnx.preview.FlexAttention", 1, buildFlexAttention},
  };
  return rules;
}

} // namespace dlc::onnx
