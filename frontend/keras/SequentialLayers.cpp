//===- SequentialLayers.cpp - The layers of models that are a list or a graph ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/keras/SequentialLowering.h"
#include "ir/dl/DLOps.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::frontend {

/// Keras's name for the first layer of a kind: "Conv2DTranspose" to "conv2d_transpose", "ReLU" to
/// "re_lu".
static std::string automaticName(StringRef kind) {
  std::string name;
  for (size_t i = 0; i < kind.size(); ++i) {
    bool isUpper = llvm::isUpper(kind[i]);
    bool beginsWord = isUpper && i + 1 < kind.size() && !llvm::isUpper(kind[i + 1]);
    bool endsLower = isUpper && i > 0 && llvm::isLower(kind[i - 1]);
    if (i > 0 && (beginsWord || endsLower))
      name += '_';
    name += llvm::toLower(kind[i]);
  }
  return name;
}

namespace {

/// Reads names that nobody declared as words: `activation=relu`.
class ArgumentEvaluator : public Evaluator {
public:
  using Evaluator::Evaluator;

protected:
  Item evaluateName(const NameExpr &expr) override {
    if (scope->find(expr.name) || dtypeOf(expr.name, context))
      return Evaluator::evaluateName(expr);
    return {expr.name.str(), expr.loc};
  }
};

} // namespace

StringRef SequentialLowering::nameOf(const Entry &entry) {
  if (entry.name)
    return entry.name->name;
  bool isAgain = definitions.contains(entry.type.name);
  std::string name = isAgain ? entry.type.name.str() : automaticName(entry.type.name);
  unsigned count = counts[name]++ + isAgain;
  return model.save(count ? name + "_" + std::to_string(count) : name);
}

/// The layer that is wrapped; null, reported, where there is none.
const CallExpr *SequentialLowering::wrappedBy(const Entry &entry, Wrapper wrapper) {
  const CallExpr *call = entry.arguments.size() == 1 && !entry.arguments[0].keyword
                             ? llvm::dyn_cast<CallExpr>(entry.arguments[0].value.get())
                             : nullptr;
  const NameExpr *name = call ? llvm::dyn_cast<NameExpr>(call->callee.get()) : nullptr;
  bool takesAny = wrapper == Wrapper::timeDistributed;
  if (name &&
      (takesAny || name->name == "LSTM" || name->name == "GRU" || name->name == "SimpleRNN"))
    return call;
  diagnostics.error(entry.type.loc)
      << (takesAny ? "'TimeDistributed' takes a layer, as in 'TimeDistributed(Dense(10))'"
                   : "'Bidirectional' takes an LSTM, GRU or SimpleRNN, as in "
                     "'Bidirectional(LSTM(64))'");
  return nullptr;
}

const KerasKind *SequentialLowering::kindOf(const Identifier &type) {
  StringRef name = type.name;
  SmallVector<StringRef> names;
  for (const KerasKind &kind : kerasKinds()) {
    if (kind.name == name)
      return &kind;
    names.push_back(kind.name);
  }
  auto error = diagnostics.error(type.loc);
  if (findLayer(name) && !nearest(name, names))
    error << quote(name)
          << " is a layer of PyTorch; a sequential model takes Keras's, such as Dense";
  else
    error << "unknown layer " << quote(name) << didYouMean(name, names)
          << (nearest(name, names) ? "" : "; expected one of Keras, such as Dense");
  return nullptr;
}

/// The layer of the model; null, reported, where two have one name.
Layer *SequentialLowering::declare(const Entry &entry, StringRef name) {
  if (!isPlan)
    return &model.layers.find(name)->second;
  llvm::SMLoc loc = entry.name ? entry.name->loc : entry.type.loc;
  if (model.layers.size() == kMaxLayers) {
    diagnostics.error(loc) << "the model has more than " << kMaxLayers
                           << " layers; make it shorter";
    return nullptr;
  }
  auto [known, isNew] = model.layers.insert({name, Layer()});
  if (!isNew) {
    diagnostics.error(loc)
            .append("layer ", quote(name), " has been declared before; choose another name")
            .attachNote(diagnostics.translate(known->second.decl->path.loc))
        << "the first declaration";
    return nullptr;
  }
  auto layer = std::make_unique<LayerDecl>(loc);
  layer->path = {name, loc};
  layer->type = entry.type;
  known->second.path = name;
  known->second.decl = layer.get();
  known->second.isCalled = true;
  model.sequentialLayers.push_back(std::move(layer));
  return &known->second;
}

