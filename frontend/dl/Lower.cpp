//===- Lower.cpp - A model's forward to a dl function ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Lower.h"

#include "frontend/dl/ForwardLowering.h"
#include "frontend/dl/Spelling.h"
#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::frontend {

//===- Names --------------------------------------------------------------------------------------===//

Item ForwardLowering::evaluateName(const NameExpr &expr) {
  auto value = values.find(expr.name);
  if (value != values.end()) {
    value->second.isUsed = true;
    mentionValue(expr.name, value->second);
    return value->second.item;
  }
  if (scope.names.contains(expr.name) || dtypeOf(expr.name, context))
    return Evaluator::evaluateName(expr);
  if (model.layers.contains(expr.name)) {
    diagnostics.error(expr.loc) << quote(expr.name) << " is a layer, not a value; call it, as in "
                                << expr.name << "(x)";
    return poison(expr.loc);
  }
  SmallVector<StringRef> known;
  for (const auto &entry : values)
    known.push_back(entry.first);
  for (const auto &entry : scope.names)
    known.push_back(entry.first);
  diagnostics.error(expr.loc) << "unknown value " << quote(expr.name)
                              << didYouMean(expr.name, known);
  return poison(expr.loc);
}

void ForwardLowering::mentionValue(StringRef name, const Binding &binding) {
  diagnostics.mention(Mention::Kind::value, name, binding.loc, [&] {
    return (name + ": " +
            (binding.item.isTensor() ? dl::text(binding.item.tensorType())
                                     : describe(binding.item)))
        .str();
  });
}

void ForwardLowering::mentionCall(StringRef name, const Layer &layer, const Item &result) {
  if (!diagnostics.index)
    return;
  diagnostics.mention(Mention::Kind::layer, name, layer.decl->path.loc,
                      [&] { return (name + ": " + layer.decl->type.name).str(); });
  if (LayerFacts *facts = diagnostics.index->findLayer(layer.decl->path.name);
      facts && result.isTensor())
    facts->outputs.push_back(dl::text(result.tensorType()));
}

void ForwardLowering::noteUnused(StringRef name, const Binding &binding) {
  if (!binding.isUsed && !name.starts_with("_"))
    unused.push_back({name, binding.loc});
}

void ForwardLowering::assign(const Identifier &target, Item item) {
  if (target.name.contains('.')) {
    diagnostics.error(target.loc) << "a value has a name without dots, got " << quote(target.name);
    return;
  }
  auto declared = scope.names.find(target.name);
  if (declared != scope.names.end() || dtypeOf(target.name, context)) {
    auto error = diagnostics.error(target.loc);
    error << "cannot assign to " << quote(target.name)
          << ", which is a dim, a constant or a dtype; choose another name";
    if (declared != scope.names.end())
      error.attachNote(diagnostics.translate(declared->second.loc)) << "declared here";
    return;
  }
  auto old = values.find(target.name);
  if (old != values.end())
    noteUnused(target.name, old->second);
  Binding &binding = values[target.name] = {std::move(item), target.loc, false};
  mentionValue(target.name, binding);
}

//===- Calls --------------------------------------------------------------------------------------===//

StringRef ForwardLowering::guess(StringRef name) {
  SmallVector<StringRef> known;
  for (const auto &entry : model.layers)
    known.push_back(entry.first);
  for (const OpInfo &info : opTable())
    for (const Signature &signature : info.signatures)
      known.push_back(signature.name);
  return nearest(name, known).value_or(StringRef());
}

Item ForwardLowering::evaluateCall(const CallExpr &expr) {
  SmallVector<PassedArgument> arguments;
  bool isPoisoned = false;
  for (const Argument &argument : expr.arguments) {
    arguments.push_back({argument.keyword ? argument.keyword->name : StringRef(),
                         argument.keyword ? argument.keyword->loc : argument.value->loc,
                         evaluate(*argument.value)});
    isPoisoned |= arguments.back().value.is<Item::Poison>();
  }
  StringRef name = expr.callee.name;
  auto layer = model.layers.find(name);
  if (layer != model.layers.end()) {
    layer->second.isCalled = true;
    Item result = isPoisoned || !layer->second.kind
                      ? poison(expr.loc)
                      : layers.call(layer->second, expr.callee.name, expr.loc, arguments);
    mentionCall(name, layer->second, result);
    return result;
  }
  if (signaturesOf(name).empty()) {
    auto error = diagnostics.error(expr.loc);
    if (findLayer(name)) {
      error << quote(name)
            << " is a kind of layer; declare one above 'forward', as in 'name: " << name
            << "(...)', and call it by its name";
    } else {
      error << "unknown function or layer " << quote(name);
      if (StringRef near = guess(name); !near.empty())
        error << "; did you mean " << quote(near) << "?";
    }
    return poison(expr.loc);
  }
  diagnostics.mention(Mention::Kind::function, name, {}, [&] { return name.str(); });
  return isPoisoned ? poison(expr.loc) : call(name, expr.loc, arguments);
}

Item ForwardLowering::call(StringRef callee, llvm::SMLoc loc, ArrayRef<PassedArgument> arguments) {
  std::optional<BindError> problem;
  for (const Signature *signature : signaturesOf(callee)) {
    auto bound = bindArguments(callee, loc, signature->params, arguments);
    if (auto *good = std::get_if<BoundArguments>(&bound))
      return emitter.emit(diagnostics.translate(loc), *signature, *good).at(loc);
    if (!problem)
      problem = std::get<BindError>(bound);
  }
  diagnostics.error(problem->loc) << problem->message;
  return poison(loc);
}

