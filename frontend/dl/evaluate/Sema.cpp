//===- Sema.cpp - What the declarations of a file mean ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/evaluate/Sema.h"

#include "frontend/Spelling.h"
#include "frontend/dl/declare/Elaborate.h"
#include "frontend/dl/evaluate/Arithmetic.h"
#include "frontend/dl/evaluate/DerivedDims.h"
#include "frontend/dl/syntax/Hints.h"
#include "frontend/keras/Sequential.h"
#include "ir/dl/DLDialect.h"
#include "ir/dl/base/DimNeeds.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace dlc::frontend {

/// Elements of one tensor: its bytes, and twice as many, still fit in 64 bits.
static constexpr int64_t kMaxElements = int64_t(1) << 56;
/// Elements of one whose dims are numbers: to compute so many takes a processor minutes, even where
/// nothing stores them.
static constexpr int64_t kMostFixedElements = int64_t(1) << 38;
static constexpr size_t kMaxRank = 8;
/// What reshapes may make of it, as in PyTorch: time to work with ranks grows with their squares.
static constexpr int64_t kMostDims = 64;

bool checkSize(RankedTensorType type, ArrayRef<Symbol> symbols, Location loc,
               dl::SymbolNames names) {
  SmallVector<dl::Range> ranges;
  for (const Symbol &symbol : symbols)
    ranges.push_back({symbol.min, symbol.max});
  if (type.getRank() > kMostDims) {
    emitError(loc) << "a tensor has " << type.getRank() << " dims; the limit is " << kMostDims
                   << "; join some of them";
    return false;
  }
  std::optional<int64_t> elements = 1;
  for (auto [index, dim] : llvm::enumerate(dl::getDims(type))) {
    if (countOperations(dim) > kMaxDimOperations) {
      emitError(loc) << "dim " << index << " of a tensor is made of more than " << kMaxDimOperations
                     << " operations; begin anew with a declared dim, or use fewer layers";
      return false;
    }
    auto range = dl::rangeOf(dim, ranges);
    if (!range) {
      elements = std::nullopt;
      break;
    }
    elements = llvm::checkedMul<int64_t>(*elements, std::max<int64_t>(range->max, 1));
    if (!elements || *elements > kMaxElements)
      break;
  }
  bool isFixed = llvm::all_of(dl::getDims(type),
                              [](AffineExpr dim) { return dl::asConstant(dim).has_value(); });
  if (isFixed && elements && *elements > kMostFixedElements && *elements <= kMaxElements) {
    emitError(loc) << "a tensor " << dl::text(type, names)
                   << " has more than 2^38 elements; make its dims smaller";
    return false;
  }
  if (elements && *elements <= kMaxElements)
    return true;
  emitError(loc) << "a tensor " << dl::text(type, names)
                 << " may have more than 2^56 elements; make its dims, or their ranges, "
                 << "smaller";
  return false;
}

void declare(Scope &scope, StringRef what, const Identifier &name, Item item,
             Diagnostics &diagnostics, MLIRContext *context, bool mayHide) {
  if (dtypeOf(name.name, context)) {
    diagnostics.error(name.loc) << quote(name.name) << " is a dtype; choose another name";
    return;
  }
  auto own = scope.names.find(name.name);
  const Scope::Entry *old = own != scope.names.end() ? &own->second
                            : mayHide                ? nullptr
                                                     : scope.find(name.name);
  if (old) {
    diagnostics.error(name.loc)
            .append(what, " ", quote(name.name), " has been declared before; choose another name")
            .attachNote(diagnostics.translate(old->loc))
        << "the first declaration";
    return;
  }
  const Scope::Entry &entry = scope.names[name.name] = {std::move(item), name.loc};
  if (!entry.item.is<AffineExpr>()) // a dim is mentioned with its range
    diagnostics.mention(Mention::Kind::constant, name.name, entry.loc, [&] {
      return (what + " " + name.name + ": " + describe(entry.item, diagnostics.module)).str();
    });
}

