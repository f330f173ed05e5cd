//===- Sema.cpp - What the declarations of a file mean ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Sema.h"

#include "frontend/dl/Spelling.h"
#include "ir/dl/DLDialect.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace dlc::frontend {

/// Elements of one tensor: its bytes, and twice as many, still fit in 64 bits.
static constexpr int64_t kMaxElements = int64_t(1) << 56;
static constexpr size_t kMaxRank = 8;

bool checkSize(RankedTensorType type, ArrayRef<Symbol> symbols, Location loc) {
  SmallVector<dl::Range> ranges;
  for (const Symbol &symbol : symbols)
    ranges.push_back({symbol.min, symbol.max});
  std::optional<int64_t> elements = 1;
  for (AffineExpr dim : dl::getDims(type)) {
    auto range = dl::rangeOf(dim, ranges);
    if (!range) {
      elements = std::nullopt;
      break;
    }
    elements = llvm::checkedMul<int64_t>(*elements, std::max<int64_t>(range->max, 1));
    if (!elements || *elements > kMaxElements)
      break;
  }
  if (elements && *elements <= kMaxElements)
    return true;
  emitError(loc) << "a tensor " << dl::text(type)
                 << " may have more than 2^56 elements; make its dims, or their ranges, "
                 << "smaller";
  return false;
}

namespace {

class Analyzer {
public:
  Analyzer(const SourceFile &file, Diagnostics &diagnostics, MLIRContext *context)
      : file(file), diagnostics(diagnostics), context(context) {}

  std::optional<Model> run();

private:
  void declare(StringRef what, const Identifier &name, Item item);
  void declareDim(const DimDecl &dim);
  void declareConstant(const ConstDecl &constant);
  void declareLayer(const LayerDecl &decl);
  void addWeights(Layer &layer);
  RankedTensorType portType(const Port &port);
  void checkPortNames(const std::vector<Port> &ports, StringRef what);

  const SourceFile &file;
  Diagnostics &diagnostics;
  MLIRContext *context;
  Model model;
};

} // namespace

void Analyzer::declare(StringRef what, const Identifier &name, Item item) {
  if (dtypeOf(name.name, context)) {
    diagnostics.error(name.loc) << quote(name.name) << " is a dtype; choose another name";
    return;
  }
  auto [entry, isNew] = model.scope.names.insert({name.name, {std::move(item), name.loc}});
  diagnostics.mention(
      what == "dim" ? Mention::Kind::dim : Mention::Kind::constant, name.name, entry->second.loc,
      [&] { return (what + " " + name.name + ": " + describe(entry->second.item)).str(); });
  if (!isNew)
    diagnostics.error(name.loc)
            .append(what, " ", quote(name.name), " has been declared before; choose another name")
            .attachNote(diagnostics.translate(entry->second.loc))
        << "the first declaration";
}

void Analyzer::declareDim(const DimDecl &dim) {
  Symbol symbol{dim.name.name, dim.name.loc, kDefaultDimMin, kDefaultDimMax};
  Evaluator evaluator(diagnostics, context, model.scope);
  for (auto [expr, bound] :
       {std::pair(dim.min.get(), &symbol.min), std::pair(dim.max.get(), &symbol.max)}) {
    if (!expr)
      continue;
    Item item = evaluator.evaluate(*expr);
    if (item.is<int64_t>())
      *bound = item.as<int64_t>();
    else if (!item.is<Item::Poison>())
      diagnostics.error(expr->loc) << "a bound of dim " << quote(dim.name.name) << " is "
                                   << describe(item) << "; expected an integer";
  }
  if (symbol.min < 0 || symbol.max < symbol.min ||
      symbol.max > std::numeric_limits<int32_t>::max()) {
    diagnostics.error(dim.min ? dim.min->loc : dim.name.loc)
        << "dim " << quote(dim.name.name) << " has the range " << symbol.min << ".." << symbol.max
        << "; expected 0 <= min <= max <= 2147483647";
    symbol.min = kDefaultDimMin;
    symbol.max = kDefaultDimMax;
  }
  if (model.symbols.size() == dl::kMaxSymbols) {
    diagnostics.error(dim.name.loc)
        << "more than " << dl::kMaxSymbols << " dims; write numbers for some of them";
    return;
  }
  // A dim of one value is a number.
  declare("dim", dim.name,
          symbol.min == symbol.max
              ? Item{symbol.min, dim.name.loc}
              : Item{getAffineSymbolExpr(model.symbols.size(), context), dim.name.loc});
  if (symbol.min != symbol.max)
    model.symbols.push_back(symbol);
}

void Analyzer::declareConstant(const ConstDecl &constant) {
  declare("constant", constant.name,
          Evaluator(diagnostics, context, model.scope).evaluate(*constant.value));
}

/// `*` stands for the parameters of the function behind its tensor.
static std::vector<Param> layerParams(const LayerKind &kind) {
  if (kind.schema == "*") {
    auto signatures = signaturesOf(kind.function);
    assert(!signatures.empty() && "the table of layers names a function that no op has");
    const auto &all = signatures.front()->params;
    return {all.begin() + 1, all.end()};
  }
  auto params = parseSignature("", kind.schema).params;
  return {params.begin(), params.end()};
}

