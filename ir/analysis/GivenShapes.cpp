//===- GivenShapes.cpp - Ranges of symbolic dims by shapes of a model's inputs ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/GivenShapes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

using namespace mlir;

namespace dlc {
namespace {

/// A line of a file; an unknown place for an imported model, which has no text.
Location placeOf(Location at) {
  return at->findInstanceOf<FileLineColLoc>() ? at : UnknownLoc::get(at.getContext());
}

/// The values that one option's shapes give to the symbols, and what they contradict.
class Solver {
public:
  Solver(StringRef option, ArrayRef<ShapedInput> inputs, ArrayRef<SymbolSizes> symbols,
         ModuleOp module, Location model)
      : option(option), inputs(inputs), symbols(symbols), module(module), model(model),
        values(symbols.size()) {}

  LogicalResult solve(StringRef text);
  std::optional<int64_t> valueOf(unsigned symbol) const { return values[symbol]; }

private:
  /// One dim of an input and what it shall be.
  struct Equation {
    const ShapedInput *input;
    unsigned dim;
    AffineExpr expr;
    int64_t wanted;
  };
  InFlightDiagnostic refuse(Location at) {
    return emitError(placeOf(at)) << "--" << option << ": ";
  }
  InFlightDiagnostic refuse(const Equation &equation);
  LogicalResult addEquations(StringRef name, ArrayRef<int64_t> dims);
  LogicalResult set(const Equation &equation, unsigned symbol, int64_t value);
  LogicalResult solveForOne(const Equation &equation, unsigned symbol);
  AffineExpr substituted(AffineExpr expr, unsigned symbol, int64_t value) const;
  AffineExpr substituted(AffineExpr expr) const;