void declareSymbols(ModuleOp module, ArrayRef<Symbol> symbols) {
  MLIRContext *context = module.getContext();
  SmallVector<Attribute> declared;
  SmallVector<dl::Range> ranges;
  for (const Symbol &symbol : symbols) {
    dl::Range range{symbol.min, symbol.max};
    if (symbol.most)
      range.max = dl::rangeOf(symbol.most, ranges).value_or(range).max;
    ranges.push_back(range);
    declared.push_back(symbol.most ? dl::SymbolAttr::get(context, symbol.name, 0, range.max,
                                                         dl::dimsMap(symbol.most, context))
                                   : dl::SymbolAttr::get(context, symbol.name, range.min, range.max,
                                                         symbol.usual, symbol.step, symbol.offset,
                                                         symbol.derived, symbol.why, AffineMap(),
                                                         symbol.isRead));
  }
  if (declared.empty())
    module->removeAttr("dl.symbols");
  else
    module->setAttr("dl.symbols", ArrayAttr::get(context, declared));
}

RankedTensorType portType(const Port &port, Evaluator &evaluator, ArrayRef<Symbol> symbols,
                          Diagnostics &diagnostics, MLIRContext *context) {
  Type dtype = dtypeOf(port.type.dtype.name, context);
  if (!dtype) {
    std::string hint = hintForDtype(port.type.dtype.name);
    diagnostics.error(port.type.dtype.loc)
        << "unknown dtype " << quote(port.type.dtype.name)
        << (hint.empty() ? "; expected " + llvm::join(dtypeNames(), ", ") : hint);
    return {};
  }
  if (port.type.dims.size() > kMaxRank) {
    diagnostics.error(port.type.dtype.loc)
        << quote(port.name.name) << " has " << port.type.dims.size() << " dims; the limit is "
        << kMaxRank << "; join some of them";
    return {};
  }
  SmallVector<AffineExpr> dims;
  SmallVector<dl::Range> ranges;
  for (const Symbol &symbol : symbols)
    ranges.push_back({symbol.min, symbol.max});
  for (const ExprPtr &expr : port.type.dims) {
    if (!expr) { // `?`
      dims.push_back(dl::constantDim(1, context));
      continue;
    }
    Item item = evaluator.evaluate(*expr);
    if (item.is<Item::Poison>())
      return {};
    if (!item.isDim()) {
      diagnostics.error(expr->loc)
          << "a dim of " << quote(port.name.name) << " is " << describe(item, diagnostics.module)
          << "; expected an integer, or a declared dim where it varies, as "
             "in 'dim N = 1..64'";
      return {};
    }
    dims.push_back(item.asDim(context));
    auto range = dl::rangeOf(dims.back(), ranges);
    if (!range) {
      diagnostics.error(expr->loc)
          << "a dim of " << quote(port.name.name) << ", "
          << dl::text(dims.back(), diagnostics.module)
          << ", may not fit in 64 bits; make the ranges of its dims smaller";
      return {};
    }
    if (range->min < 0) {
      bool isNumber = dl::asConstant(dims.back()).has_value();
      auto error = diagnostics.error(expr->loc);
      error << "a dim of " << quote(port.name.name)
            << (isNumber ? " is " : ", " + dl::text(dims.back(), diagnostics.module) + ", may be ")
            << range->min << "; expected 0 or more";
      if (isNumber)
        error << ", or a declared dim where it varies, as in 'dim N = 1..64'";
      else
        dl::adviseRange(error, {dims.back(), 0, {}}, diagnostics.module);
      return {};
    }
  }
  auto type = dl::makeTensor(dims, dtype);
  Location loc = diagnostics.translate(port.type.dtype.loc);
  return checkSize(type, symbols, loc, diagnostics.module) ? type : RankedTensorType();
}

