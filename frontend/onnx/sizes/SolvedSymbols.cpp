//===- SolvedSymbols.cpp - Sizes for which dims of an ONNX model agree --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/sizes/SolvedSymbols.h"

#include "frontend/onnx/Importer.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc::onnx {

/// `expr` with `by` in the places of the symbols `chosen`.
static AffineExpr replaced(AffineExpr expr, ArrayRef<unsigned> chosen,
                           function_ref<AffineExpr(AffineExpr symbol)> by) {
  llvm::DenseMap<AffineExpr, AffineExpr> places;
  for (unsigned symbol : chosen) {
    AffineExpr one = getAffineSymbolExpr(symbol, expr.getContext());
    places[one] = by(one);
  }
  return dl::normalize(expr.replace(places));
}

/// One side is a symbol by itself, and the other side does not depend on it.
static std::optional<Solution> solveSymbol(AffineExpr a, AffineExpr b,
                                           function_ref<bool(unsigned)> mayChange) {
  std::optional<Solution> found;
  for (auto [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    auto [symbol, step, offset] = dl::asStepped(one);
    if (!symbol || !mayChange(symbol.getPosition()) ||
        other.isFunctionOfSymbol(symbol.getPosition()))
      continue;
    AffineExpr value = other;
    if (auto number = dl::asConstant(other)) {
      if (*number < offset || (*number - offset) % step != 0)
        continue;
      value = dl::constantDim((*number - offset) / step, one.getContext());
    } else if (step != 1 || offset != 0) {
      continue;
    }
    bool isOfInputs = true;
    value.walk([&](AffineExpr part) {
      if (auto inner = dyn_cast<AffineSymbolExpr>(part))
        isOfInputs &= mayChange(inner.getPosition());
    });
    // If both sides are symbols, the earlier one replaces the later one.
    if (isOfInputs && (!found || found->symbols.front() < symbol.getPosition())) {
      found.emplace();
      found->symbols.push_back(symbol.getPosition());
      found->same = value;
    }
  }
  return found;
}

/// The sizes of one symbol for which `expr` is `number`: dims rise or fall with each symbol, so
/// that they are one range.
static std::optional<Solution> solveRange(AffineExpr expr, int64_t number,
                                          ArrayRef<dl::Range> symbols, unsigned symbol) {
  SmallVector<dl::Range> ranges(symbols);
  auto at = [&](int64_t value) -> std::optional<int64_t> {
    ranges[symbol] = {value, value};
    auto values = dl::rangeOf(expr, ranges);
    return values && values->min == values->max ? std::optional(values->min) : std::nullopt;
  };
  auto first = at(symbols[symbol].min), last = at(symbols[symbol].max);
  if (!first || !last)
    return std::nullopt; // another symbol varies
  bool isRising = *first <= *last;
  // The smallest value at which `expr` has passed `bound`, the largest one plus 1 if none has.
  auto passing = [&](int64_t bound) {
    int64_t low = symbols[symbol].min, high = symbols[symbol].max + 1;
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      auto value = at(middle);
      if (!value)
        return high;
      if (isRising ? *value >= bound : *value <= bound)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  };
  int64_t low = passing(number), high = passing(isRising ? number + 1 : number - 1) - 1;
  if (low > high || high > symbols[symbol].max)
    return std::nullopt;
  ranges[symbol] = {low, high};
  auto values = dl::rangeOf(expr, ranges);
  if (!values || values->min != number || values->max != number)
    return std::nullopt;
  Solution solution;
  solution.symbols.push_back(symbol);
  solution.range = dl::Range{low, high};
  return solution;
}

/// Whether steps of symbols say all that there is to say about `expr`: each of its quotients is of
/// one symbol. Of a quotient such as N*M/6, steps of N would leave out sizes for which M is the
/// multiple.
static bool hasSeparateQuotients(AffineExpr expr) {
  bool areSeparate = true;
  expr.walk([&](AffineExpr part) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(part);
    if (!binary || binary.getKind() == AffineExprKind::Add ||
        binary.getKind() == AffineExprKind::Mul)
      return;
    unsigned count = 0;
    for (unsigned symbol = 0; symbol < dl::kMaxSymbols; ++symbol)
      count += part.isFunctionOfSymbol(symbol);
    areSeparate &= count <= 1 && dl::asConstant(binary.getRHS());
  });
  return areSeparate;
}

std::optional<Solution> solveEqual(AffineExpr a, AffineExpr b, ArrayRef<dl::Range> symbols,
                                   function_ref<bool(unsigned)> mayChange) {
  if (auto solution = solveSymbol(a, b, mayChange))
    return solution;
  AffineExpr difference = dl::normalize(a - b);
  SmallVector<unsigned> used;
  for (unsigned symbol = 0; symbol < symbols.size(); ++symbol)
    if (difference.isFunctionOfSymbol(symbol)) {
      if (!mayChange(symbol))
        return std::nullopt;
      used.push_back(symbol);
    }
  if (used.size() > 2 || !hasSeparateQuotients(difference))
    return std::nullopt;
  // Small steps first: they leave most sizes. A step beyond a symbol's range leaves one size or
  // none.
  static constexpr int64_t kSteps[] = {2,  3,  4,  5,  6,  7,  8,  9,  10, 12, 14, 15, 16, 18, 20,
                                       21, 24, 25, 28, 30, 32, 36, 40, 48, 50, 56, 60, 64, 96, 128};
  for (size_t count : {size_t(1), size_t(2)})
    for (int64_t step : kSteps)
      for (size_t first = 0; first + count <= used.size(); ++first)
        for (size_t second = first + count - 1; second < (count == 1 ? first + 1 : used.size());
             ++second) {
          SmallVector<unsigned, 2> chosen{used[first]};
          if (count == 2)
            chosen.push_back(used[second]);
          if (count == 2 && second == first)
            continue;
          for (int64_t offset = 0; offset < (count == 1 ? step : 1); ++offset) {
            AffineExpr left = replaced(difference, chosen,
                                       [&](AffineExpr symbol) { return symbol * step + offset; });
            if (dl::isConstant(left, 0))
              return Solution{chosen, step, offset, std::nullopt, {}};
          }
        }
  for (auto [expr, other] : {std::pair(a, b), std::pair(b, a)})
    if (auto number = dl::asConstant(other))
      for (unsigned symbol : used)
        if (auto solution = solveRange(expr, *number, symbols, symbol))
          return solution;
  return std::nullopt;
}