Value SequentialLowering::weight(Layer &layer, StringRef leaf, KerasCall::Shape shape) {
  std::string path = (layer.path + "." + leaf).str();
  auto known =
      llvm::find_if(layer.weights, [&](const Parameter &weight) { return weight.path == path; });
  if (isPlan && known != layer.weights.end() &&
      ArrayRef<int64_t>(known->shape) != ArrayRef<int64_t>(shape)) {
    auto sizes = [](ArrayRef<int64_t> dims) {
      return "[" +
             llvm::join(llvm::map_range(dims, [](int64_t d) { return std::to_string(d); }), ",") +
             "]";
    };
    diagnostics.error(lastLoc) << "layer " << quote(layer.path) << " has " << leaf
                               << sizes(known->shape) << " by its first call, and this one needs "
                               << sizes(shape) << "; declare a layer of its own";
    flow.tensor = {Item::Poison(), lastLoc};
    shape.assign(known->shape.begin(), known->shape.end());
  } else if (isPlan && known == layer.weights.end()) {
    checkSize(RankedTensorType::get(shape, builder.getF32Type()), model.symbols,
              diagnostics.translate(layer.decl->path.loc), module);
    layer.weights.push_back(
        {.path = path, .leaf = leaf.str(), .shape = shape, .loc = layer.decl->path.loc});
    known = std::prev(layer.weights.end());
  }
  return layers.weightOf(*known);
}

Item SequentialLowering::cast(const Item &item, Type dtype) {
  if (!item.isTensor() || !dtype || !isa<FloatType>(item.tensorType().getElementType()))
    return item;
  return {emitter.cast(diagnostics.translate(item.loc), item.as<Value>(), dtype), item.loc};
}

/// Lists in lists become one: ((1, 2), (3, 4)) of a padding.
static Item flattened(const Item &item) {
  if (!item.is<Item::List>())
    return item;
  Item::List list;
  for (const Item &element : item.as<Item::List>()) {
    Item inner = flattened(element);
    if (inner.is<Item::List>())
      llvm::append_range(list, inner.as<Item::List>());
    else
      list.push_back(inner);
  }
  return {std::move(list), item.loc};
}

/// The tensor with its dims as Keras orders them.
Item SequentialLowering::logical() {
  if (!flow.isTurned || !flow.tensor.isTensor())
    return flow.tensor;
  llvm::SMLoc loc = flow.tensor.loc;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, flow.tensor.tensorType().getRank()));
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  Item::List dims;
  for (int64_t dim : order)
    dims.push_back({dim, loc});
  flow.isTurned = false;
  return functions.call("permute", loc, flow.tensor,
                        FunctionCalls::Named{"dims", {std::move(dims), loc}});
}

/// [N, T, ...] becomes [N T, ...]: a batch of steps, each of which a layer takes by itself. Gives
/// the dims of before.
dl::Dims SequentialLowering::joinSteps() {
  flow.tensor = logical();
  dl::Dims dims = dl::getDims(flow.tensor.tensorType()), joined(dims.begin() + 1, dims.end());
  joined[0] = dl::normalize(dims[0] * dims[1]);
  Value x =
      emitter.reshape(diagnostics.translate(flow.tensor.loc), flow.tensor.as<Value>(), joined);
  flow.tensor.value = x;
  return dims;
}

/// The other way: the first dim becomes those two that it was made of.
void SequentialLowering::separateSteps(const dl::Dims &before) {
  flow.tensor = logical();
  if (!flow.tensor.isTensor())
    return;
  dl::Dims dims = dl::getDims(flow.tensor.tensorType());
  dims[0] = before[1];
  dims.insert(dims.begin(), before[0]);
  flow.tensor.value =
      emitter.reshape(diagnostics.translate(flow.tensor.loc), flow.tensor.as<Value>(), dims);
}

