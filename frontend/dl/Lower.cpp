//===- Lower.cpp - A model's forward to a dl function ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Lower.h"

#include "frontend/dl/OpEmitter.h"
#include "frontend/dl/Spelling.h"
#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::frontend {

namespace {

/// Evaluates the statements of `forward`, building ops as it goes.
class ForwardLowering : public Evaluator {
public:
  ForwardLowering(Model &model, const BoundWeights &weights, Diagnostics &diagnostics,
                  ModuleOp module)
      : Evaluator(diagnostics, module.getContext(), model.scope), model(model), weights(weights),
        builder(module.getContext()), emitter(builder, model.symbols), module(module) {}

  void run();

protected:
  Item evaluateName(const NameExpr &expr) override;
  Item evaluateCall(const CallExpr &expr) override;
  Item evaluateSubscript(const SubscriptExpr &expr) override;
  Item negateTensor(const Item &operand, llvm::SMLoc loc) override;
  Item combineTensors(char op, const Item &lhs, const Item &rhs, llvm::SMLoc loc) override;

private:
  struct Binding {
    Item item;
    llvm::SMLoc loc;
    bool isUsed = false;
  };

  void assign(const Identifier &target, Item item);
  void noteUnused(StringRef name, const Binding &binding);
  Value outputOf(const Port &port, RankedTensorType declared);
  Item call(StringRef callee, llvm::SMLoc loc, ArrayRef<PassedArgument> arguments);
  Item callLayer(Layer &layer, const CallExpr &expr, ArrayRef<PassedArgument> arguments);
  Value weightOf(const Parameter &parameter);
  std::optional<int64_t> bound(const ExprPtr &expr, StringRef what, bool &good);
  Value slice(Value x, int64_t dim, const Index &index);
  Value select(Value x, int64_t dim, int64_t position, llvm::SMLoc loc);
  Item tensor(Value value, llvm::SMLoc loc) { return value ? Item{value, loc} : poison(loc); }
  StringRef guess(StringRef name);

  Model &model;
  const BoundWeights &weights;
  OpBuilder builder;
  OpEmitter emitter;
  ModuleOp module;
  llvm::MapVector<StringRef, Binding> values;
  llvm::StringMap<Value> weightValues;
  Operation *lastWeight = nullptr;
  std::vector<Identifier> unused;
};

} // namespace

//===- Names --------------------------------------------------------------------------------------===//

