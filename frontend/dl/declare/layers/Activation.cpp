//===- Activation.cpp - Activations, softmax and dropout ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"
#include "frontend/dl/lower/LayerCalls.h"

namespace dlc::frontend {

/// A function without arguments of its own.
static LayerKind plain(llvm::StringRef name, llvm::StringRef function) {
  return {.name = name, .function = function};
}

/// A function whose layer may be told to work in place, which changes nothing here.
static LayerKind inPlace(llvm::StringRef name, llvm::StringRef function, llvm::StringRef schema) {
  return {.name = name, .function = function, .schema = schema, .ignored = {"inplace"}};
}

std::vector<LayerKind> activationLayers() {
  static constexpr llvm::StringRef kInPlace = "(bool inplace=False)",
                                   kDropout = "(float p=0.5, bool inplace=False)",
                                   kSoftmax = "(int dim)";
  return {
      inPlace("ReLU", "relu", kInPlace),
      inPlace("ReLU6", "relu6", kInPlace),
      inPlace("LeakyReLU", "leaky_relu", "(float negative_slope=0.01, bool inplace=False)"),
      inPlace("RReLU", "rrelu",
              "(float lower=0.125, float upper=0.3333333333333333, bool inplace=False)"),
      {.name = "PReLU",
       .function = "prelu",
       .schema = "(int num_parameters=1, float init=0.25)",
       .weights = [](const LayerArguments &a,
                     LayerWeights &weights) { weights.add("weight", {a.size("num_parameters")}); },
       .ignored = {"init"}},
      inPlace("ELU", "elu", "(float alpha=1.0, bool inplace=False)"),
      inPlace("SELU", "selu", kInPlace),
      inPlace("CELU", "celu", "(float alpha=1.0, bool inplace=False)"),
      {.name = "GELU", .function = "gelu", .schema = "(str approximate='none')"},
      inPlace("SiLU", "silu", kInPlace),
      inPlace("Mish", "mish", kInPlace),
      inPlace("Hardswish", "hardswish", kInPlace),
      inPlace("Hardsigmoid", "hardsigmoid", kInPlace),
      inPlace("Hardtanh", "hardtanh",
              "(float min_val=-1.0, float max_val=1.0, bool inplace=False)"),
      {.name = "Softplus",
       .function = "softplus",
       .schema = "(float beta=1.0, float threshold=20.0)"},
      plain("Softsign", "softsign"),
      plain("Sigmoid", "sigmoid"),
      plain("LogSigmoid", "logsigmoid"),
      plain("Tanh", "tanh"),
      plain("Tanhshrink", "tanhshrink"),
      {.name = "Softshrink", .function = "softshrink", .schema = "(float lambd=0.5)"},
      {.name = "Hardshrink", .function = "hardshrink", .schema = "(float lambd=0.5)"},
      inPlace("Threshold", "threshold", "(float threshold, float value, bool inplace=False)"),
      {.name = "GLU", .function = "glu", .schema = "(int dim=-1)"},
      {.name = "Softmax", .function = "softmax", .schema = kSoftmax},
      {.name = "LogSoftmax", .function = "log_softmax", .schema = kSoftmax},
      {.name = "Softmin",
       .function = "softmax",
       .schema = kSoftmax,
       .build =
           [](LayerCall &call) {
             return call.function("softmax", call.function("neg", call.first(), {}),
                                  FunctionCalls::Named{"dim", call.arguments.get("dim")});
           }},
      {.name = "Softmax2d",
       .function = "softmax",
       .schema = "()",
       .passes = {{"dim", "-3"}},
       .ranks = {3, 4}},
      inPlace("Dropout", "dropout", kDropout),
      inPlace("Dropout1d", "dropout1d", kDropout),
      inPlace("Dropout2d", "dropout2d", kDropout),
      inPlace("Dropout3d", "dropout3d", kDropout),
      inPlace("AlphaDropout", "alpha_dropout", kDropout),
  };
}

} // namespace dlc::frontend
