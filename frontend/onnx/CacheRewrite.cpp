//===- CacheRewrite.cpp - A function whose past has a fixed size --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/CacheRewrite.h"

#include "frontend/Spelling.h"
#include "ir/analysis/CountedDims.h"

#include <limits>

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

//===- What becomes of each op ----------------------------------------------------------------===//

bool CacheRewrite::isTouched(Operation *op) const {
  auto isType = [&](mlir::Value value) {
    return llvm::any_of(dl::dimsOf(value), [&](AffineExpr dim) { return mentionsPast(dim); });
  };
  if (llvm::any_of(op->getOperands(), isType) || llvm::any_of(op->getResults(), isType))
    return true;
  return llvm::any_of(op->getAttrs(), [&](NamedAttribute attribute) {
    auto map = dyn_cast<AffineMapAttr>(attribute.getValue());
    return map && llvm::any_of(map.getValue().getResults(),
                               [&](AffineExpr dim) { return mentionsPast(dim); });
  });
}

std::optional<int64_t> CacheRewrite::cachedDim(mlir::Value x) const {
  dl::Dims dims = dl::dimsOf(x);
  auto *found = llvm::find(dims, whole);
  return found == dims.end() ? std::nullopt : std::optional<int64_t>(found - dims.begin());
}

/// Whether a reshape leaves the one dim of x that `isPadded` as it is: as many elements are before
/// and after it as there were.
static bool keepsDim(dl::ReshapeOp reshape, function_ref<bool(AffineExpr)> isPadded) {
  MLIRContext *context = reshape.getContext();
  dl::Dims from = dl::dimsOf(reshape.getX()), to = dl::dimsOf(reshape->getResult(0));
  auto at = llvm::find_if(from, isPadded), there = llvm::find_if(to, isPadded);
  if (at == from.end() || there == to.end() || *at != *there)
    return false;
  auto isSame = [&](ArrayRef<AffineExpr> one, ArrayRef<AffineExpr> other) {
    AffineExpr count = dl::normalize(dl::product(one, context));
    return !isPadded(count) && count == dl::normalize(dl::product(other, context));
  };
  return isSame({from.begin(), at}, {to.begin(), there}) &&
         isSame({at + 1, from.end()}, {there + 1, to.end()});
}

/// Ops that only move elements, each real one from a real one, so that what is 0 stays 0.
bool CacheRewrite::staysZero(Operation *op) const {
  return isa<dl::CastOp, dl::BroadcastOp, dl::ReshapeOp, dl::PermuteOp, dl::TransposeOp>(op) &&
         zeros.contains(op->getOperand(0)) && cachedDim(op->getResult(0));
}

/// A sum of the past's size and what does not depend on it: real elements have the same indices in
/// a dim of a cache.
bool CacheRewrite::isPlain(mlir::Value x) const {
  return llvm::all_of(dl::dimsOf(x), [&](AffineExpr dim) {
    return !mentionsPast(dim) ||
           !mentionsPast(dl::normalize(dim - getAffineSymbolExpr(past, context)));
  });
}

std::string CacheRewrite::planNumber(Operation *op, AffineExpr number) {
  auto range = dyn_cast<dl::ArangeOp>(op);
  if (!linear(number) ||
      (range && mentionsPast(dl::normalize(range.getEnd().getResult(0) - number))))
    return "it counts with " + dl::text(number, function) +
           "; beside a cache dlc takes multiples of the past's size and what is added to it";
  changes[op] = {range ? Change::positions : Change::number, {}};
  if (range)
    places.insert(op->getResult(0));
  return {};
}

