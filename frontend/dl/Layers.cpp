//===- Layers.cpp - Layers and the parameters that they own ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Layers.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace dlc::frontend {

using Shape = SmallVector<int64_t>;
using Args = LayerArguments;

static const std::vector<LayerWeight> kFeatures = {
    {"weight", [](const Args &a) { return Shape{a.size("num_features")}; }, "affine"},
    {"bias", [](const Args &a) { return Shape{a.size("num_features")}; }, "affine"},
    {"running_mean", [](const Args &a) { return Shape{a.size("num_features")}; }},
    {"running_var", [](const Args &a) { return Shape{a.size("num_features")}; }},
};
static constexpr StringRef kBatchNormSchema =
    "(int num_features, float eps=1e-05, float momentum=0.1, bool affine=True, bool "
    "track_running_stats=True)";

ArrayRef<LayerKind> layerKinds() {
  static const std::vector<LayerKind> kinds = {
      {"Conv2d",
       "conv2d",
       "(int in_channels, int out_channels, int[2] kernel_size, int[2] stride=1, int[2] padding=0, "
       "int[2] dilation=1, "
       "int groups=1, bool bias=True, str padding_mode='zeros')",
       {{"weight",
         [](const Args &a) {
           return Shape{a.size("out_channels"), a.size("in_channels") / a.size("groups"),
                        a.size("kernel_size", 0), a.size("kernel_size", 1)};
         }},
        {"bias", [](const Args &a) { return Shape{a.size("out_channels")}; }, "bias"}}},
      {"Linear",
       "linear",
       "(int in_features, int out_features, bool bias=True)",
       {{"weight",
         [](const Args &a) { return Shape{a.size("out_features"), a.size("in_features")}; }},
        {"bias", [](const Args &a) { return Shape{a.size("out_features")}; }, "bias"}}},
      {"BatchNorm1d",
       "batch_norm",
       kBatchNormSchema,
       kFeatures,
       {"momentum"},
       {"num_batches_tracked"}},
      {"BatchNorm2d",
       "batch_norm",
       kBatchNormSchema,
       kFeatures,
       {"momentum"},
       {"num_batches_tracked"}},
      {"MaxPool2d", "max_pool2d",
       "(int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool "
       "return_indices=False, "
       "bool ceil_mode=False)"},
      {"AvgPool2d", "avg_pool2d"},
      {"Flatten", "flatten", "(int start_dim=1, int end_dim=-1)"},
      {"Dropout", "dropout", "(float p=0.5, bool inplace=False)", {}, {"inplace"}},
      {"Dropout2d", "dropout", "(float p=0.5, bool inplace=False)", {}, {"inplace"}},
      {"ReLU", "relu", "(bool inplace=False)", {}, {"inplace"}},
      {"GELU", "gelu"},
      {"Sigmoid", "sigmoid"},
      {"Tanh", "tanh"},
      {"Softmax", "softmax"},
      {"LogSoftmax", "log_softmax"},
  };
  return kinds;
}

const LayerKind *findLayer(StringRef name) {
  auto kind = find_if(layerKinds(), [&](const LayerKind &kind) { return kind.name == name; });
  return kind == layerKinds().end() ? nullptr : &*kind;
}

const std::optional<Item> &LayerArguments::get(StringRef name, const Param *&param) const {
  read.insert(name);
  param = find_if(params, [&](const Param &param) { return param.name == name; });
  assert(param != params.end() && "the table of layers names an argument that its schema has not");
  return bound[param - params.begin()];
}

int64_t LayerArguments::size(StringRef name, unsigned element) const {
  const Param *param;
  const std::optional<Item> &item = get(name, param);
  int64_t value = 1;
  if (!item)
    param->defaultValue.getAsInteger(10, value);
  else
    value = item->is<Item::List>() ? item->as<Item::List>()[element].as<int64_t>()
                                   : item->as<int64_t>();
  if (value >= 1)
    return value;
  problem = BindError{item ? item->loc : SMLoc(),
                      (name + " is " + Twine(value) + "; expected at least 1").str()};
  return 1;
}

bool LayerArguments::flag(StringRef name) const {
  const Param *param;
  const std::optional<Item> &item = get(name, param);
  return item ? item->as<bool>() : param->defaultValue == "True";
}

} // namespace dlc::frontend