namespace {

/// What stands in the files, outside of models and blocks.
class Analyzer {
public:
  Analyzer(const SourceFile &file, ArrayRef<const SourceFile *> included, const GivenSizes &sizes,
           Diagnostics &diagnostics, ModuleOp module)
      : file(file), included(included), sizes(sizes), diagnostics(diagnostics), module(module),
        context(module.getContext()) {}

  std::optional<Model> run(StringRef name);

private:
  void declareDim(const DimDecl &dim);
  /// `dim few = min(N, 4)`: a symbol that others give.
  void declareDerived(const DimDecl &dim);
  void declareValues(const SourceFile &source);
  const BlockDecl *chooseModel(StringRef name);
  void checkPortNames(const std::vector<Port> &ports, StringRef what);

  const SourceFile &file;
  ArrayRef<const SourceFile *> included;
  const GivenSizes &sizes;
  Diagnostics &diagnostics;
  ModuleOp module;
  MLIRContext *context;
  Model model;
};

} // namespace

void Analyzer::declareDerived(const DimDecl &dim) {
  auto evaluate = [&](const Expr &expr) {
    return Evaluator(diagnostics, context, *model.scope, model.budget).evaluate(expr);
  };
  Attribute defined = definitionOf(*dim.value, evaluate, diagnostics, context);
  if (!defined)
    return;                                          // said there
  if (auto plain = dyn_cast<AffineMapAttr>(defined)) // a dim that needs no function
    return declare(*model.scope, "dim", dim.name,
                   Item::dim(plain.getValue().getResult(0), dim.name.loc), diagnostics, context);
  auto range =
      rangeOfDefinition(defined, dim.value->loc, "dim " + quote(dim.name.name), diagnostics);
  if (!range)
    return;
  auto definition = cast<dl::DerivedAttr>(defined);
  SmallVector<dl::Range> ranges = dl::symbolRanges(module);
  Symbol symbol{dim.name.name, dim.name.loc, range->min, range->max};
  symbol.derived = definition;
  AffineExpr known = dl::simplified(definition, ranges);
  if (!known && model.symbols.size() == dl::kMaxDeclared) {
    diagnostics.error(dim.name.loc)
        << "more than " << dl::kMaxDeclared << " dims; write numbers for some of them";
    return;
  }
  declare(
      *model.scope, "dim", dim.name,
      Item::dim(known ? known : getAffineSymbolExpr(model.symbols.size(), context), dim.name.loc),
      diagnostics, context);
  if (known)
    return;
  model.symbols.push_back(symbol);
  diagnostics.mention(Mention::Kind::dim, dim.name.name, dim.name.loc, [&] {
    return ("dim " + symbol.name + " = " + dl::text(definition, module)).str();
  });
  declareSymbols(module, model.symbols);
}

