//===- LayerCalls.cpp - Calls of layers in forward -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/LayerCalls.h"

#include "ir/dl/DLOps.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::frontend {

/// The default of a layer's argument, where it differs from the function's.
static Item defaultOf(const Param &param, llvm::SMLoc loc) {
  int64_t value;
  bool isInteger = llvm::to_integer(param.defaultValue, value, 10);
  assert(isInteger && "the defaults of layers differ in integers alone so far");
  (void)isInteger;
  return {value, loc};
}

Item LayerCalls::call(const Layer &layer, StringRef name, llvm::SMLoc loc,
                      ArrayRef<PassedArgument> arguments) {
  if (arguments.size() != 1 || !(arguments[0].keyword.empty() || arguments[0].keyword == "input") ||
      !arguments[0].value.isTensor()) {
    diagnostics.error(loc)
            .append("layer ", quote(name), " takes one tensor, got ",
                    arguments.size() == 1 ? describe(arguments[0].value)
                                          : std::to_string(arguments.size()) + " arguments")
            .attachNote(diagnostics.translate(layer.decl->path.loc))
        << "declared here";
    return {Item::Poison(), loc};
  }
  const Signature &signature = *signaturesOf(layer.kind->function).front();
  BoundArguments bound(signature.params.size());
  bound[0] = arguments[0].value;
  for (auto [param, item] : llvm::zip(signature.params, bound)) {
    for (const Parameter &weight : layer.weights)
      if (param.type == Param::tensor && weight.leaf == param.name)
        item = Item{weightOf(weight), loc};
    for (auto [layerParam, value] : llvm::zip(layer.params, layer.arguments))
      if (layerParam.name != param.name || param.type == Param::tensor)
        continue;
      else if (value)
        item = value;
      else if (layerParam.defaultValue !=
               param.defaultValue) // Flatten(start_dim=1), flatten(start_dim=0)
        item = defaultOf(layerParam, loc);
  }
  return emitter.emit(diagnostics.translate(loc), signature, bound).at(loc);
}

Value LayerCalls::weightOf(const Parameter &parameter) {
  Value &value = weightValues[parameter.path];
  if (value)
    return value;
  auto bound = weights.find(parameter.path);
  BoundWeight weight =
      bound == weights.end() ? BoundWeight{builder.getF32Type(), "", 0, ""} : bound->second;
  // Weights stand in front of all other ops, in the order of their first use.
  OpBuilder::InsertionGuard guard(builder);
  if (lastWeight)
    builder.setInsertionPointAfter(lastWeight);
  else
    builder.setInsertionPointToStart(builder.getInsertionBlock());
  value = dl::WeightOp::create(
      builder, diagnostics.translate(parameter.loc),
      RankedTensorType::get(parameter.shape, weight.dtype), builder.getStringAttr(parameter.path),
      weight.file.empty() ? StringAttr() : builder.getStringAttr(weight.file),
      builder.getI64IntegerAttr(weight.offset), builder.getStringAttr(weight.hash));
  lastWeight = value.getDefiningOp();
  return value;
}

} // namespace dlc::frontend
