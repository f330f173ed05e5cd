//===- KerasCall.cpp - One layer of a sequential model while it is built ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/keras/KerasCall.h"

#include "frontend/Spelling.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace dlc::frontend {

Item KerasCall::error(const Twine &message) {
  if (!failed())
    functions.diagnostics.error(loc) << message;
  flow.tensor = {Item::Poison(), loc};
  return flow.tensor;
}

//===- The tensor -----------------------------------------------------------------------------===//

/// [N, ..., C] to [N, C, ...], or back.
Item KerasCall::turned(const KerasFlow &from, bool toFirst) {
  if (failed() || !from.hasChannelsLast || from.isTurned == toFirst)
    return from.tensor;
  int64_t rank = from.tensor.tensorType().getRank();
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::rotate(order.begin() + 1, toFirst ? order.end() - 1 : order.begin() + 2, order.end());
  return permute(from.tensor, order);
}

Item KerasCall::logical() { return turned(flow, false); }

SmallVector<Item> KerasCall::merged(bool &areTurned) {
  areTurned = llvm::all_of(operands, [](const KerasFlow &one) { return one.isTurned; });
  SmallVector<Item> tensors;
  for (const KerasFlow &one : operands)
    tensors.push_back(turned(one, areTurned));
  return tensors;
}

void KerasCall::giveMerged(Item tensor, bool isTurned) {
  flow.tensor = std::move(tensor);
  flow.isTurned = isTurned;
}

Item KerasCall::channelsFirst(unsigned spatial) {
  if (failed())
    return flow.tensor;
  if (flow.tensor.tensorType().getRank() != spatial + 2)
    return error(quote(kind) + " takes a tensor of " + Twine(spatial + 2) + " dims, got " +
                 dl::text(logical().as<Value>()));
  return turned(flow, true);
}

void KerasCall::give(Item logical) {
  flow.tensor = std::move(logical);
  flow.isTurned = false;
}

void KerasCall::giveChannelsFirst(Item tensor) {
  flow.tensor = std::move(tensor);
  flow.isTurned = flow.hasChannelsLast;
}

void KerasCall::map(StringRef callee, ArrayRef<Named> named) {
  flow.tensor = function(callee, flow.tensor, named);
}

void KerasCall::activate(StringRef activation) {
  static constexpr std::pair<StringRef, StringRef> kFunctions[] = {
      {"relu", "relu"},
      {"sigmoid", "sigmoid"},
      {"tanh", "tanh"},
      {"softplus", "softplus"},
      {"softsign", "softsign"},
      {"elu", "elu"},
      {"selu", "selu"},
      {"gelu", "gelu"},
      {"swish", "silu"},
      {"silu", "silu"},
      {"mish", "mish"},
      {"exponential", "exp"},
      {"relu6", "relu6"},
      {"hard_sigmoid", "hardsigmoid"},
      {"hard_swish", "hardswish"},
      {"hard_silu", "hardswish"},
  };
  if (failed() || activation == "linear")
    return;
  if (activation == "softmax" || activation == "log_softmax")
    return give(function(activation, logical(), Named{"dim", number(-1)}));
  if (activation == "leaky_relu")
    return map("leaky_relu", Named{"negative_slope", Item{0.2, loc}});
  SmallVector<StringRef> known = {"linear", "softmax", "log_softmax", "leaky_relu"};
  for (auto [name, callee] : kFunctions) {
    if (name == activation)
      return map(callee);
    known.push_back(name);
  }
  error("unknown activation " + quote(activation) +
        (nearest(activation, known) ? didYouMean(activation, known)
                                    : "; expected one of " + llvm::join(known, ", ")));
}

void KerasCall::activate() {
  if (!arguments.isNone("activation"))
    activate(textOf("activation"));
}

int64_t KerasCall::staticSize(const Item &tensor, int64_t dim) {
  if (tensor.is<Item::Poison>())
    return 1;
  AffineExpr size = dims(tensor)[dim];
  if (auto constant = dl::asConstant(size))
    return std::max<int64_t>(*constant, 1);
  error(quote(kind) + " needs a number where its input has the dim " +
        dl::text(size, tensor.as<Value>()) + "; declare the input with one");
  return 1;
}

//===- Ops ------------------------------------------------------------------------------------===//

Item KerasCall::weight(StringRef leaf, Shape shape) {
  if (failed())
    return flow.tensor;
  Value value = makeWeight(leaf, std::move(shape));
  if (failed())
    return flow.tensor;
  Type dtype = flow.tensor.tensorType().getElementType();
  if (isa<FloatType>(dtype) &&
      isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType()))
    value = functions.emitter.cast(functions.diagnostics.translate(loc), value, dtype);
  return {value, loc};
}

Item KerasCall::weightIf(StringRef flag, StringRef leaf, Shape shape) {
  return arguments.flag(flag) ? weight(leaf, std::move(shape)) : Item{Item::None(), loc};
}

Item KerasCall::function(StringRef callee, ArrayRef<Item> positional, ArrayRef<Named> named) {
  Item result = functions.call(callee, loc, positional, named);
  if (result.is<Item::Poison>())
    flow.tensor = result;
  return result;
}

Item KerasCall::permute(const Item &tensor, ArrayRef<int64_t> order) {
  return function("permute", tensor, Named{"dims", list(order)});
}

Item KerasCall::reshape(const Item &tensor, ArrayRef<AffineExpr> dims) {
  Item::List shape;
  for (AffineExpr dim : dims)
    shape.push_back(Item::dim(dim, loc));
  return function("reshape", tensor, Named{"shape", Item{std::move(shape), loc}});
}

Item KerasCall::full(double number, Shape shape) {
  if (failed())
    return flow.tensor;
  auto type = RankedTensorType::get(shape, flow.tensor.tensorType().getElementType());
  return {functions.emitter.full(functions.diagnostics.translate(loc), Item{number, loc}, type),
          loc};
}

Item KerasCall::list(ArrayRef<int64_t> values) const {
  Item::List items;
  for (int64_t value : values)
    items.push_back(number(value));
  return {std::move(items), loc};
}

std::string KerasCall::textOf(StringRef argument) const {
  return arguments.get(argument).as<std::string>();
}

} // namespace dlc::frontend
