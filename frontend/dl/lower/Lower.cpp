//===- Lower.cpp - A model's forward to a dl function -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/Lower.h"

#include "frontend/Spelling.h"
#include "frontend/dl/lower/ForwardLowering.h"
#include "frontend/keras/Sequential.h"
#include "ir/analysis/CountedDims.h"
#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace dlc::frontend {

//===- Statements -----------------------------------------------------------------------------===//

bool ForwardLowering::isOver() {
  // Ops that were tried and erased have been counted too.
  if (listener.count > kMaxOps && !isTooLarge) {
    listener.count = 0;
    module.walk([&](Operation *) { ++listener.count; });
  }
  if (listener.count > kMaxOps && !isTooLarge) {
    isTooLarge = true;
    diagnostics.error(frame->instance->decl->forward->loc)
        << "the model has more than " << kMaxOps << " ops; make its loops shorter";
  }
  return isTooLarge || diagnostics.isFull() || budget.isSpent();
}

void ForwardLowering::runStatements(ArrayRef<StatementPtr> body) {
  if (body.empty() || !descend(body.front()->loc))
    return;
  llvm::scope_exit leave([&] { ascend(); });
  for (const StatementPtr &statement : body) {
    if (isOver() || frame->hasFailed || !budget.spend(1, statement->loc, diagnostics))
      return;
    switch (statement->kind) {
    case Statement::Kind::assign:
      runAssign(llvm::cast<AssignStatement>(*statement));
      break;
    case Statement::Kind::loop:
      runLoop(llvm::cast<LoopStatement>(*statement));
      break;
    case Statement::Kind::whileLoop:
      runWhile(llvm::cast<WhileStatement>(*statement));
      break;
    case Statement::Kind::branch:
      runBranch(llvm::cast<BranchStatement>(*statement));
      break;
    }
  }
}

void ForwardLowering::runAssign(const AssignStatement &statement) {
  if (!statement.value)
    return assign(statement.target, poison(statement.loc));
  Annotations annotations(statement.annotations, context);
  Annotated annotated(*this, annotations);
  precision = annotations.dtype;
  firstFloat = Type();
  Item item = evaluate(*statement.value);
  if (precision && firstFloat)
    item = castFloats(item, firstFloat);
  precision = Type();
  assign(statement.target, std::move(item));
}

void ForwardLowering::assign(const Target &target, Item item) {
  if (!target.isTuple)
    return assign(target.name, std::move(item));
  size_t count = target.elements.size();
  bool matches = item.is<Item::List>() && item.as<Item::List>().size() == count;
  if (!matches && !item.isPoison())
    diagnostics.error(target.name.loc)
        << count << " names for " << describe(item, diagnostics.module)
        << "; expected one name for each result";
  for (auto [position, element] : llvm::enumerate(target.elements))
    assign(element, matches ? item.as<Item::List>()[position] : poison(element.name.loc));
}

void ForwardLowering::assign(const Identifier &name, Item item) {
  if (name.name.contains('.')) {
    diagnostics.error(name.loc) << "a value has a name without dots, got " << quote(name.name);
    return;
  }
  const Scope::Entry *declared = scope->find(name.name);
  if (declared || dtypeOf(name.name, context)) {
    auto error = diagnostics.error(name.loc);
    error << "cannot assign to " << quote(name.name)
          << ", which is a dim, a constant or a dtype; choose another name";
    if (declared)
      error.attachNote(diagnostics.translate(declared->loc)) << "declared here";
    return;
  }
  frame->lost.erase(name.name);
  Binding &binding = frame->values[name.name] = {std::move(item), name.loc};
  auto state = frame->instance->states.find(name.name);
  if (state != frame->instance->states.end())
    setState(model.states[state->second], binding.item, name.loc);
  else if (!name.name.starts_with("_") && !frame->isLibrary)
    usages.try_emplace(name.loc.getPointer(), Usage{name.name, name.loc});
  mentionValue(name.name, binding);
}

void ForwardLowering::bindStates() {
  for (const auto &[name, position] : frame->instance->states) {
    const State &state = model.states[position];
    frame->values[name] = {state.value ? Item{state.value, state.loc} : poison(state.loc),
                           state.loc};
  }
}

void ForwardLowering::setState(State &state, const Item &item, llvm::SMLoc loc) {
  state.isAssigned = true;
  if (stepDepth > 0 && !item.isPoison()) {
    diagnostics.error(loc)
            .append("state ", quote(state.path),
                    " is assigned in a branch or loop that depends on data; assign the value to "
                    "another name there, and that to the state after it")
            .attachNote(diagnostics.translate(state.loc))
        << "declared here";
    return;
  }
  if (item.isPoison() || !state.type)
    return;
  if (Value value = item.isTensor() ? emitter.asDeclared(diagnostics.translate(loc),
                                                         item.as<Value>(), state.type)
                                    : Value()) {
    state.value = value;
    return;
  }
  diagnostics.error(loc)
          .append("state ", quote(state.path), " becomes ",
                  item.isTensor() ? dl::text(item.as<Value>()) : describe(item, diagnostics.module),
                  ", declared as ", dl::text(state.type, diagnostics.module),
                  "; change one of them")
          .attachNote(diagnostics.translate(state.loc))
      << "declared here";
}