void Analyzer::declareDim(const DimDecl &dim) {
  if (dim.value)
    return declareDerived(dim);
  Symbol symbol{dim.name.name, dim.name.loc, kDefaultDimMin, kDefaultDimMax};
  Evaluator evaluator(diagnostics, context, *model.scope, model.budget);
  for (auto [expr, bound] :
       {std::pair(dim.min.get(), &symbol.min), std::pair(dim.max.get(), &symbol.max),
        std::pair(dim.step.get(), &symbol.step)}) {
    if (!expr)
      continue;
    Item item = evaluator.evaluate(*expr);
    if (item.is<int64_t>())
      *bound = item.as<int64_t>();
    else if (!item.is<Item::Poison>())
      diagnostics.error(expr->loc) << "a bound of dim " << quote(dim.name.name) << " is "
                                   << describe(item, diagnostics.module) << "; expected an integer";
  }
  if (symbol.min < 0 || symbol.max < symbol.min ||
      symbol.max > std::numeric_limits<int32_t>::max()) {
    diagnostics.error(dim.min ? dim.min->loc : dim.name.loc)
        << "dim " << quote(dim.name.name) << " has the range " << symbol.min << ".." << symbol.max
        << "; expected 0 <= min <= max <= 2147483647";
    symbol.min = kDefaultDimMin;
    symbol.max = kDefaultDimMax;
  }
  if (symbol.step < 1 || symbol.step > std::numeric_limits<int32_t>::max()) {
    diagnostics.error(dim.step->loc) << "dim " << quote(dim.name.name) << " has the step "
                                     << symbol.step << "; expected 1 to 2147483647";
    symbol.step = 1;
  }
  // The symbol counts steps: 32..4096 step 32 is 32 times 1..128.
  symbol.offset = symbol.min % symbol.step;
  symbol.min /= symbol.step;
  symbol.max = (symbol.max - symbol.offset) / symbol.step;
  if (auto given = sizes.find(symbol.name); given != sizes.end()) {
    symbol.min = given->second.min;
    symbol.max = given->second.max;
    symbol.usual = given->second.usual;
  }
  if (model.symbols.size() == dl::kMaxSymbols) {
    diagnostics.error(dim.name.loc)
        << "more than " << dl::kMaxSymbols << " dims; write numbers for some of them";
    return;
  }
  // A dim of one value is a number.
  declare(
      *model.scope, "dim", dim.name,
      symbol.min == symbol.max
          ? Item{symbol.sizeAt(symbol.min), dim.name.loc}
          : Item{getAffineSymbolExpr(model.symbols.size(), context) * symbol.step + symbol.offset,
                 dim.name.loc},
      diagnostics, context);
  if (symbol.min == symbol.max)
    return;
  model.symbols.push_back(symbol);
  diagnostics.mention(Mention::Kind::dim, dim.name.name, dim.name.loc, [&] {
    std::string step = symbol.step == 1 ? "" : " step " + std::to_string(symbol.step);
    return ("dim " + symbol.name + " = " + llvm::Twine(symbol.sizeAt(symbol.min)) + ".." +
            llvm::Twine(symbol.sizeAt(symbol.max)) + step)
        .str();
  });
  declareSymbols(module, model.symbols); // errors about what follows show dims by their names
}

/// Dims and constants in the order of the text, so that each may use those above.
void Analyzer::declareValues(const SourceFile &source) {
  auto constant = source.constants.begin(), end = source.constants.end();
  auto declareBefore = [&](const char *place) {
    for (; constant != end && (!place || constant->name.loc.getPointer() < place); ++constant)
      declare(
          *model.scope, "constant", constant->name,
          Evaluator(diagnostics, context, *model.scope, model.budget).evaluate(*constant->value),
          diagnostics, context);
  };
  for (const DimDecl &dim : source.dims) {
    declareBefore(dim.name.loc.getPointer());
    declareDim(dim);
  }
  declareBefore(nullptr);
}

void Analyzer::checkPortNames(const std::vector<Port> &ports, StringRef what) {
  llvm::StringMap<llvm::SMLoc> seen;
  for (const Port &port : ports) {
    auto [entry, isNew] = seen.try_emplace(port.name.name, port.name.loc);
    if (!isNew)
      diagnostics.error(port.name.loc)
          << "two " << what << " have the name " << quote(port.name.name) << "; names must differ";
    if (const Scope::Entry *known = model.root().scope.find(port.name.name))
      diagnostics.error(port.name.loc)
              .append(quote(port.name.name), " is a dim or a constant already; choose another name")
              .attachNote(diagnostics.translate(known->loc))
          << "declared here";
  }
}

