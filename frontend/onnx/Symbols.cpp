//===- Symbols.cpp - The dims of an ONNX model that have no number -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Importer.h"

#include "ir/dl/DLDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::onnx {

AffineExpr Importer::symbolNamed(StringRef name, const std::string &fallback) {
  std::string symbol = name.empty() ? fallback : name.str();
  for (char &c : symbol)
    if (!llvm::isAlnum(c) && c != '_')
      c = '_';
  if (symbol.empty() || llvm::isDigit(symbol.front()) || frontend::dtypeOf(symbol, context))
    symbol = "dim_" + symbol;
  auto found = llvm::find(symbolNames, symbol);
  if (found == symbolNames.end()) {
    if (symbolNames.size() == dl::kMaxSymbols)
      return {};
    symbolNames.push_back(symbol);
    found = std::prev(symbolNames.end());
  }
  return getAffineSymbolExpr(found - symbolNames.begin(), context);
}

void Importer::declareSymbols() { frontend::declareSymbols(module, symbols); }

/// The least smallest value of symbol `position` from which on `dim` is at least 1, whatever the others are; nothing where none helps.
static std::optional<int64_t> leastMinimum(AffineExpr dim, unsigned position,
                                           SmallVector<dl::Range> ranges) {
  dl::Range &range = ranges[position];
  auto isEnough = [&](int64_t min) {
    range.min = min;
    auto values = dl::rangeOf(dim, ranges);
    return values && values->min >= 1;
  };
  int64_t low = range.min, high = range.max; // not enough, perhaps enough
  if (!isEnough(high))
    return std::nullopt;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (isEnough(middle) ? high : low) = middle;
  }
  return high;
}

/// A dim that would be negative where a symbol is at its smallest shows that the model has a smallest size: below it there is nothing
/// to compute. (A dim of 0 is an empty tensor, and may be meant.)
void Importer::raiseSymbols(func::FuncOp function) {
  SmallVector<dl::Range> ranges;
  for (const frontend::Symbol &symbol : symbols)
    ranges.push_back({symbol.min, symbol.max});
  auto raise = [&](AffineExpr dim) {
    auto values = dl::rangeOf(dim, ranges);
    if (!values || values->min >= 0)
      return;
    for (unsigned position = 0; position < ranges.size(); ++position)
      if (dim.isFunctionOfSymbol(position) && !symbols[position].most)
        if (auto min = leastMinimum(dim, position, ranges)) {
          symbols[position].min = ranges[position].min = *min;
          return;
        }
  };
  function.walk([&](Operation *op) {
    for (mlir::Value result : op->getResults())
      if (auto type = llvm::dyn_cast<RankedTensorType>(result.getType()))
        llvm::for_each(dl::getDims(type), raise);
  });
  declareSymbols();
}

/// What is not well formed, names no input or contradicts the model is said by the pass that narrows symbols.
void Importer::readShapes() {
  for (StringRef entry : llvm::split(options.shapes, ',')) {
    auto [name, list] = entry.rsplit(':');
    SmallVector<int64_t> dims;
    for (StringRef part : llvm::split(list, 'x'))
      if (part.getAsInteger(10, dims.emplace_back()))
        return;
    shapes[name] = dims;
  }
  // A symbol is the same number wherever it stands.
  for (const ValueInfo &info : file.model().graph.inputs) {
    auto given = shapes.find(info.name);
    if (given == shapes.end() || given->second.size() != info.dims.size())
      continue;
    for (auto [dim, number] : llvm::zip(info.dims, given->second))
      if (!dim.value && !dim.symbol.empty() && number >= 0)
        symbolValues.try_emplace(dim.symbol, number);
  }
}

} // namespace dlc::onnx
