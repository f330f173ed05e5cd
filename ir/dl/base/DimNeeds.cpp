//===- DimNeeds.cpp - The sizes that ops need, and the ranges that give them --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DimNeeds.h"

#include "ir/dl/base/DLBuilder.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc::dl {

//===- Needs ----------------------------------------------------------------------------------===//

namespace {
/// Collects the needs of one op.
struct Collector {
  SmallVector<DimNeed> &needs;

  void add(Value tensor, unsigned position, int64_t least) {
    Dim size = dimsOf(tensor)[position];
    if (!asConstant(size))
      needs.push_back({size, least, tensor, position});
  }
  /// Two sizes that must be equal: both sides are kept for the message.
  void addEqual(Value tensor, unsigned position, Dim left, Dim right) {
    if (left != right)
      needs.push_back({normalize(left - right), 0, tensor, position, {}, left, right});
  }
  /// Each dim from `first` on.
  void addFrom(Value tensor, unsigned first, int64_t least) {
    for (unsigned position = first; position < dimsOf(tensor).size(); ++position)
      add(tensor, position, least);
  }
  /// The dims that are reduced: those that are named, or all.
  void addReduced(Value x, ArrayRef<int64_t> dims) {
    int64_t rank = dimsOf(x).size();
    for (int64_t position = 0; position < rank; ++position)
      if (dims.empty() || llvm::is_contained(dims, position) ||
          llvm::is_contained(dims, position - rank))
        add(x, position, 1);
  }
  /// `tensor` holds a window at its dims from 2 on.
  template <typename Op> void addWindow(Op op, Value tensor) {
    for (auto [i, size] : llvm::enumerate(op.getKernelSize()))
      add(tensor, 2 + i, op.getDilation()[i] * (size - 1) + 1 - 2 * op.getPadding()[i]);
  }
};
} // namespace

static ArrayRef<int64_t> listOf(const std::optional<uint64_t> &dim, int64_t &storage) {
  if (!dim)
    return {};
  storage = static_cast<int64_t>(*dim);
  return storage;
}

/// A border that is made of what lies beside it: that must exist.
static void addBorders(Collector &collect, PadOp op) {
  if (op.getMode() == "constant")
    return;
  AffineMap pad = op.getPad(); // numbers in these modes
  unsigned rank = dimsOf(op.getX()).size();
  for (unsigned i = 0; i < pad.getNumResults() / 2; ++i) {
    int64_t low = *asConstant(pad.getResult(2 * i)), high = *asConstant(pad.getResult(2 * i + 1));
    if (int64_t widest = std::max(low, high), narrowest = std::min(low, high); widest > 0)
      collect.add(op.getX(), rank - 1 - i,
                  op.getMode() == "reflect"    ? widest + 1
                  : op.getMode() == "circular" ? widest - std::min<int64_t>(narrowest, 0)
                                               : 1);
  }
}

bool isCheckedWhenBound(Dim size, Dim end, ModuleOp module, Dim first) {
  first = first ? first : end;
  if (module && mentions({size, first, end}, countedSymbols(module)))
    return false; // the data say it after the op ran
  if (module && mentions({size, first, end}, computedSymbols(module)))
    return true;
  unsigned count = 0;
  for (unsigned symbol = 0; symbol < kMaxSymbols; ++symbol)
    count += end.isFunctionOfSymbol(symbol);
  return asConstant(size) && count > 1;
}