void Analyzer::declareLayer(const LayerDecl &decl) {
  Layer layer;
  layer.decl = &decl;
  auto [entry, isNew] = model.layers.insert({decl.path.name, Layer()});
  if (!isNew) {
    diagnostics.error(decl.path.loc)
            .append("layer ", quote(decl.path.name),
                    " has been declared before; choose another name")
            .attachNote(diagnostics.translate(entry->second.decl->path.loc))
        << "the first declaration";
    return;
  }
  Evaluator evaluator(diagnostics, context, model.scope);
  bool isPoisoned = false;
  SmallVector<PassedArgument> passed;
  for (const Argument &argument : decl.arguments) {
    passed.push_back({argument.keyword ? argument.keyword->name : StringRef(),
                      argument.keyword ? argument.keyword->loc : argument.value->loc,
                      evaluator.evaluate(*argument.value)});
    isPoisoned |= passed.back().value.is<Item::Poison>();
  }
  const LayerKind *kind = findLayer(decl.type.name);
  if (!kind && !decl.type.name.empty()) {
    SmallVector<StringRef> names;
    for (const LayerKind &other : layerKinds())
      names.push_back(other.name);
    auto error = diagnostics.error(decl.type.loc);
    error << "unknown layer " << quote(decl.type.name) << didYouMean(decl.type.name, names);
    if (!nearest(decl.type.name, names))
      error << "; known are " << llvm::join(names, ", ");
  } else if (kind && !isPoisoned) {
    layer.params = layerParams(*kind);
    auto bound = bindArguments(decl.type.name, decl.type.loc, layer.params, passed);
    if (auto *problem = std::get_if<BindError>(&bound)) {
      diagnostics.error(problem->loc) << problem->message;
    } else {
      layer.kind = kind;
      layer.arguments = std::get<BoundArguments>(std::move(bound));
      addWeights(layer);
    }
  }
  if (diagnostics.index) {
    diagnostics.mention(Mention::Kind::layer, decl.path.name, decl.path.loc,
                        [&] { return (decl.path.name + ": " + decl.type.name).str(); });
    LayerFacts facts{
        decl.path.name.str(), decl.type.name.str(), diagnostics.placeOf(decl.path.loc), {}, {}};
    for (const Parameter &weight : layer.weights)
      facts.weights.push_back(
          {weight.path,
           {weight.shape.begin(), weight.shape.end()},
           weight.leaf.starts_with("running_") || weight.leaf.starts_with("moving_")});
    diagnostics.index->addLayer(std::move(facts));
  }
  entry->second = std::move(layer);
}

void Analyzer::addWeights(Layer &layer) {
  LayerArguments arguments(layer.params, layer.arguments);
  for (const LayerWeight &weight : layer.kind->weights)
    if (weight.condition.empty() || arguments.flag(weight.condition))
      layer.weights.push_back({(layer.decl->path.name + "." + weight.leaf).str(), weight.leaf,
                               weight.shape(arguments), layer.decl->path.loc});
  for (StringRef leaf : layer.kind->trainingState)
    model.trainingState.push_back((layer.decl->path.name + "." + leaf).str());
  if (arguments.problem) {
    diagnostics.error(arguments.problem->loc) << arguments.problem->message;
    layer.kind = nullptr;
    return;
  }
  for (const Parameter &weight : layer.weights)
    if (!checkSize(RankedTensorType::get(weight.shape, Float32Type::get(context)), model.symbols,
                   diagnostics.translate(weight.loc)))
      layer.kind = nullptr;
  if (!layer.kind)
    return;
  // What neither shapes a weight nor reaches the function must be as if it were not there.
  auto signatures = signaturesOf(layer.kind->function);
  for (auto [param, item] : llvm::zip(layer.params, layer.arguments)) {
    bool reaches = llvm::any_of(signatures.front()->params, [&](const Param &other) {
      return other.name == param.name && other.type != Param::tensor;
    });
    if (!item || reaches || arguments.read.contains(param.name) ||
        llvm::is_contained(layer.kind->ignored, param.name))
      continue;
    bool isDefault =
        item->is<bool>()
            ? item->as<bool>() == (param.defaultValue == "True")
            : item->is<std::string>() && "'" + item->as<std::string>() + "'" == param.defaultValue;
    if (!isDefault)
      diagnostics.error(item->loc)
          << quote(layer.decl->type.name) << " is supported with " << param.name << "="
          << param.defaultValue << " alone, got " << describe(*item);
  }
}

