//===- Normalization.cpp - Batch, layer, group, instance and RMS norm ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/layers/Families.h"

namespace dlc::frontend {

static constexpr llvm::StringRef kBatchNormSchema =
    "(int num_features, float eps=1e-05, float momentum=0.1, bool affine=True, bool "
    "track_running_stats=True)";
static constexpr llvm::StringRef kInstanceNormSchema =
    "(int num_features, float eps=1e-05, float momentum=0.1, bool affine=False, bool "
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
}

static LayerKind batchNorm(llvm::StringRef name, std::vector<int64_t> ranks) {
  return {.name = name,
          .function = "batch_norm",
          .schema = kBatchNormSchema,
          .weights = batchNormWeights,
          .ignored = {"momentum"},
          .trainingState = {"num_batches_tracked"},
          .ranks = std::move(ranks)};
}

static LayerKind instanceNorm(llvm::StringRef name, std::vector<int64_t> ranks) {
  return {.name = name,
          .function = "instance_norm",
          .schema = kInstanceNormSchema,
          .weights = instanceNormWeights,
          .ignored = {"momentum", "num_features"},
          .ranks = std::move(ranks)};
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
      instanceNorm("InstanceNorm1d", {3}),
      instanceNorm("InstanceNorm2d", {4}),
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
