//===- Shape.cpp - Layers that move elements ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"
#include "frontend/dl/lower/LayerCalls.h"

using namespace mlir;

namespace dlc::frontend {

/// `pad` holds the widths of the last dim first, as the layers' arguments do.
static LayerKind padding(llvm::StringRef name, llvm::StringRef schema, llvm::StringRef mode,
                         std::vector<int64_t> ranks) {
  return {.name = name,
          .function = "pad",
          .schema = schema,
          .passes = {{"pad", "padding"}, {"mode", mode}},
          .ranks = std::move(ranks)};
}

/// The groups of channels become the fastest of them.
static Item channelShuffle(LayerCall &call) {
  Item x = call.first();
  dl::Dims dims = dl::getDims(x.tensorType()), apart = dims;
  int64_t groups = call.arguments.size("groups");
  AffineExpr count = dl::constantDim(groups, x.tensorType().getContext());
  apart[1] = dl::normalize(dims[1].floorDiv(groups));
  apart.insert(apart.begin() + 1, count);
  Item turned = call.function(
      "transpose", {call.reshape(x, apart), {int64_t(1), call.loc}, {int64_t(2), call.loc}}, {});
  return turned.isTensor() ? call.reshape(turned, dims) : turned;
}

std::vector<LayerKind> shapeLayers() {
  static constexpr llvm::StringRef k1d = "(int[2] padding)", k2d = "(int[4] padding)",
                                   k3d = "(int[6] padding)";
  return {
      {.name = "Flatten", .function = "flatten", .schema = "(int start_dim=1, int end_dim=-1)"},
      {.name = "Unflatten",
       .function = "unflatten",
       .schema = "(int dim, SymInt[] unflattened_size)",
       .passes = {{"sizes", "unflattened_size"}}},
      padding("ZeroPad2d", k2d, "'constant'", {}),
      {.name = "ConstantPad1d",
       .function = "pad",
       .schema = "(int[2] padding, float value)",
       .passes = {{"pad", "padding"}}},
      {.name = "ConstantPad2d",
       .function = "pad",
       .schema = "(int[4] padding, float value)",
       .passes = {{"pad", "padding"}}},
      {.name = "ConstantPad3d",
       .function = "pad",
       .schema = "(int[6] padding, float value)",
       .passes = {{"pad", "padding"}}},
      padding("ReflectionPad1d", k1d, "'reflect'", {2, 3}),
      padding("ReflectionPad2d", k2d, "'reflect'", {3, 4}),
      padding("ReflectionPad3d", k3d, "'reflect'", {4, 5}),
      padding("ReplicationPad1d", k1d, "'replicate'", {2, 3}),
      padding("ReplicationPad2d", k2d, "'replicate'", {3, 4}),
      padding("ReplicationPad3d", k3d, "'replicate'", {4, 5}),
      {.name = "Unfold",
       .function = "unfold",
       .schema = "(int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1)"},
      {.name = "Fold",
       .function = "fold",
       .schema = "(SymInt[] output_size, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, "
                 "int[2] stride=1)"},
      {.name = "PixelShuffle", .function = "pixel_shuffle", .schema = "(int upscale_factor)"},
      {.name = "PixelUnshuffle", .function = "pixel_unshuffle", .schema = "(int downscale_factor)"},
      {.name = "ChannelShuffle",
       .function = "reshape",
       .schema = "(int groups)",
       .weights = [](const LayerArguments &a, LayerWeights &) { a.size("groups"); },
       .ranks = {3, 4, 5},
       .build = channelShuffle},
  };
}

} // namespace dlc::frontend
