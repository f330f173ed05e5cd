//===- Attention.cpp - Multi-head attention and the layers around it ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"
#include "frontend/dl/lower/LayerCalls.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc::frontend {

using Named = FunctionCalls::Named;

namespace {

/// One attention: the weights `prefix`in_proj_weight and so on of the layer that makes it.
class Attention {
public:
  Attention(LayerCall &call, StringRef prefix, int64_t features, int64_t heads, bool batchFirst)
      : call(call), prefix(prefix), features(features), heads(heads), batchFirst(batchFirst) {}

  struct Masks {
    Item keyPadding, attention;
  };
  /// The result and the weights of each head, [N, heads, L, S].
  std::pair<Item, Item> run(const Item &query, const Item &key, const Item &value,
                            const Masks &masks);

private:
  Item weight(StringRef leaf) { return call.weight((prefix + leaf).str()); }
  Item number(int64_t value) { return {value, call.loc}; }
  Item part(const Item &x, int64_t dim, int64_t position);
  Item projected(const Item &x, int64_t position, StringRef ownWeight);
  Item split(const Item &x);
  Item masked(Item scores, const Masks &masks);
  Item permute(const Item &x, ArrayRef<int64_t> order);
  AffineExpr constant(int64_t value, const Item &x) {
    return dl::constantDim(value, x.tensorType().getContext());
  }

  LayerCall &call;
  StringRef prefix;
  int64_t features, heads;
  bool batchFirst;
};

} // namespace

/// Returns x. In training its elements are dropped with the probability of the layer.
static Item dropped(LayerCall &call, const Item &x) {
  Item p = call.arguments.get("dropout");
  return p.as<double>() == 0 ? x : call.function("dropout", x, Named{"p", p});
}

Item Attention::permute(const Item &x, ArrayRef<int64_t> order) {
  Item::List dims;
  for (int64_t dim : order)
    dims.push_back(number(dim));
  return call.function("permute", x, Named{"dims", Item{std::move(dims), call.loc}});
}

/// Of a dim that holds queries, keys and values one after another.
Item Attention::part(const Item &x, int64_t dim, int64_t position) {
  if (x.is<Item::None>())
    return x;
  return call.function("slice", x,
                       {Named{"dim", number(dim)}, Named{"start", number(position * features)},
                        Named{"end", number((position + 1) * features)}});
}

Item Attention::projected(const Item &x, int64_t position, StringRef ownWeight) {
  Item common = weight("in_proj_weight");
  Item own = common.is<Item::None>() ? weight(ownWeight) : part(common, 0, position);
  return call.function("linear", {x, own, part(weight("in_proj_bias"), 0, position)});
}

/// [N, L, E] or [L, N, E] to [N, heads, L, E / heads].
Item Attention::split(const Item &x) {
  if (!x.isTensor())
    return x;
  dl::Dims dims = dl::getDims(x.tensorType());
  Item apart =
      call.reshape(x, {dims[0], dims[1], constant(heads, x), constant(features / heads, x)});
  return batchFirst ? permute(apart, {0, 2, 1, 3}) : permute(apart, {1, 2, 0, 3});
}

/// True in a bool mask keeps a key out; a float mask is added.
Item Attention::masked(Item scores, const Masks &masks) {
  for (const Item *mask : {&masks.attention, &masks.keyPadding}) {
    if (!mask->isTensor() || !scores.isTensor())
      continue;
    Item shaped = *mask;
    dl::Dims dims = dl::getDims(mask->tensorType()), full = dl::getDims(scores.tensorType());
    AffineExpr one = constant(1, scores);
    if (mask == &masks.keyPadding && dims.size() == 2) // [N, S]
      shaped = call.reshape(shaped, {dims[0], one, one, dims[1]});
    else if (dims.size() == 3) // [N heads, L, S]
      shaped = call.reshape(shaped, {full[0], full[1], dims[1], dims[2]});
    bool isBool = mask->tensorType().getElementType().isInteger(1);
    Item lowest{-std::numeric_limits<double>::infinity(), call.loc};
    scores = isBool ? call.function("masked_fill", {scores, shaped}, Named{"value", lowest})
                    : call.function("add", {scores, shaped});
  }
  return scores;
}

