//===- ElaborateLayers.cpp - Layers that are no blocks ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/Elaborator.h"

#include "frontend/Spelling.h"
#include "frontend/dl/syntax/Hints.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::frontend {

void Elaborator::reportUnknown(const LayerDecl &decl) {
  StringRef name = decl.type.name;
  SmallVector<StringRef> names;
  for (const auto &entry : blocks)
    names.push_back(entry.first());
  llvm::sort(names);
  for (const LayerKind &other : layerKinds())
    names.push_back(other.name);
  auto error = diagnostics.error(decl.type.loc);
  auto isKnown = [&](StringRef other) { return llvm::is_contained(names, other); };
  if (std::string lacking = describeLacking(name, isKnown); !lacking.empty()) {
    error << lacking;
    return;
  }
  error << "unknown layer " << quote(name);
  std::string hint = hintForLayer(name, isKnown);
  if (!hint.empty()) {
    error << hint;
    return;
  }
  error << didYouMean(name, names);
  if (!nearest(name, names))
    error << "; expected a block, or one of torch.nn, such as Linear";
}

void Elaborator::addLeaf(Instance &instance, const LayerDecl &decl, StringRef name, StringRef whole,
                         ArrayRef<PassedArgument> passed, bool isPoisoned) {
  Layer layer;
  layer.path = whole;
  layer.decl = &decl;
  const LayerKind *kind = findLayer(decl.type.name);
  if (!kind && !decl.type.name.empty() && !blocks.contains(decl.type.name)) {
    if (decl.type.name == "Parameter" || decl.type.name == "Buffer")
      addParameter(layer, passed);
    else
      reportUnknown(decl);
  } else if (kind && !isPoisoned) {
    layer.params = layerParams(*kind);
    auto bound =
        bindArguments(decl.type.name, decl.type.loc, layer.params, passed, diagnostics.module);
    if (auto *problem = std::get_if<BindError>(&bound)) {
      diagnostics.error(problem->loc) << problem->message;
    } else {
      layer.kind = kind;
      layer.arguments = std::get<BoundArguments>(std::move(bound));
      addWeights(layer);
    }
  }
  note(layer);
  layer.parent = &instance;
  model.layers.insert({whole, std::move(layer)});
  addChild(instance, name, {nullptr, whole});
}

void Elaborator::note(const Layer &layer) {
  if (!diagnostics.index)
    return;
  const LayerDecl &decl = *layer.decl;
  diagnostics.mention(Mention::Kind::layer, decl.path.name, decl.path.loc,
                      [&] { return (layer.path + ": " + decl.type.name).str(); });
  LayerFacts facts{
      layer.path.str(), decl.type.name.str(), diagnostics.placeOf(decl.path.loc), {}, {}};
  for (const Parameter &weight : layer.weights)
    facts.weights.push_back(
        {weight.path, {weight.shape.begin(), weight.shape.end()}, isStatistic(weight.leaf)});
  diagnostics.index->addLayer(std::move(facts));
}

/// `Parameter(1, 1, 768, dtype=f32)`: sizes, or a list of them. Its weight has the path of the
/// layer.
void Elaborator::addParameter(Layer &layer, ArrayRef<PassedArgument> passed) {
  static const LayerKind kParameter{"Parameter", ""};
  Parameter weight{.path = layer.path.str(), .loc = layer.decl->path.loc};
  bool good = true;
  auto add = [&](const Item &item) {
    if (item.is<int64_t>() && item.as<int64_t>() >= 0) {
      weight.shape.push_back(item.as<int64_t>());
      return;
    }
    diagnostics.error(item.loc) << "a size of " << quote(layer.decl->type.name) << " is "
                                << describe(item, diagnostics.module)
                                << "; expected an integer of at least 0";
    good = false;
  };
  for (const PassedArgument &argument : passed) {
    if (argument.value.isPoison()) {
      good = false;
    } else if (argument.keyword == "dtype" && argument.value.is<Type>()) {
      weight.dtype = argument.value.as<Type>();
    } else if (!argument.keyword.empty()) {
      diagnostics.error(argument.loc)
          << quote(layer.decl->type.name) << " takes sizes and dtype, as in "
          << layer.decl->type.name << "(1, 16, dtype=f32), got " << quote(argument.keyword) << " = "
          << describe(argument.value, diagnostics.module);
      good = false;
    } else if (argument.value.is<Item::List>()) {
      llvm::for_each(argument.value.as<Item::List>(), add);
    } else {
      add(argument.value);
    }
  }
  good = good &&
         checkSize(RankedTensorType::get(weight.shape, Float32Type::get(context)), model.symbols,
                   diagnostics.translate(layer.decl->path.loc), diagnostics.module);
  if (!good)
    return;
  layer.kind = &kParameter;
  layer.weights.push_back(std::move(weight));
}

void Elaborator::addWeights(Layer &layer) {
  auto weights = weightsOf(*layer.kind, layer.params, layer.arguments, diagnostics.module);
  if (auto *problem = std::get_if<BindError>(&weights)) {
    diagnostics.error(problem->loc.isValid() ? problem->loc : layer.decl->type.loc)
        << problem->message;
    layer.kind = nullptr;
    return;
  }
  for (LayerWeight &weight : std::get<0>(weights))
    layer.weights.push_back({.path = (layer.path + "." + weight.leaf).str(),
                             .leaf = weight.leaf,
                             .parameter = std::move(weight.parameter),
                             .shape = std::move(weight.shape),
                             .loc = layer.decl->path.loc});
  for (StringRef leaf : layer.kind->trainingState)
    model.trainingState.push_back((layer.path + "." + leaf).str());
  for (const Parameter &weight : layer.weights)
    if (!checkSize(RankedTensorType::get(weight.shape, Float32Type::get(context)), model.symbols,
                   diagnostics.translate(weight.loc), diagnostics.module))
      layer.kind = nullptr;
}

} // namespace dlc::frontend
