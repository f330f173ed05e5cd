//===- Convolution.cpp - Convolutions and their transposes --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"

namespace dlc::frontend {

static void addBias(const LayerArguments &a, LayerWeights &weights) {
  if (a.flag("bias"))
    weights.add("bias", {a.size("out_channels")});
}

static void convolutionWeights(const LayerArguments &a, LayerWeights &weights) {
  llvm::SmallVector<int64_t> shape = {a.quotient("out_channels", "groups") * a.size("groups"),
                                      a.quotient("in_channels", "groups")};
  llvm::append_range(shape, a.sizes("kernel_size"));
  weights.add("weight", shape);
  addBias(a, weights);
}

static void transposedWeights(const LayerArguments &a, LayerWeights &weights) {
  llvm::SmallVector<int64_t> shape = {a.quotient("in_channels", "groups") * a.size("groups"),
                                      a.quotient("out_channels", "groups")};
  llvm::append_range(shape, a.sizes("kernel_size"));
  weights.add("weight", shape);
  addBias(a, weights);
}

std::vector<LayerKind> convolutionLayers() {
  return {
      {.name = "Conv1d",
       .function = "conv1d",
       .schema = "(int in_channels, int out_channels, int[1] kernel_size, int[1] stride=1, int[1] "
                 "padding=0, int[1] dilation=1, int groups=1, bool bias=True, str "
                 "padding_mode='zeros')",
       .weights = convolutionWeights},
      {.name = "Conv2d",
       .function = "conv2d",
       .schema = "(int in_channels, int out_channels, int[2] kernel_size, int[2] stride=1, int[2] "
                 "padding=0, int[2] dilation=1, int groups=1, bool bias=True, str "
                 "padding_mode='zeros')",
       .weights = convolutionWeights},
      {.name = "Conv3d",
       .function = "conv3d",
       .schema = "(int in_channels, int out_channels, int[3] kernel_size, int[3] stride=1, int[3] "
                 "padding=0, int[3] dilation=1, int groups=1, bool bias=True, str "
                 "padding_mode='zeros')",
       .weights = convolutionWeights},
      {.name = "ConvTranspose1d",
       .function = "conv_transpose1d",
       .schema = "(int in_channels, int out_channels, int[1] kernel_size, int[1] stride=1, int[1] "
                 "padding=0, int[1] output_padding=0, int groups=1, bool bias=True, int[1] "
                 "dilation=1, str padding_mode='zeros')",
       .weights = transposedWeights},
      {.name = "ConvTranspose2d",
       .function = "conv_transpose2d",
       .schema = "(int in_channels, int out_channels, int[2] kernel_size, int[2] stride=1, int[2] "
                 "padding=0, int[2] output_padding=0, int groups=1, bool bias=True, int[2] "
                 "dilation=1, str padding_mode='zeros')",
       .weights = transposedWeights},
      {.name = "ConvTranspose3d",
       .function = "conv_transpose3d",
       .schema = "(int in_channels, int out_channels, int[3] kernel_size, int[3] stride=1, int[3] "
                 "padding=0, int[3] output_padding=0, int groups=1, bool bias=True, int[3] "
                 "dilation=1, str padding_mode='zeros')",
       .weights = transposedWeights},
  };
}

} // namespace dlc::frontend
