//===- Subscripts.cpp - x[:, 0, None] in forward ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/ForwardLowering.h"
#include "ir/dl/DLDialect.h"
#include "ir/dl/base/DimNeeds.h"
#include "ir/dl/base/ModuleSymbols.h"

using namespace mlir;

namespace dlc::frontend {

/// Returns the dim that `function` of dims gives. Reports an error and returns null where one of
/// them is counted or the model has too many dims.
AffineExpr ForwardLowering::computed(dl::SizeFunction function, ArrayRef<AffineExpr> dims,
                                     llvm::SMLoc loc) {
  SmallVector<Attribute> operands;
  for (AffineExpr dim : dims)
    operands.push_back(AffineMapAttr::get(dl::dimsMap(dl::normalize(dim), context)));
  auto size = dl::DerivedAttr::get(context, function, operands);
  if (AffineExpr dim = emitter.derive(size))
    return dim;
  diagnostics.error(loc) << "a bound of this slice is " << dl::text(size, diagnostics.module)
                         << ", of a size that is counted, or the model has more than "
                         << dl::kMaxDeclared << " dims that vary";
  return {};
}

/// Returns the place of a slice's bound in a dim of `size`. The bound is a number or a dim; it
/// counts from the end where it is negative. Returns null after an error.
AffineExpr ForwardLowering::placeOf(const Item &bound, AffineExpr size) {
  AffineExpr place = bound.asDim(context);
  auto range = dl::rangeOf(place, dl::symbolRanges(module));
  if (range && (range->min >= 0 || range->max < 0))
    return range->min >= 0 ? place : dl::normalize(size + place);
  AffineExpr isNegative =
      computed(dl::SizeFunction::less, {place, dl::constantDim(0, context)}, bound.loc);
  return isNegative
             ? computed(dl::SizeFunction::select, {isNegative, size + place, place}, bound.loc)
             : AffineExpr();
}

/// The indices of a dim from `start` on, `length` of them.
Value ForwardLowering::part(Value x, int64_t dim, AffineExpr start, AffineExpr length,
                            llvm::SMLoc loc) {
  Item item = call("narrow", loc,
                   {{{}, loc, {x, loc}},
                    {"dim", loc, {dim, loc}},
                    {"start", loc, Item::dim(dl::normalize(start), loc)},
                    {"length", loc, Item::dim(dl::normalize(length), loc)}});
  return item.isTensor() ? item.as<Value>() : Value();
}

/// `x[2:T]` or `x[P:P + T]`: the part between two places, which are cut to those that x has, as in
/// Python.
Value ForwardLowering::sliceByDims(Value x, int64_t dim, const Item &start, const Item &stop,
                                   llvm::SMLoc loc) {
  AffineExpr size = dl::getDims(cast<RankedTensorType>(x.getType()))[dim];
  AffineExpr none = dl::constantDim(0, context);
  // Limits a place to `least` below and to x's size above; `least` is at most that size.
  auto within = [&](AffineExpr place, AffineExpr least) {
    AffineExpr low = place ? computed(dl::SizeFunction::max, {place, least}, loc) : place;
    return low && !dl::isAtMost(place, size, module)
               ? computed(dl::SizeFunction::min, {low, size}, loc)
               : low;
  };
  AffineExpr first = start.is<Item::None>() ? none : within(placeOf(start, size), none);
  if (!first)
    return {};
  AffineExpr last = stop.is<Item::None>() ? size : within(placeOf(stop, size), first);
  return last ? part(x, dim, first, last - first, loc) : Value();
}

/// Takes each `step`th index of a dim. Returns x where the step is 1.
Value ForwardLowering::everyOf(Value x, int64_t dim, std::optional<int64_t> step, llvm::SMLoc loc) {
  if (!x || step.value_or(1) == 1)
    return x;
  Item item = call("slice", loc,
                   {{{}, loc, {x, loc}}, {"dim", loc, {dim, loc}}, {"step", loc, {*step, loc}}});
  return item.isTensor() ? item.as<Value>() : Value();
}

Value ForwardLowering::slice(Value x, int64_t dim, const Index &index) {
  bool good = true;
  auto evaluated = [&](const ExprPtr &expr) {
    return expr ? evaluate(*expr) : Item{Item::None(), index.loc};
  };
  Item begin = evaluated(index.start), end = evaluated(index.stop);
  auto step = bound(index.step, "the step of a slice", good);
  const bool isByDims = begin.is<AffineExpr>() || end.is<AffineExpr>();
  auto number = [&](const Item &item, StringRef what) {
    return item.is<AffineExpr>() ? std::nullopt : bound(item, item.loc, what, good);
  };
  auto start = number(begin, "the start of a slice"), stop = number(end, "the end of a slice");
  if (!good)
    return {};
  if (isByDims)
    return everyOf(sliceByDims(x, dim, begin, end, index.loc), dim, step, index.loc);
  if (!start && !stop && step.value_or(1) == 1)
    return x;
  AffineExpr size = dl::getDims(cast<RankedTensorType>(x.getType()))[dim];
  // A dim whose size the data say is cut to what it has, counted or read.
  bool isCut = emitter.isCounted(size) && start.value_or(0) >= 0 && stop.value_or(0) >= 0 &&
               step.value_or(1) == 1;
  auto isRead = [&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    return symbol && model.symbols[symbol.getPosition()].isRead ? WalkResult::interrupt()
                                                                : WalkResult::advance();
  };
  if (start.value_or(0) == 0 && stop.value_or(-1) >= 0 && step.value_or(1) == 1 &&
      size.walk(isRead).wasInterrupted()) {
    Location loc = diagnostics.translate(index.loc);
    Value most = emitter.full(loc, {*stop, index.loc}, dl::makeTensor({}, builder.getI64Type()));
    return emitter.head(loc, x, most, dim);
  }
  if (!dl::asConstant(size) && !isCut) {
    auto range = dl::rangeOf(size, dl::symbolRanges(module));
    auto liesWithin = [&](std::optional<int64_t> place) {
      return !place || (range && (*place < 0 ? -range->min <= *place : *place <= range->min));
    };
    if (!liesWithin(start) || !liesWithin(stop))
      return everyOf(sliceByDims(x, dim, begin, end, index.loc), dim, step, index.loc);
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
  bool isComputed = dl::mentions(dims[dim], dl::computedSymbols(module)); // checked when it runs
  if (!isComputed && (!range || (position < 0 ? position < -range->min : range->min <= position))) {
    auto error = diagnostics.error(loc);
    error << "index " << position << " lies outside a dim of "
          << dl::text(dims[dim], diagnostics.module);
    if (range && range->min != range->max) {
      error << ", which may be " << range->min;
      dl::adviseRange(error, {dims[dim], position < 0 ? -position : position + 1, {}}, module);
    }
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
  // `encoder.layer[0].weight`, or a layer of a list.
  if (auto item = evaluatePath(expr))
    return *item;
  Item base = evaluate(*expr.base);
  if (base.isPoison())
    return base;
  if (base.is<Item::List>())
    return indexList(base, expr);
  if (base.isTensor())
    return indexTensor(base, expr);
  diagnostics.error(expr.loc) << "only tensors and lists can be indexed, got "
                              << describe(base, diagnostics.module);
  return poison(expr.loc);
}

Item ForwardLowering::indexTensor(const Item &base, const SubscriptExpr &expr) {
  Value x = base.as<Value>();
  int64_t rank = base.tensorType().getRank(), dim = 0, read = 0;
  bool hasEllipsis = false;
  for (auto [position, index] : llvm::enumerate(expr.indices)) {
    if (index.isEllipsis) {
      if (std::exchange(hasEllipsis, true)) {
        diagnostics.error(index.loc) << "a second '...'; expected at most one";
        return poison(expr.loc);
      }
      // As many dims as the indices behind it leave.
      int64_t left = rank - read;
      for (const Index &other : ArrayRef(expr.indices).drop_front(position + 1))
        left -= !other.value || !llvm::isa<NoneExpr>(*other.value);
      left = std::max<int64_t>(left, 0);
      dim += left;
      read += left;
      continue;
    }
    Item value = index.isSlice ? Item{Item::None(), index.loc} : evaluate(*index.value);
    if (value.is<Item::Poison>())
      return value;
    bool isNew = !index.isSlice && value.is<Item::None>();
    if (!isNew && read++ == rank) {
      diagnostics.error(index.loc)
          << "too many indices for " << dl::text(base.as<Value>()) << "; expected at most " << rank;
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
    } else if (value.is<AffineExpr>()) {
      dl::Dims dims = dl::getDims(cast<RankedTensorType>(x.getType()));
      AffineExpr place = placeOf(value, dims[dim]);
      x = place ? part(x, dim, place, dl::constantDim(1, context), index.loc) : Value();
      if (x) {
        dims.erase(dims.begin() + dim);
        x = emitter.reshape(diagnostics.translate(index.loc), x, dims);
      }
    } else if (value.isTensor() && expr.indices.size() == 1) {
      return call("index", index.loc, {{{}, index.loc, base}, {{}, index.loc, value}});
    } else if (value.isTensor()) {
      diagnostics.error(index.loc) << "a tensor stands alone in an index, as in x[index]; of other "
                                      "dims, index_select takes elements";
      return poison(expr.loc);
    } else {
      diagnostics.error(index.loc) << "an index is " << describe(value, diagnostics.module)
                                   << "; expected an integer, a slice or None";
      return poison(expr.loc);
    }
    if (!x)
      return poison(expr.loc);
  }
  return {x, expr.loc};
}

} // namespace dlc::frontend