void SequentialLowering::buildLayer(const Entry &entry, const Entry &definition,
                                    const CallExpr *wrapped, Wrapper wrapper,
                                    const KerasKind &kind) {
  ArgumentEvaluator evaluator(diagnostics, context, *model.scope, model.budget);
  SmallVector<PassedArgument> passed;
  for (const Argument &argument : wrapped ? wrapped->arguments : definition.arguments) {
    passed.push_back({argument.keyword ? argument.keyword->name : StringRef(),
                      argument.keyword ? argument.keyword->loc : argument.value->loc,
                      flattened(evaluator.evaluate(*argument.value))});
    if (passed.back().value.is<Item::Poison>())
      flow.tensor = passed.back().value;
  }
  Layer *layer = &definition == &entry ? declare(entry, lastName)
                                       : &model.layers.find(definitions[lastName].second)->second;
  if (!layer || flow.tensor.is<Item::Poison>()) {
    flow.tensor = {Item::Poison(), entry.type.loc};
    return;
  }
  auto params = parseSignature("", kind.schema).params;
  auto bound = bindArguments(kind.name, entry.type.loc, params, passed, diagnostics.module);
  if (auto *problem = std::get_if<BindError>(&bound)) {
    diagnostics.error(problem->loc) << problem->message;
    flow.tensor = {Item::Poison(), entry.type.loc};
    return;
  }
  std::string prefix =
      wrapper == Wrapper::timeDistributed ? automaticName(kind.name) + "." : std::string();
  auto makeWeight = [&](StringRef leaf, KerasCall::Shape shape) {
    return weight(*layer, (prefix + leaf).str(), std::move(shape));
  };
  KerasCall call(kind.name, entry.type.loc, params, std::get<BoundArguments>(bound), flow,
                 functions, makeWeight);
  call.isBidirectional = wrapper == Wrapper::bidirectional;
  call.operands = operands;
  kind.build(call);
  if (call.arguments.problem && !flow.tensor.is<Item::Poison>()) {
    const BindError &problem = *call.arguments.problem;
    diagnostics.error(problem.loc.isValid() ? problem.loc : entry.type.loc) << problem.message;
    flow.tensor = {Item::Poison(), entry.type.loc};
  }
}

/// The names of what the entry takes; none where it takes the result of the entry before.
std::optional<SmallVector<Identifier>> SequentialLowering::operandsOf(const Entry &entry,
                                                                      bool isAgain) {
  SmallVector<Identifier> names;
  if (isAgain && entry.operands) {
    diagnostics.error(entry.type.loc)
        << quote(entry.type.name)
        << " is a layer of this model; expected what it takes alone, as in '" << entry.type.name
        << "(x)'";
    flow.tensor = {Item::Poison(), entry.type.loc};
    return names;
  }
  if (!isAgain)
    return entry.operands ? std::optional(SmallVector<Identifier>(entry.operands->begin(),
                                                                  entry.operands->end()))
                          : std::nullopt;
  for (const Argument &argument : entry.arguments) {
    const auto *name = llvm::dyn_cast<NameExpr>(argument.value.get());
    if (!name || argument.keyword) {
      diagnostics.error(argument.value->loc)
          << "expected the name of an input or of a layer before, as in '" << entry.type.name
          << "(x)'";
      flow.tensor = {Item::Poison(), entry.type.loc};
      return names;
    }
    names.push_back({name->name, name->loc});
  }
  return names;
}

/// Sets the flow to what the entry takes. False after an error, which is reported.
bool SequentialLowering::takeOperands(const Entry &entry, bool isAgain) {
  std::optional<SmallVector<Identifier>> names = operandsOf(entry, isAgain);
  operands.clear();
  if (!names && flow.tensor.is<Item::None>()) {
    diagnostics.error(entry.type.loc)
        << "the model has " << decl.inputs.size() << " inputs; say what " << quote(entry.type.name)
        << " takes, as in '" << entry.type.name << "(...)(" << decl.inputs.front().name.name
        << ")'";
    flow.tensor = {Item::Poison(), entry.type.loc};
  }
  if (flow.tensor.is<Item::Poison>() && !names)
    return false;
  if (!names) {
    operands.push_back(flow);
    return true;
  }
  for (const Identifier &name : *names) {
    auto found = results.find(name.name);
    if (found == results.end()) {
      SmallVector<StringRef> known(results.keys());
      diagnostics.error(name.loc) << "there is no input and no layer " << quote(name.name)
                                  << " before this one" << didYouMean(name.name, known);
      flow.tensor = {Item::Poison(), entry.type.loc};
      return false;
    }
    operands.push_back(found->second);
  }
  if (operands.empty()) {
    if (!flow.tensor.is<Item::Poison>())
      diagnostics.error(entry.type.loc)
          << quote(entry.type.name)
          << " takes nothing; expected the name of an input or of a layer before";
    flow.tensor = {Item::Poison(), entry.type.loc};
    return false;
  }
  flow = operands.front();
  for (const KerasFlow &operand : operands)
    if (operand.tensor.is<Item::Poison>())
      flow.tensor = operand.tensor;
  return !flow.tensor.is<Item::Poison>();
}