std::string CacheRewrite::planOp(Operation *op) {
  for (mlir::Value value : op->getOperands())
    if (!isPlain(value))
      return "it takes " + dl::text(value) + ", of which a dim is no sum with the past's size";
  auto rankOf = [&] { return dl::typeOf(op->getOperand(0)).getRank(); };
  if (staysZero(op))
    zeros.insert(op->getResult(0));
  if (auto scalar = dyn_cast<dl::ScalarTensorOp>(op))
    return planNumber(op, scalar.getS().getResult(0));
  if (auto range = dyn_cast<dl::ArangeOp>(op);
      range && range.getStart() && mentionsPast(range.getStart()->getResult(0)))
    return planNumber(op, range.getStart()->getResult(0));
  if (auto softmax = dyn_cast<dl::SoftmaxOp>(op);
      softmax &&
      cachedDim(op->getResult(0)) == *dl::wrapDim(std::nullopt, "", softmax.getDim(), rankOf())) {
    masks[&op->getOpOperand(0)] = *cachedDim(op->getResult(0));
    changes[op] = {Change::maskSoftmax, {}};
    zeros.insert(op->getResult(0));
    return {};
  }
  // The new part begins where the past ends.
  if (auto joined = dyn_cast<dl::CatOp>(op)) {
    int64_t dim = *dl::wrapDim(std::nullopt, "", joined.getDim(), rankOf());
    auto grows = [&](mlir::Value x) { return mentionsPast(dl::dimsOf(x)[dim]); };
    if (grows(joined.getTensors().front()) &&
        llvm::none_of(joined.getTensors().drop_front(), grows)) {
      changes[op] = {Change::append, {}};
      begins[op] = dl::dimsOf(joined.getTensors().front())[dim];
      return {};
    }
  }
  if (auto reshape = dyn_cast<dl::ReshapeOp>(op);
      reshape && keepsDim(reshape, [&](AffineExpr dim) { return mentionsPast(dim); }))
    return {};
  // Each element of a running sum depends on those before it alone, and positions are real ones.
  if (isa<dl::CumsumOp>(op))
    return {};
  if (auto select = dyn_cast<dl::IndexSelectOp>(op); select && places.contains(select.getIndex()))
    return {};
  if (!mixesPadding(op, padded))
    return {};
  if (!isa<dl::MatmulOp, dl::EinsumOp, dl::SumOp>(op))
    return "'" + op->getName().stripDialect().str() + "' of " +
           dl::text(op->getNumOperands() ? op->getOperand(0) : op->getResult(0)) +
           " would mix in the places of the cache that are not taken yet; dlc keeps these apart in "
           "softmax, sums and products";
  for (OpOperand &operand : op->getOpOperands())
    if (auto dim = cachedDim(operand.get()); dim && !zeros.contains(operand.get()))
      masks[&operand] = *dim;
  changes[op] = {Change::maskSum, {}};
  return {};
}

void CacheRewrite::plan(const llvm::DenseMap<Operation *, BlockArgument> &growing,
                        function_ref<void(Operation *, const llvm::Twine &)> report) {
  llvm::DenseSet<mlir::Value> states;
  for (auto [op, state] : growing)
    states.insert(state);
  for (BlockArgument argument : function.getArguments()) {
    if (states.contains(argument))
      continue;
    dl::Dims dims = dl::dimsOf(argument);
    for (auto [position, dim] : llvm::enumerate(dims))
      if (dim == whole &&
          llvm::count_if(dims, [&](AffineExpr other) { return mentionsPast(other); }) == 1)
        partial.push_back({argument, position});
      else if (mentionsPast(dim))
        report(
            nullptr,
            "input " +
                quote(function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "dl.name")) +
                " is " + dl::text(argument) + "; beside a cache dlc takes inputs of " +
                dl::text(whole, function) + " along one dim, of which the run then brings " +
                dl::text(step, function));
  }
  for (Operation &op : function.front().without_terminator()) {
    if (auto state = growing.find(&op); state != growing.end()) {
      changes[&op] = {Change::append, state->second};
      zeros.insert(op.getResult(0));
      continue;
    }
    if (isa<dl::CastOp, dl::ReshapeOp, dl::BroadcastOp>(op) && places.contains(op.getOperand(0)))
      places.insert(op.getResult(0));
    if (!isTouched(&op))
      continue;
    if (llvm::any_of(op.getOperands(), [&](mlir::Value x) { return states.contains(x); })) {
      report(&op, "it works with the past alone, which in a cache is not apart from the new part; "
                  "expected the past joined to the new part");
      continue;
    }
    if (std::string problem = planOp(&op); !problem.empty())
      report(&op, problem);
  }
  Operation *ret = function.front().getTerminator();
  for (auto [number, result] : llvm::enumerate(ret->getOperands()))
    if (!function.getResultAttr(number, "dl.state") &&
        llvm::any_of(dl::dimsOf(result), [&](AffineExpr dim) { return mentionsPast(dim); }))
      report(
          nullptr,
          "output " + quote(function.getResultAttrOfType<StringAttr>(number, "dl.name")) + " is " +
              dl::text(result) +
              ", as large as past and new together, and with a cache nothing is; leave it out of "
              "the model, or make a state of it, too");
}

//===- The new function -----------------------------------------------------------------------===//