//===- Function -------------------------------------------------------------------------------===//

Item ForwardLowering::outputOf(const Port &port, RankedTensorType declared, bool isTyped) {
  const Binding *binding = useValue(port.name.name);
  if (!binding && reportLost(port.name.name, port.name.loc))
    return poison(port.name.loc);
  if (!binding) {
    // A statement that would have assigned it may not have been run.
    if (isTooLarge || budget.isSpent())
      return poison(port.name.loc);
    SmallVector<StringRef> known;
    for (const auto &entry : frame->values)
      known.push_back(entry.first);
    std::string hint = didYouMean(port.name.name, known);
    diagnostics.error(port.name.loc)
        << "output " << quote(port.name.name) << " is never assigned"
        << (hint.empty() ? "; assign to it in 'forward', as in '" + port.name.name.str() + " = x'"
                         : hint);
    return poison(port.name.loc);
  }
  const Item &item = binding->item;
  if (!isTyped)
    return item;
  if (item.isPoison() || !declared)
    return poison(port.name.loc);
  if (!item.isTensor()) {
    diagnostics.error(binding->loc) << "output " << quote(port.name.name) << " is "
                                    << describe(item, diagnostics.module) << "; expected a tensor";
    return poison(port.name.loc);
  }
  dl::Dims dims = dl::getDims(declared), found = dl::getDims(item.tensorType());
  for (auto [position, dim] : llvm::enumerate(port.type.dims))
    if (!dim && position < found.size())
      dims[position] = found[position];
  declared = dl::makeTensor(dims, declared.getElementType());
  if (Value value =
          emitter.asDeclared(diagnostics.translate(binding->loc), item.as<Value>(), declared))
    return {value, item.loc};
  diagnostics.error(binding->loc)
          .append("output ", quote(port.name.name), " is ", dl::text(item.as<Value>()),
                  ", declared as ", dl::text(declared, diagnostics.module), "; change one of them")
          .attachNote(diagnostics.translate(port.name.loc))
      << "declared here";
  return poison(port.name.loc);
}

void ForwardLowering::run(CountedSizes &counted) {
  emitter.readsCounts = counted.areRead;
  llvm::scope_exit note([&] { counted.exist = emitter.countedSizes() > 0; });
  Frame outermost{&model.root(), {}};
  frame = &outermost;
  const ForwardDecl &forward = *model.root().decl->forward;
  declareSymbols(module, model.symbols);

  // Where a type is unknown, an empty one stands for it, and its name for no value. States are
  // inputs and outputs behind the others.
  auto known = [&](ArrayRef<RankedTensorType> types) {
    SmallVector<Type> all;
    auto add = [&](RankedTensorType type) {
      all.push_back(type ? type : RankedTensorType::get({}, builder.getF32Type()));
    };
    llvm::for_each(types, add);
    for (const State &state : model.states)
      add(state.type);
    return all;
  };
  builder.setInsertionPointToEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, diagnostics.translate(forward.loc), "forward",
                           builder.getFunctionType(known(model.inputs), known(model.outputs)));
  Block *entry = builder.createBlock(&function.getBody());
  // Set all at once: each change of one would make the list of all anew.
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
  auto named = [&](StringRef name) {
    return builder.getDictionaryAttr(builder.getNamedAttr("dl.name", builder.getStringAttr(name)));
  };
  for (auto [position, port] : llvm::enumerate(forward.inputs)) {
    Value argument = entry->addArgument(function.getArgumentTypes()[position],
                                        diagnostics.translate(port.name.loc));
    argumentAttributes.push_back(named(port.name.name));
    assign(port.name,
           model.inputs[position] ? Item{argument, port.name.loc} : poison(port.name.loc));
  }
  auto markState = [&](const State &state) {
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("dl.name", builder.getStringAttr(state.path)),
         builder.getNamedAttr("dl.state", builder.getUnitAttr())});
  };
  checkStates();
  for (State &state : model.states) {
    unsigned position = entry->getNumArguments();
    Value argument =
        entry->addArgument(function.getArgumentTypes()[position], diagnostics.translate(state.loc));
    argumentAttributes.push_back(markState(state));
    if (state.type)
      state.value = argument;
  }
  function.setAllArgAttrs(argumentAttributes);
  bindStates();
  builder.setInsertionPointToStart(entry);
  runStatements(forward.body);
  advanceGenerator();
  if (diagnostics.isFull())
    return;

  SmallVector<Value> results;
  for (auto [position, port] : llvm::enumerate(forward.outputs)) {
    resultAttributes.push_back(named(port.name.name));
    Item item = outputOf(port, model.outputs[position], /*isTyped=*/true);
    if (item.isTensor())
      results.push_back(item.as<Value>());
  }
  for (const State &state : model.states) {
    resultAttributes.push_back(markState(state));
    if (state.value)
      results.push_back(state.value);
  }
  function.setAllResultAttrs(resultAttributes);
  if (results.size() == function.getNumResults()) {
    emitter.finish(function, diagnostics.translate(forward.loc), std::move(results));
    dropUnusedResults(function);
  }
  if (!diagnostics.hasErrors())
    findMixedPadding(function, [&](Operation *op, const std::string &sentence) {
      emitError(op->getLoc()) << sentence;
    });
  // A use may hide in what an error kept from being read.
  if (!diagnostics.hasErrors())
    warnUnused();
}

