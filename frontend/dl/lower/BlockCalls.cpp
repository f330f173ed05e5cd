//===- BlockCalls.cpp - Calls of layers and blocks in forward -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/Elaborate.h"
#include "frontend/dl/lower/ForwardLowering.h"
#include "frontend/dl/syntax/Parser.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dlc::frontend {

//===- Annotations ----------------------------------------------------------------------------===//

Annotations::Annotations(ArrayRef<Annotation> list, MLIRContext *context) {
  for (const Annotation &annotation : list)
    if (annotation.name.name == "no_fuse")
      noFuse = true;
    else
      dtype = dtypeOf(annotation.name.name, context);
}

void ForwardLowering::OpListener::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  ++count;
  if (op->getNumOperands() == 0) // weights are shared with other calls
    return;
  if (unfused)
    op->setAttr("dl.no_fuse", UnitAttr::get(op->getContext()));
  if (!layer.empty())
    op->setLoc(NameLoc::get(StringAttr::get(op->getContext(), layer), op->getLoc()));
}

Item ForwardLowering::castFloats(const Item &item, Type dtype) {
  if (item.is<Item::List>()) {
    Item::List list;
    for (const Item &element : item.as<Item::List>()) {
      list.push_back(castFloats(element, dtype));
      if (list.back().isPoison())
        return poison(item.loc);
    }
    return {std::move(list), item.loc};
  }
  if (!item.isTensor() || !isa<FloatType>(item.tensorType().getElementType()))
    return item;
  Type from = item.tensorType().getElementType();
  if (!firstFloat)
    firstFloat = from;
  if (from == dtype)
    return item;
  return call(
      "cast", item.loc,
      {PassedArgument{{}, item.loc, item}, PassedArgument{{}, item.loc, {dtype, item.loc}}});
}

//===- Layers ---------------------------------------------------------------------------------===//

void ForwardLowering::noteCall(const CallExpr &expr, Layer &layer, const Item &result) {
  if (!diagnostics.index)
    return;
  if (auto *name = llvm::dyn_cast<NameExpr>(expr.callee.get()))
    diagnostics.mention(Mention::Kind::layer, name->name, layer.decl->path.loc,
                        [&] { return (layer.path + ": " + layer.decl->type.name).str(); });
  if (LayerFacts *facts = diagnostics.index->findLayer(layer.path); facts && result.isTensor())
    facts->outputs.push_back(dl::text(result.as<Value>()));
}

Item ForwardLowering::callLayer(const LayerRef &ref, const CallExpr &expr,
                                ArrayRef<PassedArgument> arguments, bool good) {
  if (ref.instance) {
    ref.instance->isCalled = true;
    return good ? callBlock(*ref.instance, expr, arguments) : poison(expr.loc);
  }
  Layer &layer = model.layers.find(ref.path)->second;
  layer.isCalled = true;
  if (!good || !layer.kind)
    return poison(expr.loc);
  if (layer.kind->function.empty()) {
    diagnostics.error(expr.loc)
        << quote(textOf(*expr.callee))
        << " is a weight, which cannot be called; use it as a value, as in x + "
        << textOf(*expr.callee);
    return poison(expr.loc);
  }
  Annotations annotations(layer.decl->annotations, context);
  Annotated annotated(*this, annotations);
  llvm::SaveAndRestore inLayer(listener.layer, layer.path.str());
  Item result;
  if (annotations.dtype) {
    // Computes in the dtype; the result has that of the first float input again.
    Type inputFloat;
    SmallVector<PassedArgument> casted(arguments);
    for (PassedArgument &argument : casted) {
      if (!inputFloat)
        inputFloat = floatDtype(argument.value);
      argument.value = castFloats(argument.value, annotations.dtype);
    }
    result = layers.call(layer, textOf(*expr.callee), expr.loc, casted);
    if (inputFloat)
      result = castFloats(result, inputFloat);
  } else {
    result = layers.call(layer, textOf(*expr.callee), expr.loc, arguments);
  }
  noteCall(expr, layer, result);
  return result;
}

//===- Blocks ---------------------------------------------------------------------------------===//

bool ForwardLowering::checkInput(const Port &port, Item &item, const Instance &instance) {
  if (item.isPoison() || port.type.dtype.name.empty())
    return true;
  if (item.is<Item::None>() && port.defaultValue)
    return true;
  RankedTensorType declared = portType(port, *this, model.symbols, diagnostics, context);
  if (!declared)
    return false;
  if (Value value = item.isTensor() ? emitter.asDeclared(diagnostics.translate(item.loc),
                                                         item.as<Value>(), declared)
                                    : Value()) {
    item = {value, item.loc};
    return true;
  }
  diagnostics.error(port.name.loc)
      << "input " << quote(port.name.name) << " of " << quote(instance.path) << " is "
      << (item.isTensor() ? dl::text(item.as<Value>()) : describe(item, diagnostics.module))
      << ", declared as " << dl::text(declared, diagnostics.module) << "; change one of them";
  return false;
}

