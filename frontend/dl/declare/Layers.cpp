//===- Layers.cpp - Layers and the parameters that they own -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/Layers.h"

#include "frontend/dl/declare/layers/Families.h"
#include "frontend/dl/library/Library.h"
#include "frontend/dl/lower/TorchCalls.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace dlc::frontend {

static std::vector<LayerKind> buildTable() {
  std::vector<LayerKind> all;
  for (auto family :
       {linearLayers, convolutionLayers, normalizationLayers, poolingLayers, activationLayers,
        shapeLayers, distanceLayers, embeddingLayers, recurrentLayers, attentionLayers, lossLayers})
    for (LayerKind &kind : family()) {
      assert(!functionSignatures(kind.function).empty() &&
             "a layer calls a function that does not exist");
      all.push_back(std::move(kind));
    }
  return all;
}

ArrayRef<LayerKind> layerKinds() {
  static const std::vector<LayerKind> kinds = buildTable();
  return kinds;
}

const LayerKind *findLayer(StringRef name) {
  auto kind = find_if(layerKinds(), [&](const LayerKind &kind) { return kind.name == name; });
  return kind == layerKinds().end() ? nullptr : &*kind;
}

std::vector<Param> layerParams(const LayerKind &kind) {
  auto params = parseSignature("", kind.schema).params;
  return {params.begin(), params.end()};
}

/// Whether what was passed is the default, in what it says.
static bool isDefault(const Param &param, const Item &item) {
  Item other = defaultItem(param);
  return (item.is<bool>() && other.is<bool>() && item.as<bool>() == other.as<bool>()) ||
         (item.is<std::string>() && other.is<std::string>() &&
          item.as<std::string>() == other.as<std::string>());
}

/// Whether the function of the layer takes the parameter `name`, and more than one constant for it.
static bool takesArgument(StringRef function, StringRef name) {
  auto isNamed = [&](const Param &param) { return param.name == name; };
  auto ways = waysOfCalling(functionSignatures(function), /*isMethod=*/false);
  auto param = find_if(ways.front()->params, isNamed);
  if (param == ways.front()->params.end() || param->type == Param::tensor)
    return false;
  return param->type != Param::fixed || any_of(drop_begin(ways), [&](const Signature *way) {
           return any_of(way->params, isNamed);
         });
}

std::variant<std::vector<LayerWeight>, BindError> weightsOf(const LayerKind &kind,
                                                            ArrayRef<Param> params,
                                                            const BoundArguments &bound,
                                                            dl::SymbolNames names) {
  LayerArguments arguments(params, bound);
  LayerWeights weights;
  if (kind.weights)
    kind.weights(arguments, weights);
  if (arguments.problem)
    return *arguments.problem;
  if (kind.build)
    return std::move(weights.all);
  // What neither shapes a weight nor reaches the function must be as if it were not there.
  for (auto [param, item] : zip(params, bound)) {
    bool reaches = takesArgument(kind.function, param.name);
    reaches |= any_of(kind.passes, [&](const Passing &pass) { return pass.from == param.name; });
    if (item && !reaches && !arguments.read.contains(param.name) &&
        !is_contained(kind.ignored, param.name) && !isDefault(param, *item))
      return BindError{item->loc, quote(kind.name) + " is supported with " + param.name.str() +
                                      "=" + param.defaultValue.str() + " alone, got " +
                                      describe(*item, names)};
  }
  return std::move(weights.all);
}

//===- Arguments ------------------------------------------------------------------------------===//

Item LayerArguments::get(StringRef name) const {
  read.insert(name);
  auto param = find_if(params, [&](const Param &param) { return param.name == name; });
  assert(param != params.end() && "the table of layers names an argument that its schema has not");
  const std::optional<Item> &item = bound[param - params.begin()];
  return item ? *item : defaultItem(*param);
}

void LayerArguments::refuse(StringRef name, const Twine &message) const {
  if (!problem)
    problem = BindError{get(name).loc, message.str()};
}

int64_t LayerArguments::checked(StringRef name, const Item &item) const {
  int64_t value = item.as<int64_t>();
  if (value >= 1)
    return value;
  refuse(name, name + " is " + Twine(value) + "; expected at least 1");
  return 1;
}

int64_t LayerArguments::size(StringRef name, unsigned element) const {
  Item item = get(name);
  return checked(name, item.is<Item::List>() ? item.as<Item::List>()[element] : item);
}

SmallVector<int64_t> LayerArguments::sizes(StringRef name) const {
  SmallVector<int64_t> sizes;
  Item list = get(name);
  for (const Item &item : list.as<Item::List>())
    sizes.push_back(checked(name, item));
  return sizes;
}

int64_t LayerArguments::quotient(StringRef name, StringRef by) const {
  int64_t value = size(name), divisor = size(by);
  if (value % divisor != 0)
    refuse(name, name + " is " + Twine(value) + "; expected a multiple of " + by + ", which is " +
                     Twine(divisor));
  return std::max<int64_t>(value / divisor, 1);
}

} // namespace dlc::frontend