const BlockDecl *Analyzer::chooseModel(StringRef name) {
  SmallVector<std::pair<Identifier, const BlockDecl *>> all; // null for a sequential
  llvm::StringMap<const SequentialDecl *> sequentials;
  for (const BlockDecl &decl : file.models)
    all.push_back({decl.name, &decl});
  for (const SequentialDecl &decl : file.sequentials) {
    all.push_back({decl.name, nullptr});
    sequentials[decl.name.name] = &decl;
  }
  if (all.empty()) {
    if (!diagnostics.hasErrors())
      diagnostics.error({}) << "the file has no model; add 'model Name { ... }'";
    return nullptr;
  }
  llvm::StringMap<llvm::SMLoc> seen;
  bool areDistinct = true;
  for (auto &[other, decl] : all)
    if (auto [entry, isNew] = seen.try_emplace(other.name, other.loc); !isNew) {
      areDistinct = false;
      diagnostics.error(other.loc)
              .append("model ", quote(other.name), " has been declared before; choose another name")
              .attachNote(diagnostics.translate(entry->second))
          << "the first declaration";
    }
  if (!areDistinct)
    return nullptr;
  SmallVector<StringRef> names;
  for (auto &[other, decl] : all)
    names.push_back(other.name);
  auto chosen = name.empty()
                    ? all.begin()
                    : llvm::find_if(all, [&](auto &entry) { return entry.first.name == name; });
  if (chosen == all.end()) {
    diagnostics.error({}) << "the file has no model " << quote(name) << didYouMean(name, names)
                          << (nearest(name, names) ? "" : "; it has " + llvm::join(names, ", "));
    return nullptr;
  }
  if (name.empty() && all.size() > 1) {
    diagnostics.error(all[1].first.loc)
            .append("a second model, ", quote(all[1].first.name),
                    "; choose one by --model, as in --model ", all[0].first.name)
            .attachNote(diagnostics.translate(all[0].first.loc))
        << "the first one";
    return nullptr;
  }
  model.name = chosen->first;
  if (!chosen->second)
    model.sequential = sequentials[chosen->first.name];
  return chosen->second;
}

std::optional<Model> Analyzer::run(StringRef name) {
  for (const SourceFile *source : included)
    declareValues(*source);
  declareValues(file);
  model.weights = file.weights;
  const BlockDecl *decl = chooseModel(name);
  if (!decl && !model.sequential)
    return std::nullopt;
  diagnostics.mention(Mention::Kind::model, model.name.name, model.name.loc,
                      [&] { return ("model " + model.name.name).str(); });
  if (model.sequential) {
    planSequential(model, diagnostics, context);
    return std::move(model);
  }
  llvm::StringMap<const BlockDecl *> blocks;
  collectBlocks(file, included, blocks, diagnostics);
  elaborate(model, *decl, blocks, diagnostics, context);
  if (diagnostics.isFull())
    return std::nullopt;
  if (!decl->forward) {
    if (!diagnostics.hasErrors())
      diagnostics.error(model.name.loc)
          << "model " << quote(model.name.name)
          << " has no 'forward'; add 'forward(x: f32[...]) -> (y: f32[...]) { ... }'";
    return std::nullopt;
  }
  const ForwardDecl &forward = *decl->forward;
  checkPortNames(forward.inputs, "inputs");
  checkPortNames(forward.outputs, "outputs");
  Evaluator evaluator(diagnostics, context, model.root().scope, model.budget);
  for (const Port &port : forward.inputs)
    model.inputs.push_back(portType(port, evaluator, model.symbols, diagnostics, context));
  for (const Port &port : forward.outputs)
    model.outputs.push_back(portType(port, evaluator, model.symbols, diagnostics, context));
  if (forward.outputs.empty())
    diagnostics.error(forward.loc)
        << "'forward' has no output; expected at least one, as in '-> (y: f32[N,10])'";
  return std::move(model);
}

std::optional<Model> analyze(const SourceFile &file, ArrayRef<const SourceFile *> included,
                             StringRef name, const GivenSizes &sizes, Diagnostics &diagnostics,
                             ModuleOp module) {
  diagnostics.module = module;
  return Analyzer(file, included, sizes, diagnostics, module).run(name);
}

} // namespace dlc::frontend
