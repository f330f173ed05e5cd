//===- LayerCalls.cpp - Calls of layers in forward ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/LayerCalls.h"

#include "frontend/dl/lower/TorchCalls.h"
#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc::frontend {

//===- One call -------------------------------------------------------------------------------===//

Type floatDtype(const Item &item) {
  if (item.isTensor() && isa<FloatType>(item.tensorType().getElementType()))
    return item.tensorType().getElementType();
  if (item.is<Item::List>())
    for (const Item &element : item.as<Item::List>())
      if (Type dtype = floatDtype(element))
        return dtype;
  return {};
}

LayerCall::LayerCall(LayerCalls &calls, const Layer &layer, const Signature &forward,
                     const BoundArguments &bound, llvm::SMLoc loc)
    : arguments(layer.params, layer.arguments), loc(loc), calls(calls), layer(layer),
      forward(forward), inputs(bound) {
  for (const std::optional<Item> &item : bound)
    if (item && !dtype)
      dtype = floatDtype(*item);
}

Item LayerCall::input(StringRef name) const {
  for (auto [param, item] : llvm::zip(forward.params, inputs))
    if (param.name == name)
      return item ? *item : Item{Item::None(), loc};
  llvm_unreachable("a kind of layer asks for an input that its 'call' has not");
}

Item::List LayerCall::weights(StringRef parameter) const {
  Item::List list;
  for (const Parameter &weight : layer.weights) {
    if (weight.parameter != parameter)
      continue;
    Value value = calls.weightOf(weight);
    Type stored = cast<RankedTensorType>(value.getType()).getElementType();
    // A layer computes in the dtype of its input; the cast of the weight is done once, when the
    // model is loaded.
    if (dtype && isa<FloatType>(stored))
      value = calls.functions.emitter.cast(calls.diagnostics.translate(loc), value, dtype);
    list.push_back({value, loc});
  }
  return list;
}

Item LayerCall::weight(StringRef parameter) const {
  Item::List list = weights(parameter);
  assert(list.size() <= 1 && "one of several weights");
  return list.empty() ? Item{Item::None(), loc} : list.front();
}

/// What the layer passes for a parameter of its function; nothing where the function's default
/// holds.
std::optional<Item> LayerCall::passed(const Param &param, bool &isFirstPassed) const {
  if (param.type == Param::tensor || param.type == Param::tensors) {
    Item::List list = weights(param.name);
    if (!list.empty())
      return param.type == Param::tensors ? Item{std::move(list), loc} : list.front();
    if (!std::exchange(isFirstPassed, true))
      return first();
    for (auto [other, item] : llvm::zip(forward.params, inputs))
      if (other.name == param.name)
        return item;
    return std::nullopt;
  }
  StringRef name = param.name, none;
  for (const Passing &pass : layer.kind->passes)
    if (pass.parameter == param.name) {
      if (auto constant = literal(pass.from))
        return constant;
      name = pass.from;
      none = pass.none;
    }
  for (auto [other, item] : llvm::zip(layer.params, layer.arguments)) {
    if (other.name != name)
      continue;
    if (item && item->is<Item::None>() && !none.empty())
      return literal(none);
    if (item || other.defaultValue == param.defaultValue)
      return item;
    Item value = defaultItem(other); // Flatten(start_dim=1), flatten(start_dim=0)
    return value.is<Item::None>() ? std::optional<Item>() : value;
  }
  return std::nullopt;
}

Item LayerCall::functionOfLayer() const {
  SmallVector<FunctionCalls::Named> named;
  bool isFirstPassed = false; // the first input is for the first tensor that is no weight
  auto ways = waysOfCalling(functionSignatures(layer.kind->function), /*isMethod=*/false);
  for (const Param &param : ways.front()->params)
    if (auto item = passed(param, isFirstPassed))
      named.push_back({param.name, *item});
  return function(layer.kind->function, {}, named);
}

Item LayerCall::reshape(const Item &x, ArrayRef<AffineExpr> dims) const {
  Item::List shape;
  for (AffineExpr dim : dims)
    shape.push_back(Item::dim(dim, loc));
  return function("reshape", x, FunctionCalls::Named{"shape", Item{std::move(shape), loc}});
}

//===- Calls ----------------------------------------------------------------------------------===//

/// What is wrong with the inputs of a call, whose number and types are right.
static std::optional<BindError> check(const LayerKind &kind, StringRef name, llvm::SMLoc loc,
                                      const Signature &forward, const BoundArguments &bound,
                                      dl::SymbolNames names) {
  for (auto [param, item] : llvm::zip(forward.params, bound))
    if (item && param.type == Param::tensor && !item->isTensor())
      return BindError{item->loc, "argument " + quote(param.name) + " of " + quote(name) + " is " +
                                      describe(*item, names) + "; expected a tensor"};
  if (kind.ranks.empty() || llvm::is_contained(kind.ranks, bound.front()->tensorType().getRank()))
    return std::nullopt;
  std::string ranks;
  for (int64_t rank : kind.ranks)
    ranks += (ranks.empty() ? "" : " or ") + std::to_string(rank);
  return BindError{loc, quote(kind.name) + " takes a tensor of " + ranks + " dims, got " +
                            dl::text(bound.front()->as<Value>())};
}

Item LayerCalls::call(const Layer &layer, StringRef name, llvm::SMLoc loc,
                      ArrayRef<PassedArgument> arguments) {
  Signature forward = parseSignature("", layer.kind->call);
  auto bound = bindArguments(name, loc, forward.params, arguments, diagnostics.module);
  std::optional<BindError> problem;
  if (auto *bindError = std::get_if<BindError>(&bound))
    problem = std::move(*bindError);
  else
    problem =
        check(*layer.kind, name, loc, forward, std::get<BoundArguments>(bound), diagnostics.module);
  if (problem) {
    diagnostics.error(problem->loc)
            .append(problem->message)
            .attachNote(diagnostics.translate(layer.decl->path.loc))
        << "declared here";
    return {Item::Poison(), loc};
  }
  LayerCall call(*this, layer, forward, std::get<BoundArguments>(bound), loc);
  return layer.kind->build ? layer.kind->build(call) : call.functionOfLayer();
}

} // namespace dlc::frontend