SmallVector<DimNeed> needsOf(Operation *op) {
  SmallVector<DimNeed> needs;
  Collector collect{needs};
  int64_t dim = 0;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](TopkOp topk) {
        collect.add(topk.getX(),
                    *wrapDim(std::nullopt, "", topk.getDim(), dimsOf(topk.getX()).size()),
                    topk.getK());
      })
      .Case<SliceOp, SelectOp, NarrowOp, PartOp>([&](auto part) {
        int64_t position = *wrapDim(std::nullopt, "", part.getDim(), dimsOf(part.getX()).size());
        Dim size = dimsOf(part.getX())[position];
        auto [first, end] = takenBy(part);
        if (!first || !isCheckedWhenBound(size, end, op->getParentOfType<ModuleOp>(), first))
          return;
        for (Dim room : {first, normalize(size - end)})
          if (!asConstant(room))
            needs.push_back({room, 0, part.getX(), static_cast<unsigned>(position), end});
      })
      .Case([&](ExpectDimsOp expected) {
        Dims dims = dimsOf(expected.getY());
        for (auto [position, size] : llvm::enumerate(dimsOf(expected.getX())))
          collect.addEqual(expected.getX(), position, size, dims[position]);
      })
      .Case([&](ReshapeOp reshape) {
        MLIRContext *context = reshape.getContext();
        collect.addEqual(reshape.getX(), 0, product(dimsOf(reshape.getX()), context),
                         product(dimsOf(reshape.getY()), context));
      })
      .Case([&](PadOp pad) { addBorders(collect, pad); })
      .Case<AmaxOp, AminOp>(
          [&](auto extreme) { collect.addReduced(extreme.getX(), extreme.getDim()); })
      .Case<ArgmaxOp, ArgminOp>(
          [&](auto extreme) { collect.addReduced(extreme.getX(), listOf(extreme.getDim(), dim)); })
      .Case<MaxDimOp, MinDimOp>([&](auto extreme) {
        collect.addReduced(extreme.getX(), static_cast<int64_t>(extreme.getDim()));
      })
      // A window larger than its padded input, as of static dims.
      .Case<Conv1dOp, Conv2dOp, Conv3dOp, DeformConv2dOp, DeformPatchesOp, MaxPool1dOp, MaxPool2dOp,
            MaxPool3dOp, MaxPositions1dOp, MaxPositions2dOp, MaxPool1dWithIndicesOp,
            MaxPool2dWithIndicesOp, AvgPool1dOp, AvgPool2dOp, AvgPool3dOp, ResampleOp, Upfirdn2dOp>(
          [&](Operation *window) { collect.addFrom(window->getResult(0), 2, 1); })
      // Products of places hide the sign of each.
      .Case<UnfoldOp, PatchesOp>([&](auto unfold) { collect.addWindow(unfold, unfold.getX()); })
      .Case([&](UnfoldDimOp unfold) {
        Value x = unfold.getX();
        collect.add(x, *wrapDim(std::nullopt, "", unfold.getDimension(), dimsOf(x).size()),
                    unfold.getSize());
      })
      .Case([&](FoldOp fold) { collect.addWindow(fold, fold.getY()); })
      .Case([&](InterpolateOp resize) {
        collect.addFrom(resize.getX(), 2, 1);
        collect.addFrom(resize.getY(), 2, 1);
      })
      .Case<AdaptiveAvgPool1dOp, AdaptiveAvgPool2dOp, AdaptiveMaxPool1dOp, AdaptiveMaxPool2dOp>(
          [&](auto pool) {
            for (auto [i, size] : llvm::enumerate(pool.getOutputSize()))
              if (size > 0)
                collect.add(pool.getX(), 2 + i, 1);
          });
  for (Value result : op->getResults())
    if (isa<RankedTensorType>(result.getType()))
      collect.addFrom(result, 0, 0);
  return needs;
}

std::string describe(Operation *op, const DimNeed &need) {
  std::string name = op->getName().stripDialect().str(), type = text(need.tensor);
  if (need.left)
    return (isa<ReshapeOp>(op) ? "reshape of " + type + " to " + text(op->getResult(0)) + " needs "
                               : type + ", expected to be " + text(op->getResult(0)) + ", needs ") +
           text(need.left, op) + " and " + text(need.right, op) + " to be equal";
  if (need.tensor.getDefiningOp() == op)
    return name + " gives " + type + ", where " + text(need.size, op) + " must be " +
           std::to_string(need.least) + " or more";
  if (need.end)
    return name + " takes " + text(need.end, op) + " of dim " + std::to_string(need.position) +
           " of " + type + ", where " + text(need.size, op) + " must be " +
           std::to_string(need.least) + " or more";
  return name + " needs " + std::to_string(need.least) + " or more along dim " +
         std::to_string(need.position) + " of " + type;
}

//===- Ranges ---------------------------------------------------------------------------------===//

std::optional<Narrowing> narrowingFor(Dim size, int64_t least, ArrayRef<Range> symbols,
                                      function_ref<bool(unsigned)> mayNarrow) {
  for (unsigned symbol = 0; symbol < symbols.size(); ++symbol) {
    if (!size.isFunctionOfSymbol(symbol) || !mayNarrow(symbol))
      continue;
    SmallVector<Range> ranges(symbols);
    const Range whole = ranges[symbol];
    auto suffices = [&](int64_t min, int64_t max) {
      ranges[symbol] = {min, max, whole.usual};
      auto values = rangeOf(size, ranges);
      return values && values->min >= least;
    };
    // A smaller range never widens that of the size, so that halving finds the bound.
    int64_t good = whole.max, bad = whole.min - 1;
    if (suffices(good, whole.max)) {
      while (good - bad > 1) {
        int64_t middle = bad + (good - bad) / 2;
        (suffices(middle, whole.max) ? good : bad) = middle;
      }
      return Narrowing{symbol, {good, whole.max, whole.usual}};
    }
    good = whole.min, bad = whole.max + 1;
    if (suffices(whole.min, good)) {
      while (bad - good > 1) {
        int64_t middle = good + (bad - good) / 2;
        (suffices(whole.min, middle) ? good : bad) = middle;
      }
      return Narrowing{symbol, {whole.min, good, whole.usual}};
    }
  }
  return std::nullopt;
}