void SequentialLowering::addLayer(const Entry &entry) {
  auto again = definitions.find(entry.type.name);
  bool isAgain = again != definitions.end();
  lastName = nameOf(entry);
  lastLoc = entry.type.loc;
  bool isNew = !results.contains(lastName) || (!isAgain && model.layers.contains(lastName));
  if (!isNew)
    diagnostics.error(entry.name ? entry.name->loc : entry.type.loc)
        << quote(lastName) << " is the name of an input or of a layer before; choose another name";
  auto [definition, layerName] = isAgain ? again->second : std::pair(&entry, lastName);
  definitions.try_emplace(lastName, definition, layerName);
  const CallExpr *wrapped = nullptr;
  const KerasKind *kind = nullptr;
  const Identifier &type = definition->type;
  Wrapper wrapper = type.name == "Bidirectional"     ? Wrapper::bidirectional
                    : type.name == "TimeDistributed" ? Wrapper::timeDistributed
                                                     : Wrapper::none;
  if (wrapper == Wrapper::none)
    kind = kindOf(type);
  else if ((wrapped = wrappedBy(*definition, wrapper)))
    kind = kindOf({llvm::cast<NameExpr>(*wrapped->callee).name, wrapped->loc});
  bool isReady = takeOperands(entry, isAgain) && isNew;
  if (isReady && kind && kind->isMerge && (operands.size() < 2 || wrapped)) {
    diagnostics.error(entry.type.loc)
        << quote(kind->name) << " takes two tensors or more, as in '" << kind->name << "()(a, b)'";
    kind = nullptr;
  } else if (isReady && kind && !kind->isMerge && operands.size() > 1) {
    diagnostics.error(entry.type.loc)
        << quote(entry.type.name) << " takes one tensor, got " << operands.size()
        << "; join them first, as by 'Concatenate'";
    kind = nullptr;
  }
  if (!kind || !isReady) {
    flow.tensor = {Item::Poison(), entry.type.loc};
    results[lastName] = flow;
    return;
  }
  Annotations annotations(definition->annotations, context);
  Type before = floatDtype(flow.tensor);
  flow.tensor = cast(flow.tensor, annotations.dtype);
  for (KerasFlow &operand : operands)
    operand.tensor = kind->isMerge ? cast(operand.tensor, annotations.dtype) : operand.tensor;
  Operation *last =
      builder.getInsertionBlock()->empty() ? nullptr : &builder.getInsertionBlock()->back();
  bool isDistributed = wrapper == Wrapper::timeDistributed && flow.tensor.isTensor();
  if (isDistributed && flow.tensor.tensorType().getRank() < 3) {
    diagnostics.error(entry.type.loc) << "'TimeDistributed' takes a tensor of 3 dims or more, "
                                         "[N, T, ...], got "
                                      << dl::text(logical().as<Value>());
    flow.tensor = {Item::Poison(), entry.type.loc};
    results[lastName] = flow;
    return;
  }
  dl::Dims apart = isDistributed ? joinSteps() : dl::Dims();
  buildLayer(entry, *definition, wrapped, wrapper, *kind);
  if (isDistributed)
    separateSteps(apart);
  if (annotations.dtype && before)
    flow.tensor = cast(flow.tensor, before);
  if (annotations.noFuse)
    for (Operation *op = last ? last->getNextNode() : &builder.getInsertionBlock()->front(); op;
         op = op->getNextNode())
      if (op->getNumOperands() > 0)
        op->setAttr("dl.no_fuse", builder.getUnitAttr());
  results[lastName] = flow;
  note(entry);
}

/// Notes the layer, its weights and what it gives, in Keras's order of dims, for whoever asked.
void SequentialLowering::note(const Entry &entry) {
  if (!isPlan || !diagnostics.index)
    return;
  const Identifier &spelled = entry.name ? *entry.name : entry.type;
  diagnostics.mention(Mention::Kind::layer, spelled.name, spelled.loc,
                      [&] { return (lastName + ": " + entry.type.name).str(); });
  LayerFacts facts{lastName.str(), entry.type.name.str(), diagnostics.placeOf(spelled.loc), {}, {}};
  if (auto layer = model.layers.find(lastName); layer != model.layers.end())
    for (const Parameter &weight : layer->second.weights)
      facts.weights.push_back(
          {weight.path, {weight.shape.begin(), weight.shape.end()}, isStatistic(weight.leaf)});
  if (flow.tensor.isTensor()) {
    RankedTensorType type = flow.tensor.tensorType();
    dl::Dims dims = dl::getDims(type);
    if (flow.isTurned)
      std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    facts.outputs.push_back(
        dl::text(dl::makeTensor(dims, type.getElementType()), diagnostics.module));
  }
  diagnostics.index->addLayer(std::move(facts));
}

} // namespace dlc::frontend