bool ForwardLowering::bindInputs(const Instance &instance, const CallExpr &expr,
                                 ArrayRef<PassedArgument> arguments,
                                 SmallVectorImpl<const PassedArgument *> &bound) {
  SmallVector<StringRef> names;
  for (const Port &port : instance.decl->forward->inputs)
    names.push_back(port.name.name);
  std::string name = textOf(*expr.callee);
  auto result = bindByName(name, names, arguments, diagnostics.module);
  if (auto *problem = std::get_if<BindError>(&result)) {
    diagnostics.error(problem->loc)
            .append(problem->message)
            .attachNote(diagnostics.translate(instance.decl->forward->loc))
        << "declared here";
    return false;
  }
  llvm::append_range(bound, std::get<0>(result));
  for (auto [port, argument] : llvm::zip(instance.decl->forward->inputs, bound))
    if (!argument && !port.defaultValue) {
      diagnostics.error(expr.loc)
              .append(quote(name), " needs its argument ", quote(port.name.name))
              .attachNote(diagnostics.translate(port.name.loc))
          << "declared here";
      return false;
    }
  return true;
}

bool ForwardLowering::assignInputs(const Instance &instance,
                                   ArrayRef<const PassedArgument *> bound) {
  bool good = true;
  for (auto [port, argument] : llvm::zip(instance.decl->forward->inputs, bound)) {
    Item item = argument ? argument->value : evaluate(*port.defaultValue);
    good &= !item.isPoison() && checkInput(port, item, instance);
    assign(port.name, std::move(item));
  }
  return good;
}

Item ForwardLowering::callBlock(Instance &instance, const CallExpr &expr,
                                ArrayRef<PassedArgument> arguments) {
  const BlockDecl &decl = *instance.decl;
  if (!decl.forward) {
    diagnostics.error(expr.loc)
            .append("block ", quote(decl.name.name), " of ", quote(instance.path),
                    " has no 'forward'; add one to call it")
            .attachNote(diagnostics.translate(decl.name.loc))
        << "declared here";
    return poison(expr.loc);
  }
  if (blockDepth == kMaxBlockDepth) {
    diagnostics.error(expr.loc) << "blocks call blocks more than " << kMaxBlockDepth
                                << " deep; does a block call itself through a layer that it was "
                                   "given?";
    return poison(expr.loc);
  }
  Annotations annotations(instance.site->annotations, context);
  Annotated annotated(*this, annotations);
  Type outerPrecision = std::exchange(precision, Type()),
       outerFloat = std::exchange(firstFloat, Type());
  SmallVector<PassedArgument> passed(arguments);
  if (annotations.dtype)
    for (PassedArgument &argument : passed)
      argument.value = castFloats(argument.value, annotations.dtype);
  Type inputFloat = std::exchange(firstFloat, Type());

  SmallVector<const PassedArgument *> bound;
  if (instance.isBroken || !bindInputs(instance, expr, passed, bound)) {
    precision = outerPrecision;
    firstFloat = outerFloat;
    return poison(expr.loc);
  }
  Frame inner{&instance, {}}, *outer = std::exchange(frame, &inner);
  const Scope *outerScope = std::exchange(scope, &instance.scope);
  ++blockDepth;
  llvm::scope_exit leave([&] {
    --blockDepth;
    frame = outer;
    scope = outerScope;
    precision = outerPrecision;
    firstFloat = outerFloat;
  });
  Diagnostics::InBlock in(diagnostics, instance.path, "called here", expr.loc);
  if (!assignInputs(instance, bound))
    return poison(expr.loc);
  bindStates();
  runStatements(decl.forward->body);
  Item::List results;
  for (const Port &port : decl.forward->outputs) {
    bool isTyped = !port.type.dtype.name.empty();
    RankedTensorType declared =
        isTyped ? portType(port, *this, model.symbols, diagnostics, context) : RankedTensorType();
    results.push_back(outputOf(port, declared, isTyped));
    if (results.back().isPoison())
      return poison(expr.loc);
    if (annotations.dtype && inputFloat)
      results.back() = castFloats(results.back(), inputFloat);
  }
  if (results.size() == 1)
    return std::move(results.front()).at(expr.loc);
  return {std::move(results), expr.loc};
}

} // namespace dlc::frontend