std::pair<Item, Item> Attention::run(const Item &query, const Item &key, const Item &value,
                                     const Masks &masks) {
  Item q = split(projected(query, 0, "q_proj_weight"));
  Item k = split(projected(key, 1, "k_proj_weight"));
  Item v = split(projected(value, 2, "v_proj_weight"));
  Item turned = call.function("transpose", {k, number(-2), number(-1)});
  Item scale{1.0 / std::sqrt(static_cast<double>(features / heads)), call.loc};
  Item scores = call.function("matmul", {call.function("mul", {q, scale}), turned});
  Item weights =
      dropped(call, call.function("softmax", masked(scores, masks), Named{"dim", number(-1)}));
  Item mixed = call.function("matmul", {weights, v}); // [N, heads, L, E / heads]
  if (!mixed.isTensor())
    return {mixed, weights};
  Item together = batchFirst ? permute(mixed, {0, 2, 1, 3}) : permute(mixed, {2, 0, 1, 3});
  dl::Dims dims = dl::getDims(query.tensorType());
  Item merged = call.reshape(together, {dims[0], dims[1], constant(features, mixed)});
  return {call.function("linear", {merged, weight("out_proj.weight"), weight("out_proj.bias")}),
          weights};
}

static void attentionWeights(const LayerArguments &a, LayerWeights &weights, StringRef prefix,
                             int64_t features, int64_t keys, int64_t values, bool bias) {
  auto add = [&](StringRef leaf, SmallVector<int64_t> shape) {
    weights.add((prefix + leaf).str(), std::move(shape));
  };
  if (keys == features && values == features) {
    add("in_proj_weight", {3 * features, features});
  } else {
    add("q_proj_weight", {features, features});
    add("k_proj_weight", {features, keys});
    add("v_proj_weight", {features, values});
  }
  if (bias)
    add("in_proj_bias", {3 * features});
  add("out_proj.weight", {features, features});
  if (bias)
    add("out_proj.bias", {features});
}

/// result, weights
static Item multiheadAttention(LayerCall &call) {
  const LayerArguments &a = call.arguments;
  int64_t heads = a.size("num_heads");
  Attention attention(call, "", a.size("embed_dim"), heads, a.flag("batch_first"));
  auto [result, weights] =
      attention.run(call.input("query"), call.input("key"), call.input("value"),
                    {call.input("key_padding_mask"), call.input("attn_mask")});
  auto flag = [&](StringRef name, bool otherwise) {
    Item item = call.input(name);
    return item.is<bool>() ? item.as<bool>() : otherwise;
  };
  if (!flag("need_weights", true))
    return {Item::List{result, {Item::None(), call.loc}}, call.loc};
  if (flag("average_attn_weights", true))
    weights = call.function("mean", weights, Named{"dim", Item{int64_t(1), call.loc}});
  return {Item::List{result, weights}, call.loc};
}

namespace {

/// The parts that PyTorch's encoder and decoder layers are made of: attention, and a feed-forward
/// network of one hidden layer, each with a norm before it or after it, added to what it reads.
class TransformerLayer {
public:
  explicit TransformerLayer(LayerCall &call)
      : call(call), features(call.arguments.size("d_model")) {}

  using Part = llvm::function_ref<Item(const Item &)>;
  /// `part` of x, added to x; with the norm `name`.
  Item added(const Item &x, const std::string &name, Part part);
  /// Attention of x to `memory`, or to itself where that is null. The masks are inputs of the call
  /// by these names.
  Item attend(StringRef prefix, const Item &x, const Item *memory, StringRef keyPadding,
              StringRef mask);
  Item feed(const Item &x);

private:
  Item norm(const Item &x, const std::string &name);
  Item linear(const Item &x, const std::string &name) {
    return call.function("linear", {x, call.weight(name + ".weight"), call.weight(name + ".bias")});
  }

  LayerCall &call;
  int64_t features;
};

} // namespace

Item TransformerLayer::norm(const Item &x, const std::string &name) {
  return call.function("layer_norm", x,
                       {Named{"normalized_shape", Item{features, call.loc}},
                        Named{"weight", call.weight(name + ".weight")},
                        Named{"bias", call.weight(name + ".bias")},
                        Named{"eps", call.arguments.get("layer_norm_eps")}});
}

Item TransformerLayer::added(const Item &x, const std::string &name, Part part) {
  bool isBefore = call.arguments.flag("norm_first");
  Item sum = call.function("add", {x, dropped(call, part(isBefore ? norm(x, name) : x))});
  return isBefore ? sum : norm(sum, name);
}

Item TransformerLayer::attend(StringRef prefix, const Item &x, const Item *memory,
                              StringRef keyPadding, StringRef mask) {
  const Item &keys = memory ? *memory : x;
  if (!x.isTensor() || !keys.isTensor())
    return {Item::Poison(), call.loc};
  Attention attention(call, prefix, features, call.arguments.size("nhead"),
                      call.arguments.flag("batch_first"));
  return attention.run(x, keys, keys, {call.input(keyPadding), call.input(mask)}).first;
}

Item TransformerLayer::feed(const Item &x) {
  std::string activation = call.arguments.get("activation").as<std::string>();
  return linear(dropped(call, call.function(activation, linear(x, "linear1"), {})), "linear2");
}