Item ForwardLowering::evaluateName(const NameExpr &expr) {
  auto value = values.find(expr.name);
  if (value != values.end()) {
    value->second.isUsed = true;
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
  values[target.name] = {std::move(item), target.loc, false};
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
    return isPoisoned || !layer->second.kind ? poison(expr.loc)
                                             : callLayer(layer->second, expr, arguments);
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
  return isPoisoned ? poison(expr.loc) : call(name, expr.loc, arguments);
}

Item ForwardLowering::call(StringRef callee, llvm::SMLoc loc, ArrayRef<PassedArgument> arguments) {
  std::optional<BindError> problem;
  for (const Signature *signature : signaturesOf(callee)) {
    auto bound = bindArguments(callee, loc, signature->params, arguments);
    if (auto *good = std::get_if<BoundArguments>(&bound))
      return tensor(emitter.emit(diagnostics.translate(loc), *signature, *good), loc);
    if (!problem)
      problem = std::get<BindError>(bound);
  }
  diagnostics.error(problem->loc) << problem->message;
  return poison(loc);
}

/// The default of a layer's argument, where it differs from the function's.
static Item defaultOf(const Param &param, llvm::SMLoc loc) {
  int64_t value;
  bool isInteger = llvm::to_integer(param.defaultValue, value, 10);
  assert(isInteger && "the defaults of layers differ in integers alone so far");
  (void)isInteger;
  return {value, loc};
}

Item ForwardLowering::callLayer(Layer &layer, const CallExpr &expr,
                                ArrayRef<PassedArgument> arguments) {
  if (arguments.size() != 1 || !(arguments[0].keyword.empty() || arguments[0].keyword == "input") ||
      !arguments[0].value.isTensor()) {
    diagnostics.error(expr.loc)
            .append("layer ", quote(expr.callee.name), " takes one tensor, got ",
                    arguments.size() == 1 ? describe(arguments[0].value)
                                          : std::to_string(arguments.size()) + " arguments")
            .attachNote(diagnostics.translate(layer.decl->path.loc))
        << "declared here";
    return poison(expr.loc);
  }
  const Signature &signature = *signaturesOf(layer.kind->function).front();
  BoundArguments bound(signature.params.size());
  bound[0] = arguments[0].value;
  for (auto [param, item] : llvm::zip(signature.params, bound)) {
    for (const Parameter &weight : layer.weights)
      if (param.type == Param::tensor && weight.leaf == param.name)
        item = Item{weightOf(weight), expr.loc};
    for (auto [layerParam, value] : llvm::zip(layer.params, layer.arguments))
      if (layerParam.name != param.name || param.type == Param::tensor)
        continue;
      else if (value)
        item = value;
      else if (layerParam.defaultValue !=
               param.defaultValue) // Flatten(start_dim=1), flatten(start_dim=0)
        item = defaultOf(layerParam, expr.loc);
  }
  return tensor(emitter.emit(diagnostics.translate(expr.loc), signature, bound), expr.loc);
}

Value ForwardLowering::weightOf(const Parameter &parameter) {
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

//===- Subscripts ---------------------------------------------------------------------------------===//

std::optional<int64_t> ForwardLowering::bound(const ExprPtr &expr, StringRef what, bool &good) {
  if (!expr)
    return std::nullopt;
  Item item = evaluate(*expr);
  if (item.is<int64_t>())
    return item.as<int64_t>();
  if (item.is<Item::None>())
    return std::nullopt;
  if (!item.is<Item::Poison>())
    diagnostics.error(expr->loc) << what << " is " << describe(item) << "; expected an integer";
  good = false;
  return std::nullopt;
}

Value ForwardLowering::slice(Value x, int64_t dim, const Index &index) {
  bool good = true;
  auto start = bound(index.start, "the start of a slice", good),
       stop = bound(index.stop, "the end of a slice", good),
       step = bound(index.step, "the step of a slice", good);
  if (!good)
    return {};
  if (!start && !stop && step.value_or(1) == 1)
    return x;
  AffineExpr size = dl::getDims(cast<RankedTensorType>(x.getType()))[dim];
  if (!dl::asConstant(size)) {
    // Python would clamp, by a different amount for each size.
    auto range = dl::rangeOf(size, dl::symbolRanges(module));
    for (auto [limit, expr] :
         {std::pair(start, index.start.get()), std::pair(stop, index.stop.get())})
      if (limit && (!range || (*limit < 0 ? *limit < -range->min : range->min < *limit))) {
        diagnostics.error(expr->loc)
            << "the bound " << *limit << " may lie beyond a dim " << dl::text(size)
            << (range ? " of " + std::to_string(range->min) : std::string())
            << "; raise the smallest value of the dim";
        return {};
      }
  }
  SmallVector<PassedArgument> arguments = {{{}, index.loc, {x, index.loc}},
                                           {"dim", index.loc, {dim, index.loc}}};
  for (auto [name, value] :
       {std::pair("start", start), std::pair("end", stop), std::pair("step", step)})
    if (value)
      arguments.push_back({name, index.loc, {*value, index.loc}});
  Item item = call("slice", index.loc, arguments);
  return item.isTensor() ? item.as<Value>() : Value();
}

Value ForwardLowering::select(Value x, int64_t dim, int64_t position, llvm::SMLoc loc) {
  dl::Dims dims = dl::getDims(cast<RankedTensorType>(x.getType()));
  auto range = dl::rangeOf(dims[dim], dl::symbolRanges(module));
  if (!range || (position < 0 ? position < -range->min : range->min <= position)) {
    diagnostics.error(loc) << "index " << position << " lies outside a dim of "
                           << dl::text(dims[dim])
                           << (range && range->min != range->max
                                   ? ", which may be " + std::to_string(range->min)
                                   : "");
    return {};
  }
  SmallVector<PassedArgument> arguments = {
      {{}, loc, {x, loc}}, {"dim", loc, {dim, loc}}, {"start", loc, {position, loc}}};
  if (position != -1)
    arguments.push_back({"end", loc, {position + 1, loc}});
  Item item = call("slice", loc, arguments);
  if (!item.isTensor())
    return {};
  dims.erase(dims.begin() + dim);
  return emitter.reshape(diagnostics.translate(loc), item.as<Value>(), dims);
}

Item ForwardLowering::evaluateSubscript(const SubscriptExpr &expr) {
  Item base = evaluate(*expr.base);
  if (base.is<Item::Poison>())
    return base;
  if (!base.isTensor()) {
    diagnostics.error(expr.loc) << "only tensors can be indexed, got " << describe(base);
    return poison(expr.loc);
  }
  Value x = base.as<Value>();
  int64_t rank = base.tensorType().getRank(), dim = 0, read = 0;
  for (const Index &index : expr.indices) {
    Item value = index.isSlice ? Item{Item::None(), index.loc} : evaluate(*index.value);
    if (value.is<Item::Poison>())
      return value;
    bool isNew = !index.isSlice && value.is<Item::None>();
    if (!isNew && read++ == rank) {
      diagnostics.error(index.loc) << "too many indices for " << dl::text(base.tensorType())
                                   << "; expected at most " << rank;
      return poison(expr.loc);
    }
    if (index.isSlice) {
      x = slice(x, dim++, index);
    } else if (isNew) {
      dl::Dims dims = dl::getDims(cast<RankedTensorType>(x.getType()));
      dims.insert(dims.begin() + dim++, dl::constantDim(1, context));
      x = emitter.reshape(diagnostics.translate(index.loc), x, dims);
    } else if (value.is<int64_t>()) {
      x = select(x, dim, value.as<int64_t>(), index.loc);
    } else {
      diagnostics.error(index.loc)
          << "an index is " << describe(value) << "; expected an integer, a slice or None";
      return poison(expr.loc);
    }
    if (!x)
      return poison(expr.loc);
  }
  return {x, expr.loc};
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