/// The sizes of states must be known when the inputs are.
void ForwardLowering::checkStates() {
  for (const State &state : model.states)
    for (auto [position, symbol] : llvm::enumerate(model.symbols)) {
      auto names = [&, position = position](RankedTensorType type) {
        return type && llvm::any_of(dl::getDims(type), [&](AffineExpr dim) {
                 return dim.isFunctionOfSymbol(position);
               });
      };
      if (names(state.type) && llvm::none_of(model.inputs, names))
        diagnostics.error(state.loc)
            << "state " << quote(state.path) << " is " << dl::text(state.type, diagnostics.module)
            << ", and no input tells " << quote(symbol.name)
            << "; write a number, or a dim that an input has";
    }
}

//===- Warnings -------------------------------------------------------------------------------===//

void ForwardLowering::warnUnused() {
  warnUncalled();
  warnUnusedParameters();
  llvm::DenseSet<const char *> assigned, told;
  for (const State &state : model.states)
    if (state.isAssigned)
      assigned.insert(state.loc.getPointer());
  for (const State &state : model.states)
    if (!assigned.contains(state.loc.getPointer()) && told.insert(state.loc.getPointer()).second)
      diagnostics.warning(state.loc)
          << "state " << quote(state.path) << " is never assigned, so that it stays 0";
  for (const auto &[place, usage] : usages)
    if (!usage.isUsed)
      diagnostics.warning(usage.loc) << quote(usage.name) << " is never used";
}

/// Layers without a call, once for each declaration: in the model where it has one of them, in a
/// block where no instance calls it.
void ForwardLowering::warnUncalled() {
  for (const auto &[path, layer] : model.layers)
    for (Instance *at = layer.parent; layer.isCalled && at; at = at->parent)
      at->isCalled = true;
  llvm::DenseSet<const LayerDecl *> reported;
  for (const auto &[path, layer] : model.layers)
    if (layer.isCalled && layer.parent != &model.root())
      reported.insert(layer.decl);
  for (const auto &instance : model.instances)
    if (instance->isCalled && instance->parent && instance->parent != &model.root())
      reported.insert(instance->site);
  auto report = [&](const LayerDecl &decl, StringRef path) {
    if (reported.insert(&decl).second)
      diagnostics.warning(decl.path.loc) << "layer " << quote(path) << " is never called";
  };
  for (const auto &instance : model.instances)
    if (!instance->isCalled && instance->parent->isCalled)
      report(*instance->site, instance->path);
  for (const auto &[path, layer] : model.layers)
    if (!layer.isCalled && layer.parent->isCalled)
      report(*layer.decl, path);
}

void ForwardLowering::warnUnusedParameters() {
  llvm::MapVector<const char *, Usage> all;
  for (const auto &instance : model.instances)
    for (const ConstDecl &parameter : instance->decl->parameters) {
      auto entry = instance->scope.names.find(parameter.name.name);
      if (entry == instance->scope.names.end() || parameter.name.name.starts_with("_"))
        continue;
      all.try_emplace(parameter.name.loc.getPointer(),
                      Usage{parameter.name.name, parameter.name.loc})
          .first->second.isUsed |= entry->second.isUsed;
    }
  for (const auto &[place, usage] : all)
    if (!usage.isUsed)
      diagnostics.warning(usage.loc) << "parameter " << quote(usage.name) << " is never used";
}

void lowerForward(Model &model, const BoundWeights &weights, Diagnostics &diagnostics,
                  ModuleOp module, CountedSizes &counted) {
  if (model.sequential)
    lowerSequential(model, weights, diagnostics, module);
  else
    ForwardLowering(model, weights, diagnostics, module).run(counted);
}

} // namespace dlc::frontend