static Item encoderLayer(LayerCall &call) {
  TransformerLayer layer(call);
  Item x = layer.added(call.first(), "norm1", [&](const Item &x) {
    return layer.attend("self_attn.", x, nullptr, "src_key_padding_mask", "src_mask");
  });
  return layer.added(x, "norm2", [&](const Item &x) { return layer.feed(x); });
}

static Item decoderLayer(LayerCall &call) {
  TransformerLayer layer(call);
  Item memory = call.input("memory");
  Item x = layer.added(call.first(), "norm1", [&](const Item &x) {
    return layer.attend("self_attn.", x, nullptr, "tgt_key_padding_mask", "tgt_mask");
  });
  x = layer.added(x, "norm2", [&](const Item &x) {
    return layer.attend("multihead_attn.", x, &memory, "memory_key_padding_mask", "memory_mask");
  });
  return layer.added(x, "norm3", [&](const Item &x) { return layer.feed(x); });
}

/// The weights of an encoder layer, in the order of PyTorch's; of a decoder layer where
/// `attentions` are two.
static void transformerWeights(const LayerArguments &a, LayerWeights &weights,
                               ArrayRef<StringRef> attentions) {
  int64_t features = a.size("d_model"), hidden = a.size("dim_feedforward");
  std::string activation = a.get("activation").as<std::string>();
  if (activation != "relu" && activation != "gelu")
    a.refuse("activation", "activation is " + quote(activation) + "; expected 'relu' or 'gelu'");
  a.quotient("d_model", "nhead");
  bool bias = a.flag("bias");
  auto add = [&](const std::string &name, SmallVector<int64_t> shape) {
    int64_t size = shape.front();
    weights.add(name + ".weight", std::move(shape));
    if (bias)
      weights.add(name + ".bias", {size});
  };
  for (StringRef prefix : attentions)
    attentionWeights(a, weights, prefix, features, features, features, bias);
  add("linear1", {hidden, features});
  add("linear2", {features, hidden});
  for (size_t i = 0; i <= attentions.size(); ++i)
    add("norm" + std::to_string(i + 1), {features});
}

static constexpr StringRef kTransformerSchema =
    "(int d_model, int nhead, int dim_feedforward=2048, float dropout=0.1, str activation='relu', "
    "float layer_norm_eps=1e-05, bool batch_first=False, bool norm_first=False, bool bias=True)";

std::vector<LayerKind> attentionLayers() {
  return {
      {.name = "MultiheadAttention",
       .function = "masked_fill",
       .schema = "(int embed_dim, int num_heads, float dropout=0.0, bool bias=True, bool "
                 "add_bias_kv=False, bool add_zero_attn=False, int? kdim=None, int? vdim=None, "
                 "bool batch_first=False)",
       .weights =
           [](const LayerArguments &a, LayerWeights &weights) {
             int64_t features = a.size("embed_dim");
             a.quotient("embed_dim", "num_heads");
             for (StringRef flag : {"add_bias_kv", "add_zero_attn"})
               if (a.flag(flag))
                 a.refuse(flag, "'MultiheadAttention' is supported with " + flag +
                                    "=False alone, got true");
             attentionWeights(a, weights, "", features,
                              a.isNone("kdim") ? features : a.size("kdim"),
                              a.isNone("vdim") ? features : a.size("vdim"), a.flag("bias"));
           },
       .call = "(Tensor query, Tensor key, Tensor value, Tensor? key_padding_mask=None, bool "
               "need_weights=True, Tensor? attn_mask=None, bool average_attn_weights=True)",
       .ranks = {3},
       .build = multiheadAttention},
      {.name = "TransformerEncoderLayer",
       .function = "layer_norm",
       .schema = kTransformerSchema,
       .weights = [](const LayerArguments &a,
                     LayerWeights &weights) { transformerWeights(a, weights, {"self_attn."}); },
       .call = "(Tensor src, Tensor? src_mask=None, Tensor? src_key_padding_mask=None)",
       .ranks = {3},
       .build = encoderLayer},
      {.name = "TransformerDecoderLayer",
       .function = "layer_norm",
       .schema = kTransformerSchema,
       .weights =
           [](const LayerArguments &a, LayerWeights &weights) {
             transformerWeights(a, weights, {"self_attn.", "multihead_attn."});
           },
       .call = "(Tensor tgt, Tensor memory, Tensor? tgt_mask=None, Tensor? memory_mask=None, "
               "Tensor? tgt_key_padding_mask=None, Tensor? memory_key_padding_mask=None)",
       .ranks = {3},
       .build = decoderLayer},
  };
}

} // namespace dlc::frontend
