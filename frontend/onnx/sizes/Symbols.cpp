//===- Symbols.cpp - The dims of an ONNX model that have no number ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Importer.h"

#include "ir/dl/DLDialect.h"
#include "ir/dl/base/DimNeeds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

using namespace mlir;

namespace dlc::onnx {

std::string symbolName(StringRef name, const std::string &fallback, MLIRContext *context) {
  std::string symbol = name.empty() ? fallback : name.str();
  for (char &c : symbol)
    if (!llvm::isAlnum(c) && c != '_')
      c = '_';
  if (symbol.empty() || llvm::isDigit(symbol.front()) || frontend::dtypeOf(symbol, context))
    symbol = "dim_" + symbol;
  return symbol;
}

AffineExpr Importer::symbolNamed(StringRef name, const std::string &fallback) {
  std::string symbol = symbolName(name, fallback, context);
  if (auto known = solved.find(symbol); known != solved.end() && known->second.same) {
    SmallVector<AffineExpr> by;
    for (auto [position, other] : llvm::enumerate(known->second.names))
      by.push_back(known->second.same.isFunctionOfSymbol(position) ? symbolNamed(other, {})
                                                                   : AffineExpr());
    for (AffineExpr &one : by)
      if (!one)
        one = dl::constantDim(0, context);
    return dl::normalize(known->second.same.replaceSymbols(by));
  }
  auto found = llvm::find(symbolNames, symbol);
  if (found == symbolNames.end()) {
    if (symbolNames.size() == dl::kMaxSymbols)
      return {};
    symbolNames.push_back(symbol);
    found = std::prev(symbolNames.end());
  }
  AffineExpr made = getAffineSymbolExpr(found - symbolNames.begin(), context);
  auto known = solved.find(symbol);
  return known == solved.end() ? made : made * known->second.step + known->second.offset;
}

AffineExpr Importer::sumNamed(StringRef name) {
  SmallVector<StringRef> terms;
  name.split(terms, '+');
  auto isAlone = [&](StringRef term) {
    return llvm::any_of(file.model().graph.inputs, [&](const ValueInfo &info) {
      return llvm::any_of(info.dims, [&](const Dim &dim) { return dim.symbol == term; });
    });
  };
  AffineExpr sum = dl::constantDim(0, context);
  for (StringRef &term : terms) {
    term = term.trim();
    int64_t number;
    AffineExpr expr;
    if (auto known = symbolValues.find(term); known != symbolValues.end())
      expr = dl::constantDim(known->second, context);
    else if (!term.getAsInteger(10, number) && number >= 0)
      expr = dl::constantDim(number, context);
    else if (!term.empty() && isAlone(term))
      expr = symbolNamed(term, {});
    if (!expr || terms.size() == 1)
      return {};
    sum = sum + expr;
  }
  return dl::normalize(sum);
}

llvm::StringSet<> Importer::joinedSymbols() const {
  llvm::StringMap<const ValueInfo *> inputs;
  for (const ValueInfo &info : file.model().graph.inputs)
    inputs[info.name] = &info;
  llvm::StringSet<> joined;
  for (const Node &node : file.model().graph.nodes) {
    if (node.op != "Concat" || !node.domain.empty())
      continue;
    int64_t axis = 0;
    for (const Attribute &attribute : node.attributes)
      if (attribute.name == "axis")
        axis = attribute.integer.value_or(0);
    for (StringRef name : node.inputs)
      if (const ValueInfo *info = inputs.lookup(name)) {
        axis += axis < 0 ? static_cast<int64_t>(info->dims.size()) : 0;
        if (axis >= 0 && axis < static_cast<int64_t>(info->dims.size()))
          joined.insert(info->dims[axis].symbol);
      }
  }
  return joined;
}

void Importer::declareSymbols() {
  std::vector<frontend::Symbol> declared = symbols;
  for (frontend::Symbol &symbol : declared)
    if (symbol.usual < symbol.min || symbol.usual > symbol.max) // said by noteRanges
      symbol.usual = 0;
  frontend::declareSymbols(module, declared);
}

//===- Shapes that the user gives -------------------------------------------------------------===//

/// Dims that are one number before anything is known of the others: as many symbols may become
/// numbers as there are, and have values beyond the range that a symbol has by itself. Whether they
/// fit the model is said by applyGivenShapes.
void Importer::readShapes() {
  auto parse = [](StringRef text) {
    auto parsed = text.empty() ? NamedShapes() : parseShapes(text);
    if (parsed)
      return *parsed;
    llvm::consumeError(parsed.takeError());
    return NamedShapes();
  };
  for (auto &[name, dims] : parse(options.shapes.only))
    shapes[name] = dims;
  NamedShapes most = parse(options.shapes.most);
  for (auto &[name, dims] : parse(options.shapes.least))
    for (const auto &[other, largest] : most)
      if (name == other && dims.size() == largest.size() && !shapes.contains(name)) {
        for (auto [dim, limit] : llvm::zip(dims, largest))
          dim = dim == limit ? dim : -1;
        shapes[name] = dims;
      }
  // A symbol is the same number wherever it is.
  for (const ValueInfo &info : file.model().graph.inputs) {
    auto given = shapes.find(info.name);
    if (given == shapes.end() || given->second.size() != info.dims.size())
      continue;
    for (auto [dim, number] : llvm::zip(info.dims, given->second))
      if (!dim.value && !dim.symbol.empty() && number >= 0)
        symbolValues.try_emplace(dim.symbol, number);
  }
}

bool Importer::applyGivenShapes(func::FuncOp function) {
  bounds.resize(symbols.size());
  if (options.shapes.empty())
    return true;
  SmallVector<ShapedInput> inputs;
  for (auto [position, type] : llvm::enumerate(function.getArgumentTypes()))
    inputs.push_back({function.getArgAttrOfType<StringAttr>(position, "dl.name").str(),
                      llvm::cast<RankedTensorType>(type), function.getLoc()});
  SmallVector<SymbolSizes> sizes;
  for (const frontend::Symbol &symbol : symbols)
    sizes.push_back({symbol.name.str(), symbol.min, symbol.max, /*lowest=*/0,
                     /*highest=*/INT32_MAX / symbol.step, /*usual=*/0, /*isComputed=*/false,
                     symbol.step, symbol.offset});
  if (failed(applyShapes(options.shapes, inputs, sizes, module, function.getLoc()))) {
    ++errors;
    if (options.fault)
      *options.fault = ImportFault::ofCall;
    return false;
  }
  for (auto [symbol, size, bound] : llvm::zip(symbols, sizes, bounds)) {
    symbol.min = size.min;
    symbol.max = size.max;
    symbol.usual = size.usual;
    bound.isMinGiven = size.isMinGiven;
    bound.isMaxGiven = size.isMaxGiven;
  }
  declareSymbols();
  return true;
}

//===- Ranges that follow from the model ------------------------------------------------------===//

bool Importer::narrow(AffineExpr size, int64_t least, const std::string &why) {
  SmallVector<dl::Range> ranges;
  for (const frontend::Symbol &symbol : symbols)
    ranges.push_back({symbol.min, symbol.max});
  auto narrowed = dl::narrowingFor(size, least, ranges, [&](unsigned symbol) {
    return !symbols[symbol].most && !symbols[symbol].derived &&
           !symbols[symbol].isRead && // else not an input's
           !(bounds[symbol].isMinGiven && bounds[symbol].isMaxGiven);
  });
  if (!narrowed)
    return false;
  frontend::Symbol &symbol = symbols[narrowed->symbol];
  Bounds &bound = bounds[narrowed->symbol];
  auto [min, max, usual] = narrowed->range;
  if ((min != symbol.min && bound.isMinGiven) || (max != symbol.max && bound.isMaxGiven))
    return false;
  (min != symbol.min ? bound.whyMin : bound.whyMax) = why;
  symbol.min = min;
  symbol.max = max;
  declareSymbols();
  return true;
}

/// Narrows a symbol's range to what an op needs of a size: a model that takes 5
/// elements of a dim, or gives a dim less 4, makes no sense below. (A dim of 0 is an empty tensor,
/// and may be meant.) Needs that no range settles are checked when shapes are bound.
void Importer::narrowForNeeds(func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (op->getParentOp() != function) // a branch that is not taken needs nothing
      return;
    for (const dl::DimNeed &need : dl::needsOf(op)) {
      auto values = dl::rangeOf(need.size, dl::symbolRanges(module));
      // Ranges do not settle parts of tables, equal sizes, and sizes with derived symbols: the
      // runtime compares these when shapes are bound.
      if (!values || values->min >= need.least || need.end || need.left ||
          dl::mentions(need.size, dl::computedSymbols(module)))
        continue;
      auto node = llvm::dyn_cast<NameLoc>(op->getLoc());
      narrow(need.size, std::max<int64_t>(need.least, 1),
             (node ? node.getName().str() + ": " : std::string()) + dl::describe(op, need));
    }
  });
}