SolvedSymbols lengthsOfSignals(const Model &model, MLIRContext *context) {
  SolvedSymbols lengths;
  llvm::StringSet<> stored; // inputs with defaults are weights
  for (const Tensor &tensor : model.graph.initializers)
    stored.insert(tensor.name);
  for (const ValueInfo &info : model.graph.inputs) {
    auto type = elementType(info.dataType);
    Type dtype = type ? frontend::dtypeOf(nameOf(*type), context) : Type();
    if (!dtype || !isa<FloatType>(dtype) || info.dims.empty() || info.dims.size() > 2 ||
        stored.contains(info.name))
      continue;
    const Dim &last = info.dims.back();
    bool isNamed = llvm::any_of(last.symbol, [](char c) { return llvm::isAlnum(c); });
    size_t places = 0; // where it is the size of something else, too, it is no length
    for (const ValueInfo &other : model.graph.inputs)
      places += llvm::count_if(
          other.dims, [&](const Dim &dim) { return !dim.value && dim.symbol == last.symbol; });
    if (last.value.value_or(-1) == -1 && (!isNamed || places == 1))
      lengths[symbolName(isNamed ? last.symbol : StringRef(),
                         info.name.str() + "_" + std::to_string(info.dims.size() - 1), context)]
          .max = kLongestSignal;
  }
  return lengths;
}

//===- In the importer ------------------------------------------------------------------------===//

frontend::Symbol Importer::declaredSymbol(StringRef name, bool mayBeEmpty) const {
  frontend::Symbol symbol{name, {}, mayBeEmpty ? 0 : frontend::kDefaultDimMin, attempt.largestDim};
  auto known = solved.find(name);
  if (known == solved.end())
    return symbol;
  const SolvedSymbol &held = known->second;
  symbol.step = held.step;
  symbol.offset = held.offset;
  symbol.why = held.why;
  int64_t min = held.min.value_or(symbol.min), max = held.max.value_or(symbol.max);
  symbol.min = std::max<int64_t>(llvm::divideCeilSigned(min - held.offset, held.step), 0);
  symbol.max = std::max(llvm::divideFloorSigned(max - held.offset, held.step), symbol.min);
  return symbol;
}

bool Importer::isOfInput(AffineExpr dim) const {
  AffineSymbolExpr symbol = dl::asStepped(dim).symbol;
  return symbol && symbol.getPosition() < symbolNames.size();
}

bool Importer::solve(AffineExpr a, AffineExpr b, const std::string &why) {
  // A branch that is not taken limits no size.
  if (regions > 0)
    return false;
  // With errors the model is refused anyway; with states, symbols are theirs, too.
  if (errors > 0 || !states.empty() || isSolved)
    return isSolved;
  SmallVector<dl::Range> ranges = dl::symbolRanges(module);
  auto mayChange = [&](unsigned symbol) {
    return symbol < symbolNames.size() && !(bounds[symbol].isMinGiven && bounds[symbol].isMaxGiven);
  };
  auto solution = solveEqual(a, b, ranges, mayChange);
  if (!solution)
    return false;
  note(*solution, why);
  return isSolved = true;
}

void Importer::note(const Solution &solution, const std::string &why) {
  for (unsigned symbol : solution.symbols) {
    const frontend::Symbol &declared = symbols[symbol];
    SolvedSymbol &known = solved[declared.name.str()];
    known.offset += known.step * solution.offset;
    known.step *= solution.step;
    known.why = why;
    if (solution.range) {
      known.min = declared.sizeAt(solution.range->min);
      known.max = declared.sizeAt(solution.range->max);
    }
    if (solution.same) {
      // In terms of what the names belong to.
      SmallVector<AffineExpr> by;
      for (auto [position, name] : llvm::enumerate(symbolNames)) {
        const frontend::Symbol &other = symbols[position];
        by.push_back((getAffineSymbolExpr(position, context) - other.offset).floorDiv(other.step));
        known.names.push_back(name);
      }
      known.same =
          dl::normalize((solution.same.replaceSymbols(by)) * declared.step + declared.offset);
    }
    known.note = solution.same    ? "= " + dl::text(solution.same, module)
                 : solution.range ? std::to_string(*known.min) + ".." + std::to_string(*known.max)
                 : known.offset   ? std::to_string(known.offset) + " more than multiples of " +
                                        std::to_string(known.step)
                                  : "multiples of " + std::to_string(known.step);
  }
}

} // namespace dlc::onnx
