//===- Linear.cpp - Layers that are one product -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"
#include "frontend/dl/lower/LayerCalls.h"

namespace dlc::frontend {

static void linearWeights(const LayerArguments &a, LayerWeights &weights) {
  weights.add("weight", {a.size("out_features"), a.size("in_features")});
  if (a.flag("bias"))
    weights.add("bias", {a.size("out_features")});
}

/// x1 W x2 + b for each output: a product with x2 for each pair of output and feature of x1, then a
/// sum over the latter.
static Item bilinear(LayerCall &call) {
  Item first = call.input("input1"), weight = call.weight("weight");
  auto constant = [&](int64_t value) {
    return dl::constantDim(value, first.tensorType().getContext());
  };
  auto size = [&](llvm::StringRef name) { return constant(call.arguments.size(name)); };
  int64_t rows = call.arguments.size("out_features") * call.arguments.size("in1_features");
  Item products =
      call.function("linear", {call.input("input2"),
                               call.reshape(weight, {constant(rows), size("in2_features")})});
  if (!products.isTensor())
    return products;
  dl::Dims dims = dl::getDims(products.tensorType()), ones = dl::getDims(first.tensorType());
  dims.pop_back();
  dims.append({size("out_features"), size("in1_features")});
  ones.insert(ones.end() - 1, constant(1));
  Item sums = call.function(
      "sum", call.function("mul", {call.reshape(products, dims), call.reshape(first, ones)}),
      FunctionCalls::Named{"dim", Item{int64_t(-1), call.loc}});
  Item bias = call.weight("bias");
  return bias.is<Item::None>() ? sums : call.function("add", {sums, bias});
}

std::vector<LayerKind> linearLayers() {
  return {
      {.name = "Identity",
       .function = "dropout",
       .build = [](LayerCall &call) { return call.first(); }},
      {.name = "Bilinear",
       .function = "linear",
       .schema = "(int in1_features, int in2_features, int out_features, bool bias=True)",
       .weights =
           [](const LayerArguments &a, LayerWeights &weights) {
             weights.add("weight",
                         {a.size("out_features"), a.size("in1_features"), a.size("in2_features")});
             if (a.flag("bias"))
               weights.add("bias", {a.size("out_features")});
           },
       .call = "(Tensor input1, Tensor input2)",
       .build = bilinear},
      {.name = "Linear",
       .function = "linear",
       .schema = "(int in_features, int out_features, bool bias=True)",
       .weights = linearWeights},
  };
}

} // namespace dlc::frontend