Item ForwardLowering::negateTensor(const Item &operand, llvm::SMLoc loc) {
  return call("neg", loc, PassedArgument{{}, loc, operand});
}

Item ForwardLowering::combineTensors(char op, const Item &lhs, const Item &rhs, llvm::SMLoc loc) {
  for (const Item *item : {&lhs, &rhs})
    if (item->is<AffineExpr>()) {
      diagnostics.error(loc) << "a tensor combines with tensors and numbers, got "
                             << describe(*item);
      return poison(loc);
    }
  StringRef callee = op == '+' ? "add" : op == '-' ? "sub" : op == '*' ? "mul" : "div";
  return call(callee, loc, {PassedArgument{{}, loc, lhs}, PassedArgument{{}, loc, rhs}});
}

//===- Function -----------------------------------------------------------------------------------===//

Value ForwardLowering::outputOf(const Port &port, RankedTensorType declared) {
  auto value = values.find(port.name.name);
  if (value == values.end()) {
    SmallVector<StringRef> known;
    for (const auto &entry : values)
      known.push_back(entry.first);
    diagnostics.error(port.name.loc) << "output " << quote(port.name.name) << " is never assigned"
                                     << didYouMean(port.name.name, known);
    return {};
  }
  value->second.isUsed = true;
  const Item &item = value->second.item;
  if (item.is<Item::Poison>() || !declared)
    return {};
  if (!item.isTensor()) {
    diagnostics.error(value->second.loc)
        << "output " << quote(port.name.name) << " is " << describe(item) << "; expected a tensor";
    return {};
  }
  if (!dl::sameShapeAndElement(item.tensorType(), declared)) {
    diagnostics.error(value->second.loc)
            .append("output ", quote(port.name.name), " is ", dl::text(item.tensorType()),
                    ", declared as ", dl::text(declared), "; change one of them")
            .attachNote(diagnostics.translate(port.name.loc))
        << "declared here";
    return {};
  }
  return item.as<Value>();
}

void ForwardLowering::run() {
  const ForwardDecl &forward = *model.decl->forward;
  SmallVector<Attribute> symbols;
  for (const Symbol &symbol : model.symbols)
    symbols.push_back(dl::SymbolAttr::get(context, symbol.name, symbol.min, symbol.max));
  if (!symbols.empty())
    module->setAttr("dl.symbols", builder.getArrayAttr(symbols));

  // Where a type is unknown, an empty one stands for it, and its name for no value.
  auto known = [&](ArrayRef<RankedTensorType> types) {
    SmallVector<Type> all;
    for (RankedTensorType type : types)
      all.push_back(type ? type : RankedTensorType::get({}, builder.getF32Type()));
    return all;
  };
  builder.setInsertionPointToEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, diagnostics.translate(forward.loc), "forward",
                           builder.getFunctionType(known(model.inputs), known(model.outputs)));
  Block *entry = builder.createBlock(&function.getBody());
  for (auto [position, port] : llvm::enumerate(forward.inputs)) {
    Value argument = entry->addArgument(function.getArgumentTypes()[position],
                                        diagnostics.translate(port.name.loc));
    function.setArgAttr(position, "dl.name", builder.getStringAttr(port.name.name));
    assign(port.name,
           model.inputs[position] ? Item{argument, port.name.loc} : poison(port.name.loc));
  }
  builder.setInsertionPointToStart(entry);

  for (const Statement &statement : forward.body) {
    if (diagnostics.isFull())
      return;
    Item item = statement.value ? evaluate(*statement.value) : poison(statement.loc);
    if (statement.targets.size() == 1) {
      assign(statement.targets.front(), std::move(item));
      continue;
    }
    bool matches =
        item.is<Item::List>() && item.as<Item::List>().size() == statement.targets.size();
    if (!matches && !item.is<Item::Poison>())
      diagnostics.error(statement.loc) << statement.targets.size() << " names for "
                                       << describe(item) << "; expected one name for each result";
    for (auto [position, target] : llvm::enumerate(statement.targets))
      assign(target, matches ? item.as<Item::List>()[position] : poison(target.loc));
  }

  SmallVector<Value> results;
  bool isComplete = true;
  for (auto [position, port] : llvm::enumerate(forward.outputs)) {
    function.setResultAttr(position, "dl.name", builder.getStringAttr(port.name.name));
    results.push_back(outputOf(port, model.outputs[position]));
    isComplete &= static_cast<bool>(results.back());
  }
  if (isComplete)
    func::ReturnOp::create(builder, diagnostics.translate(forward.loc), results);
  for (const auto &[name, binding] : values)
    noteUnused(name, binding);
  // A use may hide in what an error kept from being read.
  if (diagnostics.hasErrors())
    return;
  for (const auto &[name, layer] : model.layers)
    if (!layer.isCalled)
      diagnostics.warning(layer.decl->path.loc) << "layer " << quote(name) << " is never called";
  for (const Identifier &name : unused)
    diagnostics.warning(name.loc) << quote(name.name) << " is never used";
}

void lowerForward(Model &model, const BoundWeights &weights, Diagnostics &diagnostics,
                  ModuleOp module) {
  ForwardLowering(model, weights, diagnostics, module).run();
}

} // namespace dlc::frontend