void adviseRange(InFlightDiagnostic &error, const RangeNeed &need, ModuleOp module) {
  if (!error.getUnderlyingDiagnostic())
    return;
  SmallVector<Range> symbols = symbolRanges(module);
  llvm::SmallBitVector counted = countedSymbols(module);
  MLIRContext *context = need.size.getContext();
  auto narrow = narrowingFor(need.size, need.least, symbols,
                             [&](unsigned symbol) { return !counted.test(symbol); });
  if (narrow) {
    auto [name, step, offset] = SymbolNames(module).of(narrow->symbol);
    bool raises = narrow->range.min > symbols[narrow->symbol].min;
    int64_t min = step * narrow->range.min + offset, max = step * narrow->range.max + offset;
    error << "; " << (raises ? "raise the smallest" : "lower the largest") << " value of " << name
          << " to " << (raises ? min : max) << ": dim " << name << " = " << min << ".." << max;
    if (step > 1)
      error << " step " << step;
  } else {
    error << "; change the ranges of its dims so that " << text(need.size, module) << " is "
          << need.least << " or more";
  }
  mlir::Builder builder(context);
  Attribute attribute = builder.getArrayAttr({AffineMapAttr::get(dimsMap(need.size, context)),
                                              builder.getI64IntegerAttr(need.least),
                                              builder.getStringAttr(need.what)});
  error.getUnderlyingDiagnostic()->getMetadata().push_back(DiagnosticArgument(attribute));
}

std::optional<RangeNeed> neededBy(Diagnostic &diagnostic) {
  for (DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      if (auto need = dyn_cast<ArrayAttr>(argument.getAsAttribute()))
        return RangeNeed{cast<AffineMapAttr>(need[0]).getValue().getResult(0),
                         cast<IntegerAttr>(need[1]).getInt(), cast<StringAttr>(need[2]).str()};
  return std::nullopt;
}

/// "model.dl:3:9" or "node 'x' (Conv)"; empty where nothing is known.
static std::string placeOf(Location loc) {
  if (auto place = loc->findInstanceOf<FileLineColLoc>())
    return (place.getFilename().strref() + ":" + Twine(place.getLine()) + ":" +
            Twine(place.getColumn()))
        .str();
  auto name = dyn_cast<NameLoc>(loc);
  return name ? name.getName().str() : std::string();
}

void recordNeeds(ModuleOp module) {
  SmallVector<Range> ranges = symbolRanges(module);
  llvm::SmallBitVector counted = countedSymbols(module);
  struct Open {
    int64_t least;
    std::string why;
    bool isExact;
  };
  llvm::MapVector<AffineExpr, Open> open; // the strongest of each size
  module.walk([&](Operation *op) {
    for (const DimNeed &need : needsOf(op)) {
      auto values = rangeOf(need.size, ranges);
      bool isExact = need.left != nullptr;
      if ((values && values->min >= need.least && (!isExact || values->max <= need.least)) ||
          mentions(need.size, counted))
        continue;
      auto [entry, isNew] = open.insert({need.size, {need.least, {}, false}});
      Open &held = entry->second;
      if (!isNew && (held.isExact || (!isExact && held.least >= need.least)))
        continue;
      std::string place = placeOf(op->getLoc());
      held = {need.least, (place.empty() ? place : place + ": ") + describe(op, need), isExact};
    }
  });
  if (open.empty())
    return;
  mlir::Builder builder(module.getContext());
  SmallVector<Attribute> needs;
  for (const auto &[size, need] : open) {
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr("dim", AffineMapAttr::get(dimsMap(size, module.getContext()))),
        builder.getNamedAttr("least", builder.getI64IntegerAttr(need.least)),
        builder.getNamedAttr("why", builder.getStringAttr(need.why))};
    if (need.isExact)
      entries.push_back(builder.getNamedAttr("exact", builder.getUnitAttr()));
    needs.push_back(builder.getDictionaryAttr(entries));
  }
  module->setAttr("dl.needs", builder.getArrayAttr(needs));
}

} // namespace dlc::dl