AffineExpr CacheRewrite::resized(AffineExpr dim) const {
  // Symbols after the past move up.
  SmallVector<AffineExpr> by;
  auto moved = [&](unsigned symbol) {
    return getAffineSymbolExpr(symbol - (symbol > past), context);
  };
  SmallVector<AffineExpr> alone;
  for (unsigned symbol = 0; symbol < dl::kMaxSymbols; ++symbol)
    alone.push_back(moved(symbol));
  for (unsigned symbol = 0; symbol < dl::kMaxSymbols; ++symbol)
    by.push_back(symbol == past ? dl::constantDim(capacity, context) - step.replaceSymbols(alone)
                                : alone[symbol]);
  return dl::normalize(dim.replaceSymbols(by));
}

RankedTensorType CacheRewrite::resized(RankedTensorType type) const {
  dl::Dims dims = dl::getDims(type);
  for (AffineExpr &dim : dims)
    dim = resized(dim);
  return dl::makeTensor(dims, type.getElementType(), dl::getLayout(type));
}

void CacheRewrite::resizeAttributes(Operation *op) {
  for (NamedAttribute attribute : llvm::to_vector(op->getAttrs()))
    if (auto map = dyn_cast<AffineMapAttr>(attribute.getValue());
        map && map.getValue().getNumDims() == 0) {
      dl::Dims dims;
      for (AffineExpr dim : map.getValue().getResults())
        dims.push_back(resized(dim));
      op->setAttr(attribute.getName(), AffineMapAttr::get(dl::dimsMap(dims, context)));
    }
}

BlockArgument CacheRewrite::addState(const std::string &name, RankedTensorType type) {
  OpBuilder builder(context);
  auto attributes =
      builder.getDictionaryAttr({builder.getNamedAttr("dl.name", builder.getStringAttr(name)),
                                 builder.getNamedAttr("dl.state", builder.getUnitAttr())});
  unsigned position = function.getNumArguments();
  (void)function.insertArgument(position, type, attributes, function.getLoc());
  return function.getArgument(position);
}

static std::string freeName(std::string name, ArrayRef<std::string> taken) {
  while (llvm::is_contained(taken, name))
    name += "_";
  return name;
}

std::optional<std::pair<int64_t, AffineExpr>> CacheRewrite::linear(AffineExpr number) const {
  auto with = [&](int64_t value) {
    SmallVector<AffineExpr> by;
    for (unsigned symbol = 0; symbol < dl::kMaxSymbols; ++symbol)
      by.push_back(symbol == past ? dl::constantDim(value, context)
                                  : getAffineSymbolExpr(symbol, context));
    return dl::normalize(number.replaceSymbols(by));
  };
  AffineExpr rest = with(0);
  auto factor = dl::asConstant(dl::normalize(with(1) - rest));
  bool isLinear = factor && dl::normalize(getAffineSymbolExpr(past, context) * *factor + rest) ==
                                dl::normalize(number);
  return isLinear ? std::optional(std::pair(*factor, rest)) : std::nullopt;
}

mlir::Value CacheRewrite::numberOf(dl::Builder &b, AffineExpr number, Type dtype) {
  auto [factor, rest] = *linear(number);
  mlir::Value value = b.cast(length, dtype);
  if (factor != 1)
    value = b.make<dl::MulOp>(value, b.fullLike(value, static_cast<double>(factor)));
  if (!dl::isConstant(rest, 0))
    value = b.make<dl::AddOp>(value, b.make<dl::ScalarTensorOp>(dl::dimsMap(resized(rest), context),
                                                                TypeAttr::get(dtype)));
  return value;
}

/// `x` where positions are taken, `fill` beyond.
mlir::Value CacheRewrite::masked(dl::Builder &b, mlir::Value x, int64_t dim, double fill) {
  if (!valid) {
    dl::Builder first(function.getLoc(), context);
    first.setInsertionPointAfterValue(length);
    Type i64 = first.getI64Type();
    mlir::Value end = numberOf(first, whole, i64);
    mlir::Value places =
        first.make<dl::ArangeOp>(dl::dimsMap(dl::constantDim(capacity, context), context),
                                 AffineMapAttr(), uint64_t(1), TypeAttr());
    valid = first.make<dl::LtOp>(places, first.broadcast(end, dl::dimsOf(places)));
  }
  dl::Dims dims = dl::dimsOf(x), apart(dims.size(), dl::constantDim(1, context));
  apart[dim] = dims[dim];
  return b.make<dl::WhereOp>(b.broadcast(b.reshape(valid, apart), dims), x, b.fullLike(x, fill));
}

