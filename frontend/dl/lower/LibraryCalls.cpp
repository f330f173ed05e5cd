//===- LibraryCalls.cpp - Calls of functions that are written in the language -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/ForwardLowering.h"
#include "frontend/dl/syntax/Parser.h"
#include "ir/dl/DLDialect.h"
#include "ir/dl/base/DimNeeds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dlc::frontend {

bool ForwardLowering::isKnownFunction(StringRef name) const {
  return !functionSignatures(name).empty() && (frame->isLibrary || !name.starts_with("_"));
}

ArrayRef<StatementPtr> ForwardLowering::bodyOf(const LibraryFunction &function) {
  auto [entry, isNew] = libraryBodies.try_emplace(&function);
  if (isNew) {
    auto body = parseStatements(function.body, diagnostics);
    if (!body)
      llvm::report_fatal_error("malformed function of the library: " +
                               llvm::Twine(function.signature.name));
    entry->second = std::move(*body);
  }
  return entry->second;
}

Item ForwardLowering::callLibrary(const LibraryFunction &function, const BoundArguments &arguments,
                                  llvm::SMLoc loc) {
  Diagnostics::InLibrary inLibrary(diagnostics, function.signature.name, loc);
  llvm::SaveAndRestore outerPrecision(precision, Type()), outerFloat(firstFloat, Type());
  Instance instance; // without layers
  instance.decl = frame->instance->decl;
  Frame inner{&instance, {}, /*isLibrary=*/true};
  llvm::SaveAndRestore outerFrame(frame, &inner);
  llvm::SaveAndRestore<const Scope *> outerScope(scope, &instance.scope);
  for (auto [param, item] : llvm::zip(function.signature.params, arguments)) {
    Item value = item ? *item : defaultItem(param);
    // A single dim is passed by itself, not as a list of one.
    if (param.type == Param::dims && param.count == 1 && value.is<Item::List>())
      value = Item(value.as<Item::List>().front());
    inner.values[param.name] = {std::move(value), loc};
  }
  runStatements(bodyOf(function));
  if (inner.hasFailed || isOver())
    return poison(loc);
  auto result = [&](StringRef name) {
    const Binding *binding = useValue(name);
    assert((binding || diagnostics.hasErrors()) && "a function that does not assign its result");
    // A condition with an error chooses none of its branches.
    return binding ? Item(binding->item).at(loc) : poison(loc);
  };
  if (function.signature.results.empty())
    return result("y");
  Item::List results;
  for (StringRef name : function.signature.results) {
    results.push_back(result(name));
    if (results.back().isPoison())
      return poison(loc);
  }
  return {std::move(results), loc};
}

//===- Functions that only the library may call -----------------------------------------------===//

bool isLibraryOnly(StringRef name) {
  return llvm::is_contained<StringRef>({"fail", "draw", "is_tensor", "is_floating_point",
                                        "is_static", "result_type", "same_dims", "largest_size"},
                                       name);
}

/// A value in a message of the library: numbers and dims by themselves.
static std::string textOf(const Item &item, dl::SymbolNames names) {
  if (item.is<std::string>())
    return item.as<std::string>();
  if (item.isTensor())
    return dl::text(item.as<Value>());
  if (item.is<Type>())
    return dl::dtypeName(item.as<Type>()).str();
  std::string described = describe(item, names);
  StringRef text = described;
  for (StringRef kind : {"the integer ", "the number ", "the dim "})
    text.consume_front(kind);
  return text.str();
}

/// `fail("x is ", x)` ends the function with an error.
Item ForwardLowering::callFail(llvm::SMLoc loc, ArrayRef<PassedArgument> arguments) {
  std::string message;
  for (const PassedArgument &argument : arguments)
    message += textOf(argument.value, diagnostics.module);
  diagnostics.error(loc) << message;
  frame->hasFailed = true;
  return poison(loc);
}