RankedTensorType Analyzer::portType(const Port &port) {
  Type dtype = dtypeOf(port.type.dtype.name, context);
  if (!dtype) {
    diagnostics.error(port.type.dtype.loc) << "unknown dtype " << quote(port.type.dtype.name)
                                           << "; expected " << llvm::join(dtypeNames(), ", ");
    return {};
  }
  if (port.type.dims.size() > kMaxRank) {
    diagnostics.error(port.type.dtype.loc)
        << quote(port.name.name) << " has " << port.type.dims.size() << " dims; the limit is "
        << kMaxRank;
    return {};
  }
  Evaluator evaluator(diagnostics, context, model.scope);
  SmallVector<AffineExpr> dims;
  SmallVector<dl::Range> ranges;
  for (const Symbol &symbol : model.symbols)
    ranges.push_back({symbol.min, symbol.max});
  for (const ExprPtr &expr : port.type.dims) {
    Item item = evaluator.evaluate(*expr);
    if (item.is<Item::Poison>())
      return {};
    if (!item.isDim()) {
      diagnostics.error(expr->loc) << "a dim of " << quote(port.name.name) << " is "
                                   << describe(item) << "; expected an integer or a declared dim";
      return {};
    }
    dims.push_back(item.asDim(context));
    auto range = dl::rangeOf(dims.back(), ranges);
    if (!range || range->min < 0) {
      diagnostics.error(expr->loc)
          << "a dim of " << quote(port.name.name) << ", " << dl::text(dims.back()) << ", "
          << (range ? "may be " + std::to_string(range->min) : "may overflow")
          << "; expected 0 or more";
      return {};
    }
  }
  auto type = dl::makeTensor(dims, dtype);
  return checkSize(type, model.symbols, diagnostics.translate(port.type.dtype.loc))
             ? type
             : RankedTensorType();
}

void Analyzer::checkPortNames(const std::vector<Port> &ports, StringRef what) {
  llvm::StringMap<llvm::SMLoc> seen;
  for (const Port &port : ports) {
    auto [entry, isNew] = seen.try_emplace(port.name.name, port.name.loc);
    if (!isNew)
      diagnostics.error(port.name.loc)
          << "two " << what << " have the name " << quote(port.name.name) << "; names must differ";
    auto known = model.scope.names.find(port.name.name);
    if (known != model.scope.names.end())
      diagnostics.error(port.name.loc)
              .append(quote(port.name.name), " is a dim or a constant already; choose another name")
              .attachNote(diagnostics.translate(known->second.loc))
          << "declared here";
  }
}

std::optional<Model> Analyzer::run() {
  for (const DimDecl &dim : file.dims)
    declareDim(dim);
  std::vector<std::string> names;
  for (const Symbol &symbol : model.symbols)
    names.push_back(symbol.name.str());
  context->getOrLoadDialect<dl::DLDialect>()->nameSymbols(std::move(names));
  for (const ConstDecl &constant : file.constants)
    declareConstant(constant);
  if (file.models.empty()) {
    if (!diagnostics.hasErrors())
      diagnostics.error({}) << "the file has no model; add 'model Name { ... }'";
    return std::nullopt;
  }
  for (const ModelDecl &other : ArrayRef(file.models).drop_front())
    diagnostics.error(other.name.loc)
            .append("a second model, ", quote(other.name.name), "; expected one in a file")
            .attachNote(diagnostics.translate(file.models.front().name.loc))
        << "the first one";
  for (const WeightsDecl &other : ArrayRef(file.weights).drop_front(file.weights.empty() ? 0 : 1))
    diagnostics.error(other.loc)
            .append("a second 'weights' clause; expected one in a file")
            .attachNote(diagnostics.translate(file.weights.front().loc))
        << "the first one";
  model.decl = &file.models.front();
  diagnostics.mention(Mention::Kind::model, model.decl->name.name, model.decl->name.loc,
                      [&] { return ("model " + model.decl->name.name).str(); });
  model.weights = file.weights.empty() ? nullptr : &file.weights.front();
  for (const ConstDecl &parameter : model.decl->parameters)
    declareConstant(parameter);
  for (const ConstDecl &constant : model.decl->constants)
    declareConstant(constant);
  for (const LayerDecl &layer : model.decl->layers) {
    if (diagnostics.isFull())
      return std::nullopt;
    declareLayer(layer);
  }
  if (!model.decl->forward) {
    if (!diagnostics.hasErrors())
      diagnostics.error(model.decl->name.loc)
          << "model " << quote(model.decl->name.name)
          << " has no 'forward'; add 'forward(x: f32[...]) -> (y: f32[...]) { ... }'";
    return std::nullopt;
  }
  const ForwardDecl &forward = *model.decl->forward;
  checkPortNames(forward.inputs, "inputs");
  checkPortNames(forward.outputs, "outputs");
  for (const Port &port : forward.inputs)
    model.inputs.push_back(portType(port));
  for (const Port &port : forward.outputs)
    model.outputs.push_back(portType(port));
  if (forward.outputs.empty())
    diagnostics.error(forward.loc) << "'forward' has no output; expected at least one";
  return std::move(model);
}

std::optional<Model> analyze(const SourceFile &file, Diagnostics &diagnostics,
                             MLIRContext *context) {
  return Analyzer(file, diagnostics, context).run();
}

} // namespace dlc::frontend
