//===- Normalization.cpp - Batch, layer, group, instance and RMS norm ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"
#include "frontend/dl/lower/LayerCalls.h"

namespace dlc::frontend {

static constexpr llvm::StringRef kBatchNormSchema =
    "(int num_features, float eps=1e-05, float? momentum=0.1, bool affine=True, bool "
    "track_running_stats=True)";
static constexpr llvm::StringRef kInstanceNormSchema =
    "(int num_features, float eps=1e-05, float? momentum=0.1, bool affine=False, bool "
    "track_running_stats=False)";

static void addAffine(LayerWeights &weights, llvm::SmallVector<int64_t> shape) {
  weights.add("weight", shape);
  weights.add("bias", shape);
}

static void batchNormWeights(const LayerArguments &a, LayerWeights &weights) {
  int64_t features = a.size("num_features");
  if (a.flag("affine"))
    addAffine(weights, {features});
  weights.add("running_mean", {features});
  weights.add("running_var", {features});
}

static void instanceNormWeights(const LayerArguments &a, LayerWeights &weights) {
  if (a.flag("affine"))
    addAffine(weights, {a.size("num_features")});
  if (a.flag("track_running_stats")) {
    weights.add("running_mean", {a.size("num_features")});
    weights.add("running_var", {a.size("num_features")});
  }
}

/// `rank` dims with a batch; one less without.
template <unsigned rank> static Item instanceNormCall(LayerCall &call) {
  Item x = call.first();
  dl::Dims dims = dl::getDims(x.tensorType()), batched = dims;
  bool isBatchOfOne = dims.size() + 1 == rank;
  if (isBatchOfOne) {
    batched.insert(batched.begin(), dl::constantDim(1, x.tensorType().getContext()));
    x = call.reshape(x, batched);
  }
  llvm::SmallVector<FunctionCalls::Named> named = {{"eps", call.arguments.get("eps")}};
  for (llvm::StringRef name : {"weight", "bias", "running_mean", "running_var"})
    if (Item weight = call.weight(name); !weight.is<Item::None>())
      named.push_back({name, weight});
  if (call.arguments.flag("track_running_stats")) { // in training it takes those of the input
    named.push_back({"use_input_stats", {false, call.loc}});
    named.push_back({"momentum", {-1.0, call.loc}});
  }
  Item y = call.function("instance_norm", x, named);
  return isBatchOfOne && y.isTensor() ? call.reshape(y, dims) : y;
}

static LayerKind batchNorm(llvm::StringRef name, std::vector<int64_t> ranks) {
  return {.name = name,
          .function = "batch_norm",
          .schema = kBatchNormSchema,
          .weights = batchNormWeights,
          .trainingState = {"num_batches_tracked"},
          // None means an average over all batches, which dlc does not keep.
          .passes = {{"momentum", "momentum", "-1.0"}},
          .ranks = std::move(ranks)};
}

template <unsigned rank> static LayerKind instanceNorm(llvm::StringRef name) {
  return {.name = name,
          .function = "instance_norm",
          .schema = kInstanceNormSchema,
          .weights = instanceNormWeights,
          .trainingState = {"num_batches_tracked"},
          .ranks = {rank - 1, rank},
          .build = instanceNormCall<rank>};
}

std::vector<LayerKind> normalizationLayers() {
  return {
      batchNorm("BatchNorm1d", {2, 3}),
      batchNorm("BatchNorm2d", {4}),
      batchNorm("BatchNorm3d", {5}),
      {.name = "LayerNorm",
       .function = "layer_norm",
       .schema = "(int[] normalized_shape, float eps=1e-05, bool elementwise_affine=True, bool "
                 "bias=True)",
       .weights =
           [](const LayerArguments &a, LayerWeights &weights) {
             bool bias = a.flag("bias");
             if (!a.flag("elementwise_affine"))
               return;
             weights.add("weight", a.sizes("normalized_shape"));
             if (bias)
               weights.add("bias", a.sizes("normalized_shape"));
           }},
      {.name = "GroupNorm",
       .function = "group_norm",
       .schema = "(int num_groups, int num_channels, float eps=1e-05, bool affine=True)",
       .weights =
           [](const LayerArguments &a, LayerWeights &weights) {
             a.quotient("num_channels", "num_groups");
             if (a.flag("affine"))
               addAffine(weights, {a.size("num_channels")});
           }},
      instanceNorm<3>("InstanceNorm1d"),
      instanceNorm<4>("InstanceNorm2d"),
      instanceNorm<5>("InstanceNorm3d"),
      {.name = "RMSNorm",
       .function = "rms_norm",
       .schema = "(int[] normalized_shape, float? eps=None, bool elementwise_affine=True)",
       .weights =
           [](const LayerArguments &a, LayerWeights &weights) {
             if (a.flag("elementwise_affine"))
               weights.add("weight", a.sizes("normalized_shape"));
           }},
  };
}

} // namespace dlc::frontend
