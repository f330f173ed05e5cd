//===- SpecializeShapes.cpp - Symbolic dims by the shapes that will come ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLDialect.h"
#include "ir/dl/DLTypes.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "specialize-shapes"

namespace dlc {
#define GEN_PASS_DEF_SPECIALIZESHAPES
#include "passes/Passes.h.inc"
} // namespace dlc

using namespace mlir;

namespace dlc {
namespace {

/// What one option asks: dims by the names of inputs.
using Shapes = std::vector<std::pair<std::string, SmallVector<int64_t>>>;

/// A line of a file, or nowhere: that of an imported model is no place in a text.
Location placeOf(Location at) {
  return at->findInstanceOf<FileLineColLoc>() ? at : UnknownLoc::get(at.getContext());
}

/// The values that one option's shapes give to the symbols, and what they contradict.
class Solver {
public:
  Solver(func::FuncOp function, StringRef option, ArrayRef<dl::SymbolAttr> symbols)
      : function(function), option(option), symbols(symbols), values(symbols.size()) {}

  LogicalResult solve(StringRef text);
  std::optional<int64_t> valueOf(unsigned symbol) const { return values[symbol]; }

private:
  /// One dim of an input and what it shall be.
  struct Equation {
    BlockArgument input;
    unsigned dim;
    AffineExpr expr;
    int64_t wanted;
  };
  InFlightDiagnostic refuse(Location at) {
    return emitError(placeOf(at)) << "--" << option << ": ";
  }
  InFlightDiagnostic refuse(const Equation &equation);
  static StringRef nameOf(func::FuncOp function, unsigned argument);
  FailureOr<Shapes> parse(StringRef text);
  LogicalResult addEquations(StringRef name, ArrayRef<int64_t> dims);
  LogicalResult set(const Equation &equation, unsigned symbol, int64_t value);
  LogicalResult solveForOne(const Equation &equation, unsigned symbol);
  AffineExpr substituted(AffineExpr expr, unsigned symbol, int64_t value) const;
  AffineExpr substituted(AffineExpr expr) const;

  func::FuncOp function;
  StringRef option;
  ArrayRef<dl::SymbolAttr> symbols;
  SmallVector<std::optional<int64_t>> values;
  SmallVector<Equation> equations;
};

struct SpecializeShapes : impl::SpecializeShapesBase<SpecializeShapes> {
  using SpecializeShapesBase::SpecializeShapesBase;
  void runOnOperation() override;
};

} // namespace

StringRef Solver::nameOf(func::FuncOp function, unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, "dl.name");
  return name ? name.getValue() : StringRef();
}

InFlightDiagnostic Solver::refuse(const Equation &equation) {
  return refuse(equation.input.getLoc()) << "'" << nameOf(function, equation.input.getArgNumber())
                                         << "', dim " << equation.dim << ": ";
}

FailureOr<Shapes> Solver::parse(StringRef text) {
  Shapes shapes;
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
      return refuse(function.getLoc())
             << "expected 'input:8x3x224x224', and commas between several, got '" << entry << "'";
    shapes.push_back({name.str(), dims});
  }
  return shapes;
}

LogicalResult Solver::addEquations(StringRef name, ArrayRef<int64_t> dims) {
  SmallVector<StringRef> names;
  for (BlockArgument argument : function.getArguments()) {
    if (function.getArgAttr(argument.getArgNumber(), "dl.state"))
      continue;
    StringRef known = nameOf(function, argument.getArgNumber());
    names.push_back(known);
    if (known != name)
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    if (static_cast<int64_t>(dims.size()) != type.getRank())
      return refuse(argument.getLoc()) << "'" << name << "' has " << type.getRank() << " dims, got "
                                       << dims.size() << "; it is " << dl::text(type);
    for (auto [dim, expr] : llvm::enumerate(dl::getDims(type)))
      equations.push_back({argument, static_cast<unsigned>(dim), expr, dims[dim]});
    return success();
  }
  return refuse(function.getLoc())
         << "the model has no input '" << name << "'; it has '" << llvm::join(names, "', '") << "'";
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

LogicalResult Solver::set(const Equation &equation, unsigned symbol, int64_t value) {
  dl::SymbolAttr info = symbols[symbol];
  if (value < info.getMin() || value > info.getMax())
    return refuse(equation) << equation.wanted << " makes " << info.getName() << " = " << value
                            << ", and it is in " << info.getMin() << ".." << info.getMax();
  values[symbol] = value;
  return success();
}

/// Dims grow with each of their symbols, so that the value is found by halving.
LogicalResult Solver::solveForOne(const Equation &equation, unsigned symbol) {
  int64_t least = symbols[symbol].getMin(), most = symbols[symbol].getMax();
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
    return refuse(equation) << "no " << symbols[symbol].getName() << " in "
                            << symbols[symbol].getMin() << ".." << symbols[symbol].getMax()
                            << " makes " << dl::text(equation.expr) << " equal to "
                            << equation.wanted;
  return set(equation, symbol, least);
}

LogicalResult Solver::solve(StringRef text) {
  auto shapes = parse(text);
  if (failed(shapes))
    return failure();
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
      return refuse(equation) << "the shapes do not determine " << dl::text(equation.expr)
                              << "; name more inputs";
    if (*value != equation.wanted)
      return refuse(equation) << "expected " << *value << ", got " << equation.wanted;
  }
  return success();
}