/// Tells which symbols have other ranges than they would have by themselves or by the user's word,
/// and why; and what was solved.
void Importer::noteRanges() {
  if (attempt.largestDim < frontend::kDefaultDimMax)
    emitRemark(UnknownLoc::get(context)) << file.path() << ": dims are " << attempt.largestDim
                                         << " at most, for tensors would have more than 2^56 "
                                            "elements; --max-shapes gives other limits";
  for (const auto &[name, known] : solved)
    if (!known.note.empty())
      emitRemark(UnknownLoc::get(context))
          << file.path() << ": " << name << ": " << known.note << ": " << known.why;
  for (auto [position, bound] : llvm::enumerate(bounds)) {
    frontend::Symbol &symbol = symbols[position];
    if (bound.whyMin.empty() && bound.whyMax.empty())
      continue;
    std::string range = std::to_string(symbol.sizeAt(symbol.min)) + ".." +
                        std::to_string(symbol.sizeAt(symbol.max));
    if (symbol.usual && (symbol.usual < symbol.min || symbol.usual > symbol.max)) {
      error(ImportFault::ofCall, "--opt-shapes makes " + symbol.name + " = " +
                                     llvm::Twine(symbol.sizeAt(symbol.usual)) +
                                     ", and the model takes " + range + ": " +
                                     (symbol.usual < symbol.min ? bound.whyMin : bound.whyMax));
      continue;
    }
    emitRemark(UnknownLoc::get(context))
        << file.path() << ": " << symbol.name << ": " << range << ": " << bound.whyMin
        << (bound.whyMin.empty() || bound.whyMax.empty() ? "" : "; ") << bound.whyMax;
  }
}

} // namespace dlc::onnx