  StringRef option;
  ArrayRef<ShapedInput> inputs;
  ArrayRef<SymbolSizes> symbols;
  ModuleOp module; // has the names of the symbols
  Location model;
  SmallVector<std::optional<int64_t>> values;
  SmallVector<Equation> equations;
};

} // namespace

llvm::Expected<NamedShapes> parseShapes(StringRef text) {
  NamedShapes shapes;
  for (StringRef entry : llvm::split(text, ',')) {
    // A name may have colons; the dims have none.
    auto [name, list] = entry.rsplit(':');
    SmallVector<int64_t> dims;
    bool isGood = !name.empty() && !list.empty();
    for (StringRef part : llvm::split(list, 'x')) {
      int64_t dim = 0;
      isGood &= !part.getAsInteger(10, dim) && dim >= 0;
      dims.push_back(dim);
    }
    if (!isGood)
      return llvm::createStringError(
          "expected 'input:8x3x224x224', and commas between several, got '" + entry + "'");
    shapes.push_back({name.str(), dims});
  }
  return shapes;
}

InFlightDiagnostic Solver::refuse(const Equation &equation) {
  return refuse(equation.input->loc)
         << "'" << equation.input->name << "', dim " << equation.dim << ": ";
}

LogicalResult Solver::addEquations(StringRef name, ArrayRef<int64_t> dims) {
  SmallVector<StringRef> names;
  for (const ShapedInput &input : inputs) {
    names.push_back(input.name);
    if (input.name != name)
      continue;
    if (static_cast<int64_t>(dims.size()) != input.type.getRank())
      return refuse(input.loc) << "'" << name << "' has " << input.type.getRank() << " dims, got "
                               << dims.size() << "; it is " << dl::text(input.type, module);
    for (auto [dim, expr] : llvm::enumerate(dl::getDims(input.type)))
      equations.push_back({&input, static_cast<unsigned>(dim), expr, dims[dim]});
    return success();
  }
  return refuse(model) << "the model has no input '" << name << "'; it has '"
                       << llvm::join(names, "', '") << "'";
}

AffineExpr Solver::substituted(AffineExpr expr, unsigned symbol, int64_t value) const {
  SmallVector<AffineExpr> by;
  for (unsigned i = 0; i < symbols.size(); ++i)
    by.push_back(i == symbol ? getAffineConstantExpr(value, expr.getContext())
                             : getAffineSymbolExpr(i, expr.getContext()));
  return dl::normalize(expr.replaceSymbols(by));
}

AffineExpr Solver::substituted(AffineExpr expr) const {
  for (auto [symbol, value] : llvm::enumerate(values))
    if (value)
      expr = substituted(expr, symbol, *value);
  return expr;
}

/// "32..4096 in steps of 32".
static std::string rangeText(const SymbolSizes &sizes) {
  std::string text = std::to_string(sizes.sizeAt(sizes.lowest)) + ".." +
                     std::to_string(sizes.sizeAt(sizes.highest));
  return sizes.step == 1 ? text : text + " in steps of " + std::to_string(sizes.step);
}

LogicalResult Solver::set(const Equation &equation, unsigned symbol, int64_t value) {
  const SymbolSizes &sizes = symbols[symbol];
  if (value < sizes.lowest || value > sizes.highest)
    return refuse(equation) << equation.wanted << " makes " << sizes.name << " = "
                            << sizes.sizeAt(value) << ", and it is in " << rangeText(sizes);
  values[symbol] = value;
  return success();
}

/// Dims grow with each of their symbols, so that the value is found by halving.
LogicalResult Solver::solveForOne(const Equation &equation, unsigned symbol) {
  int64_t least = symbols[symbol].lowest, most = symbols[symbol].highest;
  AffineExpr expr = substituted(equation.expr);
  if (isa<AffineSymbolExpr>(expr))
    return set(equation, symbol, equation.wanted);
  auto at = [&](int64_t value) {
    return dl::asConstant(substituted(expr, symbol, value)).value_or(INT64_MAX);
  };
  while (least < most) {
    int64_t middle = least + (most - least) / 2;
    if (at(middle) < equation.wanted)
      least = middle + 1;
    else
      most = middle;
  }
  if (at(least) != equation.wanted)
    return refuse(equation) << "no " << symbols[symbol].name << " in " << rangeText(symbols[symbol])
                            << " makes " << dl::text(equation.expr, module) << " equal to "
                            << equation.wanted;
  return set(equation, symbol, least);
}

LogicalResult Solver::solve(StringRef text) {
  if (text.empty())
    return success();
  auto shapes = parseShapes(text);
  if (!shapes)
    return refuse(model) << llvm::toString(shapes.takeError());
  for (const auto &[name, dims] : *shapes)
    if (failed(addEquations(name, dims)))
      return failure();
  // Plain symbols first: what they give serves the others.
  for (bool isPlain : {true, false})
    for (bool progress = true; progress;) {
      progress = false;
      for (const Equation &equation : equations) {
        SmallVector<unsigned> unknown;
        for (unsigned symbol = 0; symbol < symbols.size(); ++symbol)
          if (!values[symbol] && equation.expr.isFunctionOfSymbol(symbol))
            unknown.push_back(symbol);
        if (unknown.size() != 1 || (isPlain && !isa<AffineSymbolExpr>(equation.expr)))
          continue;
        if (failed(solveForOne(equation, unknown.front())))
          return failure();
        progress = true;
      }
    }
  for (const Equation &equation : equations) {
    auto value = dl::asConstant(substituted(equation.expr));
    if (!value)
      return refuse(equation) << "the shapes do not determine " << dl::text(equation.expr, module)
                              << "; name more inputs";
    if (*value != equation.wanted)
      return refuse(equation) << "expected " << *value << ", got " << equation.wanted;
  }
  return success();
}

LogicalResult applyShapes(const GivenShapes &given, ArrayRef<ShapedInput> inputs,
                          MutableArrayRef<SymbolSizes> symbols, ModuleOp module, Location model) {
  Solver only("shapes", inputs, symbols, module, model),
      least("min-shapes", inputs, symbols, module, model),
      most("max-shapes", inputs, symbols, module, model),
      usual("opt-shapes", inputs, symbols, module, model);
  if (failed(only.solve(given.only)) || failed(least.solve(given.least)) ||
      failed(most.solve(given.most)) || failed(usual.solve(given.usual)))
    return failure();
  for (auto [position, symbol] : llvm::enumerate(symbols)) {
    if (symbol.isComputed)
      continue;
    auto smallest = least.valueOf(position), largest = most.valueOf(position);
    symbol.min = smallest.value_or(symbol.min);
    symbol.max = largest.value_or(symbol.max);
    auto refuse = [&] { return emitError(placeOf(model)); };
    if (auto value = only.valueOf(position)) {
      if (*value < smallest.value_or(*value) || *value > largest.value_or(*value))
        return refuse() << "--shapes makes " << symbol.name << " = " << symbol.sizeAt(*value)
                        << ", and --min-shapes and --max-shapes leave " << symbol.sizeAt(symbol.min)
                        << ".." << symbol.sizeAt(symbol.max);
      symbol.min = symbol.max = *value;
      smallest = largest = value;
    }
    if (symbol.min > symbol.max) {
      auto error = refuse() << "--min-shapes makes " << symbol.name << " at least "
                            << symbol.sizeAt(symbol.min);
      if (largest)
        return error << ", --max-shapes at most " << symbol.sizeAt(symbol.max);
      return error << "; give its largest value by --max-shapes";
    }
    symbol.usual = usual.valueOf(position).value_or(symbol.usual);
    bool isBeyond = symbol.usual < symbol.min || symbol.usual > symbol.max;
    if (isBeyond && usual.valueOf(position))
      return refuse() << "--opt-shapes makes " << symbol.name << " = "
                      << symbol.sizeAt(symbol.usual) << ", and the shapes that will come leave "
                      << symbol.sizeAt(symbol.min) << ".." << symbol.sizeAt(symbol.max);
    if (isBeyond) // of a range that was wider
      symbol.usual = 0;
    symbol.isMinGiven = smallest.has_value();
    symbol.isMaxGiven = largest.has_value();
  }
  return success();
}

} // namespace dlc
