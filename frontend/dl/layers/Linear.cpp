//===- Linear.cpp - Layers that are one product ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/layers/Families.h"

namespace dlc::frontend {

static void linearWeights(const LayerArguments &a, LayerWeights &weights) {
  weights.add("weight", {a.size("out_features"), a.size("in_features")});
  if (a.flag("bias"))
    weights.add("bias", {a.size("out_features")});
}

std::vector<LayerKind> linearLayers() {
  return {
      {.name = "Linear",
       .function = "linear",
       .schema = "(int in_features, int out_features, bool bias=True)",
       .weights = linearWeights},
  };
}

} // namespace dlc::frontend
