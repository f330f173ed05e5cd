//===- Core.cpp - Dense layers, activations, normalization, shapes ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/keras/KerasCall.h"

#include <cmath>

using namespace mlir;

namespace dlc::frontend {

using Named = KerasCall::Named;

static void dense(KerasCall &call) {
  Item x = call.logical();
  int64_t features = call.staticSize(x, call.failed() ? 0 : x.tensorType().getRank() - 1);
  int64_t units = call.arguments.size("units");
  Item kernel = call.weight("kernel", {features, units}); // [in, out]
  Item bias = call.weightIf("use_bias", "bias", {units});
  call.give(call.function("linear", {x, call.permute(kernel, {1, 0}), bias}));
  call.activate();
}

static void flatten(KerasCall &call) {
  call.give(call.function("flatten", call.logical(), Named{"start_dim", call.number(1)}));
}

static void reshape(KerasCall &call) {
  Item x = call.logical();
  if (call.failed())
    return;
  SmallVector<AffineExpr> dims = {call.dims(x).front()};
  MLIRContext *context = dims.front().getContext();
  Item shape = call.arguments.get("target_shape");
  for (const Item &dim : shape.as<Item::List>())
    dims.push_back(dim.asDim(context));
  call.give(call.reshape(x, dims));
}

/// Keras counts the dims from 1, the batch apart.
static void permute(KerasCall &call) {
  if (call.failed())
    return;
  KerasCall::Shape order = {0};
  llvm::append_range(order, call.arguments.sizes("dims"));
  int64_t rank = call.logical().tensorType().getRank();
  if (!std::is_permutation(order.begin(), order.end(), llvm::seq<int64_t>(0, rank).begin(),
                           llvm::seq<int64_t>(0, rank).end())) {
    call.error("'Permute' takes each number from 1 to " + Twine(rank - 1) +
               " once, for the dims after the batch");
    return;
  }
  call.give(call.permute(call.logical(), order));
}

/// Returns x. In training the layer becomes `function`, which draws random numbers.
static Item drops(KerasCall &call, const Item &x, StringRef function, StringRef argument) {
  return call.function(
      "dropout", {x},
      {Named{"p", call.arguments.get(argument)}, Named{"function", call.text(function)}});
}

static void dropout(KerasCall &call) { call.give(drops(call, call.logical(), "dropout", "rate")); }

/// Drops whole channels.
static void spatialDropout(KerasCall &call) {
  if (call.failed())
    return;
  Item x = call.channelsFirst(call.logical().tensorType().getRank() - 2);
  call.giveChannelsFirst(drops(call, x, "dropout2d", "rate"));
}

static void gaussianDropout(KerasCall &call) {
  call.give(drops(call, call.logical(), "gaussian_dropout", "rate"));
}

static void gaussianNoise(KerasCall &call) {
  call.give(drops(call, call.logical(), "gaussian_noise", "stddev"));
}

static void activation(KerasCall &call) { call.activate(call.textOf("activation")); }

static void relu(KerasCall &call) {
  double slope = call.arguments.get("negative_slope").as<double>();
  Item limit = call.arguments.get("max_value");
  if (Item threshold = call.arguments.get("threshold"); threshold.as<double>() != 0.0) {
    call.error("'ReLU' is supported with threshold=0 alone, got " + describe(threshold, {}));
    return;
  }
  if (slope != 0.0)
    call.map("leaky_relu", Named{"negative_slope", Item{slope, call.loc}});
  else
    call.map("relu");
  if (!limit.is<Item::None>())
    call.map("minimum", Named{"other", limit});
}

static void leakyRelu(KerasCall &call) {
  call.map("leaky_relu", Named{"negative_slope", call.arguments.get("negative_slope")});
}

static void elu(KerasCall &call) { call.map("elu", Named{"alpha", call.arguments.get("alpha")}); }

static void softmax(KerasCall &call) {
  call.give(call.function("softmax", call.logical(), Named{"dim", call.arguments.get("axis")}));
}

static void rescaling(KerasCall &call) {
  call.map("mul", Named{"other", call.arguments.get("scale")});
  if (call.arguments.get("offset").as<double>() != 0.0)
    call.map("add", Named{"other", call.arguments.get("offset")});
}

/// Refuses an axis that is not the last one, where Keras's layers have their features unless told
/// otherwise.
static bool isLastAxis(KerasCall &call) {
  if (call.failed())
    return false;
  int64_t axis = call.arguments.get("axis").as<int64_t>();
  if (axis == -1 || axis == call.logical().tensorType().getRank() - 1)
    return true;
  call.error(quote(call.kind) + " is supported with axis=-1 alone, got the integer " + Twine(axis));
  return false;
}

static void batchNormalization(KerasCall &call) {
  if (!isLastAxis(call))
    return;
  unsigned rank = call.logical().tensorType().getRank();
  Item x = rank == 2 ? call.logical() : call.channelsFirst(rank - 2);
  int64_t channels = call.staticSize(x, 1);
  const LayerArguments &a = call.arguments;
  Item gamma = call.weightIf("scale", "gamma", {channels});
  Item beta = call.weightIf("center", "beta", {channels});
  Item mean = call.weight("moving_mean", {channels});
  Item variance = call.weight("moving_variance", {channels});
  // The op takes both or neither.
  if (a.flag("scale") != a.flag("center"))
    (a.flag("scale") ? beta : gamma) = call.full(a.flag("scale") ? 0.0 : 1.0, {channels});
  // Keras's momentum is the share of the old statistics, and PyTorch's that of the new ones.
  Item share{std::round((1 - a.get("momentum").as<double>()) * 1e12) / 1e12, call.loc};
  Item y = call.function("batch_norm", {x, mean, variance, gamma, beta},
                         {Named{"eps", a.get("epsilon")}, Named{"momentum", share},
                          Named{"biased", {true, call.loc}}});
  rank == 2 ? call.give(y) : call.giveChannelsFirst(y);
}

static void layerNormalization(KerasCall &call) {
  if (!isLastAxis(call))
    return;
  Item x = call.logical();
  int64_t features = call.staticSize(x, x.tensorType().getRank() - 1);
  Item gamma = call.weightIf("scale", "gamma", {features});
  Item beta = call.weightIf("center", "beta", {features});
  if (call.arguments.flag("center") && !call.arguments.flag("scale"))
    gamma = call.full(1.0, {features});
  call.give(call.function("layer_norm", {x, call.list({features}), gamma, beta},
                          Named{"eps", call.arguments.get("epsilon")}));
}

static void embedding(KerasCall &call) {
  Item table = call.weight("embeddings",
                           {call.arguments.size("input_dim"), call.arguments.size("output_dim")});
  call.give(call.function("embedding", {call.logical(), table}));
}

std::vector<KerasKind> kerasCoreLayers() {
  return {
      {"Dense", "(int units, str? activation=None, bool use_bias=True)", dense},
      {"Flatten", "()", flatten},
      {"Reshape", "(SymInt[] target_shape)", reshape},
      {"Permute", "(int[] dims)", permute},
      {"Dropout", "(float rate)", dropout},
      {"SpatialDropout1D", "(float rate)", spatialDropout},
      {"SpatialDropout2D", "(float rate)", spatialDropout},
      {"GaussianDropout", "(float rate)", gaussianDropout},
      {"GaussianNoise", "(float stddev)", gaussianNoise},
      {"Activation", "(str activation)", activation},
      {"ReLU", "(float? max_value=None, float negative_slope=0.0, float threshold=0.0)", relu},
      {"LeakyReLU", "(float negative_slope=0.3)", leakyRelu},
      {"ELU", "(float alpha=1.0)", elu},
      {"Softmax", "(int axis=-1)", softmax},
      {"Rescaling", "(float scale, float offset=0.0)", rescaling},
      {"BatchNormalization",
       "(int axis=-1, float momentum=0.99, float epsilon=0.001, bool center=True, bool scale=True)",
       batchNormalization},
      {"LayerNormalization",
       "(int axis=-1, float epsilon=0.001, bool center=True, bool scale=True)", layerNormalization},
      {"Embedding", "(int input_dim, int output_dim)", embedding},
  };
}

} // namespace dlc::frontend