Item ForwardLowering::callLibraryOnly(StringRef name, llvm::SMLoc loc,
                                      ArrayRef<PassedArgument> arguments) {
  if (name == "fail")
    return callFail(loc, arguments);
  if (name == "draw")
    return callDraw(loc);
  const Item &x = arguments.front().value;
  if (name == "is_tensor")
    return {x.isTensor(), loc};
  if (name == "is_floating_point")
    return {x.isTensor() ? isa<FloatType>(x.tensorType().getElementType()) : x.is<double>(), loc};
  if (name == "is_static") // a size
    return {x.is<int64_t>(), loc};
  const Item &second = arguments.back().value;
  if (name == "result_type")
    return {emitter.promote({&x, &second}), loc};
  if (name == "same_dims") {
    auto isSame = [&](const Item &a, const Item &b) {
      return dl::normalize(a.asDim(context)) == dl::normalize(b.asDim(context));
    };
    return {llvm::equal(x.as<Item::List>(), second.as<Item::List>(), isSame), loc};
  }
  assert(name == "largest_size");
  AffineExpr size =
      x.isTensor() ? dl::getDims(x.tensorType())[second.as<int64_t>()] : x.asDim(context);
  auto range = dl::rangeOf(size, dl::symbolRanges(module));
  return {range ? range->max : std::numeric_limits<int32_t>::max(), loc};
}

//===- Random numbers -------------------------------------------------------------------------===//
//
// A model that draws random numbers has a state `generator`: a seed and a count of draws. Each call
// that draws uses this count and its own number within the run, so that no two draws are alike. The
// state is written once, after the last draw.

State *ForwardLowering::generatorAt(llvm::SMLoc loc) {
  if (model.generator)
    return &model.states[*model.generator];
  const ForwardDecl &forward = *model.root().decl->forward;
  auto isTaken =
      llvm::any_of(model.states, [](const State &state) { return state.path == kGenerator; }) ||
      llvm::any_of(forward.inputs, [](const Port &port) { return port.name.name == kGenerator; });
  if (isTaken) {
    if (!std::exchange(hasRefusedGenerator, true))
      diagnostics.error(loc)
          << "this draws random numbers from the model's state 'generator', but the model has "
             "an input or a state of this name; choose another name for that";
    return nullptr;
  }
  auto function = cast<func::FuncOp>(*module.getOps<func::FuncOp>().begin());
  auto type = dl::makeTensor({dl::constantDim(2, context)}, builder.getI64Type());
  auto marks =
      builder.getDictionaryAttr({builder.getNamedAttr("dl.name", builder.getStringAttr(kGenerator)),
                                 builder.getNamedAttr("dl.state", builder.getUnitAttr())});
  unsigned position = function.getNumArguments();
  if (failed(function.insertArgument(position, type, marks, diagnostics.translate(forward.loc))) ||
      failed(function.insertResult(function.getNumResults(), type, marks)))
    llvm_unreachable("a function takes a state");
  model.generator = model.states.size();
  model.states.push_back({kGenerator, forward.loc, type, function.getArgument(position),
                          /*isAssigned=*/true});
  return &model.states.back();
}

Item ForwardLowering::callDraw(llvm::SMLoc loc) {
  State *state = generatorAt(loc);
  if (!state) {
    frame->hasFailed = true;
    return poison(loc);
  }
  Item::List parts = {Item{state->value, loc}, Item{draws++, loc}};
  for (Value step : steps)
    parts.push_back({step, loc});
  return {std::move(parts), loc};
}

void ForwardLowering::advanceGenerator() {
  if (!model.generator || isOver())
    return;
  State &state = model.states[*model.generator];
  Item next = call(
      "advance", state.loc,
      {{{}, state.loc, Item{state.value, state.loc}}, {{}, state.loc, Item{draws, state.loc}}});
  if (next.isTensor())
    state.value = next.as<Value>();
}

} // namespace dlc::frontend