/// Puts `by` in the place of the module's symbols, in all types and in all lists of dims.
static void replaceSymbols(ModuleOp module, ArrayRef<AffineExpr> by) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    dl::Dims dims = dl::getDims(type);
    for (AffineExpr &dim : dims)
      dim = dl::normalize(dim.replaceSymbols(by));
    return std::make_pair(Type(dl::makeTensor(dims, type.getElementType(), dl::getLayout(type))),
                          WalkResult::skip());
  });
  replacer.addReplacement(
      [&](AffineMapAttr attr) -> std::optional<std::pair<Attribute, WalkResult>> {
        AffineMap map = attr.getValue();
        if (map.getNumDims() != 0)
          return std::nullopt;
        dl::Dims dims;
        for (AffineExpr dim : map.getResults())
          dims.push_back(dl::normalize(dim.replaceSymbols(by)));
        return std::make_pair(Attribute(AffineMapAttr::get(dl::dimsMap(dims, attr.getContext()))),
                              WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void SpecializeShapes::runOnOperation() {
  ModuleOp module = getOperation();
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return;
  func::FuncOp function = *functions.begin();
  SmallVector<dl::SymbolAttr> symbols;
  if (auto list = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    llvm::append_range(symbols, list.getAsRange<dl::SymbolAttr>());

  Solver fixed(function, "shapes", symbols), least(function, "min-shapes", symbols),
      most(function, "max-shapes", symbols), usual(function, "opt-shapes", symbols);
  if ((!shapes.empty() && failed(fixed.solve(shapes))) ||
      (!minShapes.empty() && failed(least.solve(minShapes))) ||
      (!maxShapes.empty() && failed(most.solve(maxShapes))) ||
      (!optShapes.empty() && failed(usual.solve(optShapes))))
    return signalPassFailure();

  MLIRContext *context = module.getContext();
  SmallVector<AffineExpr> by;
  SmallVector<Attribute> left;
  std::vector<std::string> names;
  SmallVector<dl::Range> ranges; // of those that are left
  for (auto [position, symbol] : llvm::enumerate(symbols)) {
    int64_t min = least.valueOf(position).value_or(symbol.getMin()),
            max = most.valueOf(position).value_or(symbol.getMax());
    if (auto value = fixed.valueOf(position)) {
      if (*value < min || *value > max) {
        emitError(placeOf(function.getLoc()))
            << "--shapes makes " << symbol.getName() << " = " << *value
            << ", and --min-shapes and --max-shapes leave " << min << ".." << max;
        return signalPassFailure();
      }
      min = max = *value;
    }
    if (min > max) {
      emitError(placeOf(function.getLoc()))
          << "--min-shapes makes " << symbol.getName() << " at least " << min
          << ", --max-shapes at most " << max;
      return signalPassFailure();
    }
    if (auto value = usual.valueOf(position); value && (*value < min || *value > max)) {
      emitError(placeOf(function.getLoc()))
          << "--opt-shapes makes " << symbol.getName() << " = " << *value
          << ", and the shapes that will come leave " << min << ".." << max;
      return signalPassFailure();
    }
    if (symbol.isCounted()) { // by the data, whatever the shapes; its range follows from its most
      by.push_back(getAffineSymbolExpr(left.size(), context));
      AffineExpr largest = dl::normalize(symbol.getMost().getResult(0).replaceSymbols(by));
      if (auto range = dl::rangeOf(largest, ranges))
        max = range->max;
      ranges.push_back({0, max});
      left.push_back(
          dl::SymbolAttr::get(context, symbol.getName(), 0, max, dl::dimsMap(largest, context)));
      names.push_back(symbol.getName().str());
      continue;
    }
    if (min == max &&
        (fixed.valueOf(position) || least.valueOf(position) || most.valueOf(position))) {
      by.push_back(getAffineConstantExpr(min, context));
      continue;
    }
    by.push_back(getAffineSymbolExpr(left.size(), context));
    ranges.push_back({min, max});
    left.push_back(dl::SymbolAttr::get(context, symbol.getName(), min, max,
                                       usual.valueOf(position).value_or(symbol.getUsual())));
    names.push_back(symbol.getName().str());
  }
  replaceSymbols(module, by);
  if (left.empty())
    module->removeAttr("dl.symbols");
  else
    module->setAttr("dl.symbols", ArrayAttr::get(context, left));
  context->getOrLoadDialect<dl::DLDialect>()->nameSymbols(std::move(names));
}

} // namespace dlc