void CacheRewrite::change(Operation *op, Change how, BlockArgument state) {
  dl::Builder b(op);
  Type dtype = dl::typeOf(op->getResult(0)).getElementType();
  mlir::Value made;
  if (how == Change::append) {
    auto joined = cast<dl::CatOp>(op);
    SmallVector<mlir::Value> parts(op->getOperands().drop_front());
    mlir::Value part =
        parts.size() == 1 ? parts.front() : b.make<dl::CatOp>(ValueRange(parts), joined.getDim());
    // A join of other tensors keeps its size; places that are not taken yet are written over.
    mlir::Value all = state ? mlir::Value(state)
                            : b.make<dl::CatOp>(ValueRange(op->getOperands()), joined.getDim());
    made = b.make<dl::UpdateSliceOp>(
        all, joined.getDim(), state ? length : numberOf(b, begins.lookup(op), b.getI64Type()),
        part);
  } else if (how == Change::number) {
    made = numberOf(b, cast<dl::ScalarTensorOp>(op).getS().getResult(0), dtype);
  } else if (how == Change::positions) {
    auto range = cast<dl::ArangeOp>(op);
    AffineExpr start = range.getStart()->getResult(0);
    mlir::Value first = numberOf(b, start, dtype);
    AffineExpr count = dl::normalize(range.getEnd().getResult(0) - start);
    mlir::Value places = b.make<dl::ArangeOp>(dl::dimsMap(resized(count), context), AffineMapAttr(),
                                              range.getStep(), TypeAttr::get(dtype));
    made = b.make<dl::AddOp>(places, b.broadcast(first, dl::dimsOf(places)));
  } else {
    double fill = how == Change::maskSoftmax ? -std::numeric_limits<double>::infinity() : 0.0;
    for (OpOperand &operand : op->getOpOperands())
      if (auto dim = masks.find(&operand); dim != masks.end())
        operand.set(masked(b, operand.get(), dim->second, fill));
    return;
  }
  op->getResult(0).replaceAllUsesWith(made);
  op->erase();
}

void CacheRewrite::apply(ArrayRef<std::string> taken) {
  Operation *ret = function.front().getTerminator();
  SmallVector<mlir::Value> nexts;
  // Types first, so that what is built from here on has those of the new function.
  for (BlockArgument argument : function.getArguments())
    argument.setType(resized(dl::typeOf(argument)));
  for (Operation &op : function.front().without_terminator()) {
    for (mlir::Value result : op.getResults())
      result.setType(resized(dl::typeOf(result)));
    auto found = changes.find(&op);
    if (found == changes.end() || found->second.first > Change::positions)
      resizeAttributes(&op);
  }
  for (auto &[op, how] : changes)
    if (how.second)
      how.second.setType(op->getResult(0).getType());
  Type i64 = IntegerType::get(context, 64);
  length = addState(freeName("length", taken), dl::makeTensor({}, i64));
  SmallVector<std::pair<BlockArgument, int64_t>> held;
  for (auto [input, dim] : partial) {
    StringRef name =
        function.getArgAttrOfType<StringAttr>(input.getArgNumber(), "dl.name").strref();
    held.push_back({addState(freeName("past_" + name.str(), taken), dl::typeOf(input)), dim});
  }
  dl::Builder b(function.getLoc(), context);
  b.setInsertionPointToStart(&function.front());
  AffineExpr part = resized(step);
  nexts.push_back(numberOf(b, whole, i64));
  for (auto [input, state] : llvm::zip(partial, held)) {
    dl::Dims dims = dl::dimsOf(input.first);
    dims[input.second] = part;
    input.first.setType(dl::makeTensor(dims, dl::typeOf(input.first).getElementType()));
    mlir::Value all = b.make<dl::UpdateSliceOp>(state.first, static_cast<uint64_t>(state.second),
                                                length, input.first);
    input.first.replaceAllUsesExcept(all, all.getDefiningOp());
    nexts.push_back(all);
  }
  for (auto &[op, how] : llvm::to_vector(changes))
    change(op, how.first, how.second);
  ret->insertOperands(ret->getNumOperands(), nexts);
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i + nexts.size() < ret->getNumOperands(); ++i)
    attributes.push_back(function.getResultAttrDict(i));
  for (unsigned i = 0; i < nexts.size(); ++i)
    attributes.push_back(function.getArgAttrDict(function.getNumArguments() - nexts.size() + i));
  SmallVector<Type> types;
  for (BlockArgument argument : function.getArguments())
    types.push_back(argument.getType());
  function.setType(FunctionType::get(context, types, ret->getOperandTypes()));
  function.setAllResultAttrs(attributes);
}

} // namespace dlc::onnx
