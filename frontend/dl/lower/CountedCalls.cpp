//===- CountedCalls.cpp - Calls on tensors whose sizes the data say -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// While the model runs such a tensor is as large as it may be, its real elements first. An op that
// would mix in its padding gets the whole tensor, the padding masked by what changes nothing, and
// what it gives is cut again.
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/OpEmitter.h"

#include "ir/dl/base/DLBuilder.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dlc::frontend {

/// The number that takes the place of each element of the padding.
enum class OpEmitter::Fill { none, zero, one, lowest, highest, last };

bool OpEmitter::isCounted(AffineExpr dim) const {
  return dim
      .walk([&](AffineExpr part) {
        auto symbol = dyn_cast<AffineSymbolExpr>(part);
        return symbol && symbols[symbol.getPosition()].most ? WalkResult::interrupt()
                                                            : WalkResult::advance();
      })
      .wasInterrupted();
}

//===- Sizes ----------------------------------------------------------------------------------===//

Value OpEmitter::countOf(Location loc, AffineExpr dim) {
  for (const Count &count : counts)
    if (dim == getAffineSymbolExpr(count.symbol, builder.getContext()))
      return count.value;
  if (Value known = sizes.lookup(dim))
    return known;
  dl::Builder b(loc, builder);
  auto binary = dyn_cast<AffineBinaryOpExpr>(dim);
  Value made;
  if (auto constant = dl::asConstant(dim)) {
    made = b.full({}, b.getI64Type(), static_cast<double>(*constant));
  } else if (!binary || !isCounted(dim)) {
    made =
        b.make<dl::ScalarTensorOp>(dl::dimsMap(dim, b.getContext()), TypeAttr::get(b.getI64Type()));
  } else {
    Value left = countOf(loc, binary.getLHS()), right = countOf(loc, binary.getRHS());
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      made = b.make<dl::AddOp>(left, right);
      break;
    case AffineExprKind::Mul:
      made = b.make<dl::MulOp>(left, right);
      break;
    case AffineExprKind::FloorDiv:
      made = b.make<dl::FloorDivideOp>(left, right);
      break;
    case AffineExprKind::Mod:
      made = b.make<dl::RemainderOp>(left, right);
      break;
    default: // up
      made = b.make<dl::FloorDivideOp>(
          b.make<dl::AddOp>(left, b.make<dl::SubOp>(right, b.fullLike(right, 1))), right);
    }
  }
  sizes[dim] = made;
  dimOfSize[made] = dim;
  return made;
}

AffineExpr OpEmitter::paddedDim(AffineExpr dim) const {
  if (!isCounted(dim))
    return dim;
  SmallVector<AffineExpr> sizes;
  for (auto [position, symbol] : llvm::enumerate(symbols))
    sizes.push_back(symbol.most ? symbol.most : getAffineSymbolExpr(position, dim.getContext()));
  return dl::normalize(dim.replaceSymbols(sizes));
}

AffineExpr OpEmitter::smaller(Location loc, AffineExpr a, AffineExpr b) {
  if (dl::asConstant(b) || (isCounted(a) && !isCounted(b)))
    std::swap(a, b);
  if (AffineExpr found = smallerDims.lookup({a, b}))
    return found;
  // As large as either may be.
  AffineExpr most = paddedDim(a), other = paddedDim(b);
  if (auto range = dl::rangeOf(dl::normalize(most - other), dl::symbolRanges(module));
      range && range->min >= 0)
    most = other;
  dl::Builder build(loc, builder);
  Value count = build.make<dl::MinimumOp>(countOf(loc, a), countOf(loc, b));
  AffineExpr size = countedSymbol(loc, "min_count", most, count);
  return smallerDims[{a, b}] = size;
}

Value OpEmitter::cut(Location loc, Value x, int64_t dim, AffineExpr size) {
  if (readsCounts)
    return dl::Builder(loc, builder)
        .make<dl::PartOp>(x, static_cast<uint64_t>(dim), dl::constantMap(0, builder.getContext()),
                          dl::dimsMap(size, builder.getContext()));
  // Each use of the same is one tensor.
  for (Operation *user : x.getUsers())
    if (auto held = llvm::dyn_cast<dl::TrimOp>(user);
        held && held.getDim() == static_cast<uint64_t>(dim) && held.getSize().getResult(0) == size)
      return held;
  return dl::TrimOp::create(builder, loc, x, static_cast<uint64_t>(dim),
                            dl::dimsMap(size, builder.getContext()));
}

Value OpEmitter::padded(Location loc, Value x, int64_t dim) {
  AffineExpr size = dl::dimsOf(x)[dim];
  return isCounted(size) ? cut(loc, x, dim, paddedDim(size)) : x;
}

Value OpEmitter::head(Location loc, Value x, Value count, int64_t dim) {
  AffineExpr size = dl::dimsOf(x)[dim], most = paddedDim(size);
  dl::Builder b(loc, builder);
  if (isCounted(size)) {
    x = padded(loc, x, dim);
    count = b.make<dl::MinimumOp>(b.cast(b.reshape(count, {}), b.getI64Type()), countOf(loc, size));
  }
  AffineExpr &found = headSizes[{count, most}];
  // A count that is the size of a tensor already keeps its symbol.
  for (const Count &held : counts)
    if (!found && held.value == count && symbols[held.symbol].most == most)
      found = getAffineSymbolExpr(held.symbol, b.getContext());
  if (AffineExpr known = dimOfSize.lookup(count); !found && known && paddedDim(known) == most)
    found = known;
  if (!found) {
    Value number = b.cast(b.reshape(count, {}), b.getI64Type());
    Value room = countOf(loc, most);
    number =
        b.make<dl::MaximumOp>(b.make<dl::MinimumOp>(number, room), b.full({}, b.getI64Type(), 0));
    AffineExpr made = countedSymbol(loc, "head_count", most, number);
    if (!made)
      return {};
    headSizes[{count, most}] = made;
    return cut(loc, x, dim, made);
  }
  return cut(loc, x, dim, found);
}

//===- Masks ----------------------------------------------------------------------------------===//

Value OpEmitter::isReal(Location loc, AffineExpr dim) {
  Value &found = realMasks[dim];
  if (!found) {
    dl::Builder b(loc, builder);
    AffineExpr size = paddedDim(dim);
    Value row = b.make<dl::ArangeOp>(dl::dimsMap(size, b.getContext()), AffineMapAttr(),
                                     uint64_t(1), TypeAttr());
    Value mask = b.make<dl::LtOp>(row, b.broadcast(countOf(loc, dim), {size}));
    return realMasks[dim] = mask;
  }
  return found;
}

Value OpEmitter::masked(Location loc, Value x, int64_t dim, Fill fill) {
  Value &found = maskedValues[{x, {static_cast<unsigned>(dim), static_cast<unsigned>(fill)}}];
  if (found)
    return found;
  dl::Builder b(loc, builder);
  AffineExpr size = dl::dimsOf(x)[dim];
  Value whole = padded(loc, x, dim);
  dl::Dims dims = dl::dimsOf(whole), along(dims.size(), dl::constantDim(1, b.getContext()));
  along[dim] = dims[dim];
  Value mask = b.broadcast(b.reshape(isReal(loc, size), along), dims);
  Type dtype = dl::typeOf(x).getElementType(), compute = computeType(dtype);
  TypedAttr number;
  if (auto floating = dyn_cast<FloatType>(compute)) {
    double infinity = std::numeric_limits<double>::infinity();
    number =
        b.getFloatAttr(floating, fill == Fill::lowest    ? -infinity
                                 : fill == Fill::highest ? infinity
                                 : fill == Fill::last    ? std::numeric_limits<double>::quiet_NaN()
                                 : fill == Fill::one     ? 1
                                                         : 0);
  } else {
    unsigned width = dtype.getIntOrFloatBitWidth();
    bool isUnsigned = dtype.isUnsignedInteger() || width == 1;
    llvm::APInt bits(width, fill == Fill::one ? 1 : 0);
    if (fill == Fill::lowest)
      bits = isUnsigned ? llvm::APInt::getZero(width) : llvm::APInt::getSignedMinValue(width);
    else if (fill == Fill::highest || fill == Fill::last)
      bits = isUnsigned ? llvm::APInt::getMaxValue(width) : llvm::APInt::getSignedMaxValue(width);
    unsigned wide = compute.getIntOrFloatBitWidth();
    number =
        b.getIntegerAttr(compute, isUnsigned ? bits.zextOrTrunc(wide) : bits.sextOrTrunc(wide));
  }
  Value other = dl::FullOp::create(b, dl::makeTensor(dims, dtype), number);
  return found = b.make<dl::WhereOp>(mask, whole, other);
}

//===- Calls ----------------------------------------------------------------------------------===//

Value OpEmitter::joined(Location loc, ArrayRef<Value> parts, int64_t dim) {
  SmallVector<AffineExpr> extents;
  SmallVector<Value> wholes, masks;
  dl::Builder b(loc, builder);
  for (Value part : parts) {
    AffineExpr size = dl::dimsOf(part)[dim];
    extents.push_back(size);
    wholes.push_back(isCounted(size) ? padded(loc, part, dim) : part);
    masks.push_back(isCounted(size) ? isReal(loc, size) : b.full({size}, b.getI1Type(), 1));
  }
  // Tensors of the same parts share what is real.
  Value places;
  for (const auto &[held, rows] : joinedParts)
    if (held == extents)
      places = rows;
  if (!places) {
    Value mask = b.make<dl::CatOp>(masks, uint64_t(0));
    const Signature *signature = signaturesOf("nonzero").front();
    Item rows = resultOf(loc, *signature, create(loc, signature->op, mask, {}), false);
    if (!rows.isTensor())
      return {};
    places = b.make<dl::SelectOp>(rows.as<Value>(), uint64_t(1), uint64_t(0));
    joinedParts.push_back({extents, places});
  }
  Value whole = b.make<dl::CatOp>(wholes, static_cast<uint64_t>(dim));
  return b.make<dl::IndexSelectOp>(whole, places, static_cast<uint64_t>(dim));
}

namespace {

/// The attributes of a call.
struct Attributes {
  ArrayRef<NamedAttribute> list;

  Attribute find(StringRef name) const {
    for (NamedAttribute held : list)
      if (held.getName() == name)
        return held.getValue();
    return {};
  }
  std::optional<int64_t> integer(StringRef name) const {
    auto held = llvm::dyn_cast_or_null<IntegerAttr>(find(name));
    return held ? std::optional<int64_t>(held.getInt()) : std::nullopt;
  }
  bool truth(StringRef name, bool otherwise) const {
    auto held = llvm::dyn_cast_or_null<BoolAttr>(find(name));
    return held ? held.getValue() : otherwise;
  }
  /// The dims that the attribute `dim` names; all of `rank` where it names none. Those that are
  /// none are left out.
  SmallVector<int64_t> dims(int64_t rank) const {
    SmallVector<int64_t> named;
    if (auto several = llvm::dyn_cast_or_null<DenseI64ArrayAttr>(find("dim")))
      named.append(several.asArrayRef().begin(), several.asArrayRef().end());
    else if (auto one = integer("dim"))
      named.push_back(*one);
    if (named.empty())
      return llvm::to_vector(llvm::seq<int64_t>(0, rank));
    SmallVector<int64_t> found;
    for (int64_t dim : named)
      if (dim >= -rank && dim < rank)
        found.push_back(dim < 0 ? dim + rank : dim);
    return found;
  }
};

/// How an op is called on a tensor whose size along a dim the data say.
enum class Way {
  none,
  reduction, // the dims go
  mean,
  along,   // the dim stays
  ordered, // the dim stays, or is `k` of it
  joined,
  found,      // the elements that are not zero
  suppressed, // boxes and scores
  indexed,    // data and positions along a dim
  wrapped,    // the same of dim 0, negative positions counted from the end
  selected,
  sliced,
  scattered,
};

} // namespace

static Way wayOf(StringRef op) {
  op.consume_front("dl.");
  return llvm::StringSwitch<Way>(op)
      .Cases({"sum", "prod", "amax", "amin", "any", "all", "count_nonzero", "logsumexp", "norm"},
             Way::reduction)
      .Cases({"argmax", "argmin", "max_dim", "min_dim"}, Way::reduction)
      .Case("mean", Way::mean)
      .Cases({"softmax", "log_softmax", "cumsum"}, Way::along)
      .Cases({"sort", "argsort", "topk"}, Way::ordered)
      .Case("cat", Way::joined)
      .Cases({"nonzero", "masked_select"}, Way::found)
      .Cases({"non_max_suppression", "nms"}, Way::suppressed)
      .Cases({"index_select", "gather"}, Way::indexed)
      .Case("index", Way::wrapped)
      .Case("select", Way::selected)
      .Case("slice", Way::sliced)
      .Cases({"scatter", "scatter_add", "scatter_reduce"}, Way::scattered)
      .Default(Way::none);
}

/// Returns the number that masks the operand of a reduction, or of an op along a dim.
static OpEmitter::Fill fillOf(StringRef op, bool isDescending) {
  using Fill = OpEmitter::Fill;
  op.consume_front("dl.");
  return llvm::StringSwitch<Fill>(op)
      .Cases({"prod", "all"}, Fill::one)
      .Cases({"amax", "argmax", "max_dim", "softmax", "log_softmax", "logsumexp"}, Fill::lowest)
      .Cases({"amin", "argmin", "min_dim"}, Fill::highest)
      .Cases({"sort", "argsort", "topk"}, isDescending ? Fill::lowest : Fill::last)
      .Default(Fill::zero);
}

std::optional<Item> OpEmitter::emitCounted(Location loc, const Signature &signature,
                                           SmallVectorImpl<Value> &operands,
                                           SmallVectorImpl<NamedAttribute> &attributes,
                                           ArrayRef<StringRef> names) {
  if (counts.empty())
    return std::nullopt;
  StringRef op = signature.op;
  Attributes given{attributes};
  MLIRContext *context = builder.getContext();
  dl::Builder b(loc, builder);
  if (op == dl::ScalarTensorOp::getOperationName()) {
    AffineExpr size = llvm::cast<AffineMapAttr>(given.find("s")).getValue().getResult(0);
    auto dtype = llvm::dyn_cast_or_null<TypeAttr>(given.find("dtype"));
    if (!isCounted(size))
      return std::nullopt;
    return Item{cast(loc, countOf(loc, size), dtype ? dtype.getValue() : b.getF32Type()), {}};
  }
  Way way = wayOf(op);
  if (way == Way::none || llvm::none_of(operands, [&](Value operand) {
        return operand &&
               llvm::any_of(dl::dimsOf(operand), [&](AffineExpr dim) { return isCounted(dim); });
      }))
    return std::nullopt;
  dl::Dims dims = dl::dimsOf(operands.front());
  auto rank = static_cast<int64_t>(dims.size());
  SmallVector<int64_t> named = given.dims(rank);
  auto isCountedAlong = [&](int64_t dim) { return isCounted(dims[dim]); };
  auto make = [&] {
    return resultOf(loc, signature, create(loc, op, operands, attributes, names), false);
  };
  /// The results cut to `count` along a dim.
  auto firsts = [&](Item made, Value count, int64_t dim) -> Item {
    if (made.isTensor()) {
      Value part = head(loc, made.as<Value>(), count, dim);
      return part ? Item{part, {}} : Item{Item::Poison(), {}};
    }
    if (!made.is<Item::List>())
      return made;
    Item::List list;
    for (const Item &one : made.as<Item::List>()) {
      Value part = head(loc, one.as<Value>(), count, dim);
      if (!part)
        return {Item::Poison(), {}};
      list.push_back({part, {}});
    }
    return {std::move(list), {}};
  };
  switch (way) {
  case Way::none:
    break;
  case Way::reduction:
  case Way::mean: {
    if (llvm::none_of(named, isCountedAlong) ||
        (!given.find("dim") && rank > 1 && op.contains("arg")))
      break;
    Value number;
    for (int64_t dim : named) {
      if (!isCountedAlong(dim) && way == Way::reduction)
        continue;
      if (way == Way::mean) {
        Value size = countOf(loc, dims[dim]);
        number = number ? b.make<dl::MulOp>(number, size) : size;
      }
      if (isCountedAlong(dim))
        operands[0] = masked(loc, operands[0], dim, fillOf(op, false));
    }
    if (way == Way::reduction)
      return make();
    Operation *total = create(loc, dl::SumOp::getOperationName(), operands, attributes, names);
    if (!total)
      return Item{Item::Poison(), {}};
    Value sum = total->getResult(0);
    return Item{b.make<dl::DivOp>(sum, b.broadcast(b.cast(number, dl::typeOf(sum).getElementType()),
                                                   dl::dimsOf(sum))),
                {}};
  }
  case Way::along:
  case Way::ordered: {
    int64_t dim = given.find("dim") && !named.empty() ? named.front() : rank - 1;
    if (rank == 0 || !isCountedAlong(dim))
      break;
    bool isDescending =
        given.truth("descending", false) || (op == "dl.topk" && given.truth("largest", true));
    operands[0] = masked(loc, operands[0], dim, fillOf(op, isDescending));
    AffineExpr size = dims[dim];
    if (auto k = given.integer("k")) {
      size = smaller(loc, b.getAffineConstantExpr(*k), size);
      if (!size)
        return Item{Item::Poison(), {}};
      auto room = dl::asConstant(paddedDim(size));
      for (NamedAttribute &held : attributes)
        if (held.getName() == "k" && room)
          held = b.getNamedAttr("k", b.getI64IntegerAttr(std::min(*k, *room)));
    }
    return firsts(make(), countOf(loc, size), dim);
  }
  case Way::joined: {
    int64_t dim = given.find("dim") && !named.empty() ? named.front() : 0;
    bool isLastAlone = true;
    for (Value part : ArrayRef<Value>(operands).drop_back())
      isLastAlone &=
          dim >= static_cast<int64_t>(dl::dimsOf(part).size()) || !isCounted(dl::dimsOf(part)[dim]);
    if (isLastAlone || named.empty())
      break;
    Value made = joined(loc, operands, dim);
    return made ? Item{made, {}} : Item{Item::Poison(), {}};
  }
  case Way::found:
    for (Value &operand : operands)
      for (auto [dim, size] : llvm::enumerate(dl::dimsOf(operand)))
        if (isCounted(size))
          operand = masked(loc, operand, dim, Fill::zero);
    return make();
  case Way::suppressed: {
    Value &boxes = operands[0], &scores = operands[1];
    int64_t last = static_cast<int64_t>(dl::dimsOf(scores).size()) - 1;
    int64_t row = static_cast<int64_t>(dl::dimsOf(boxes).size()) - 2;
    if (last < 0 || row < 0 || !isCounted(dl::dimsOf(scores)[last]))
      break;
    boxes = padded(loc, boxes, row);
    scores = masked(loc, scores, last, Fill::lowest); // which takes no part
    return make();
  }
  case Way::indexed:
  case Way::wrapped: {
    int64_t dim = way == Way::wrapped || named.empty() ? 0 : named.front();
    if (rank == 0 || !isCountedAlong(dim))
      break;
    Value &index = operands[1];
    if (way == Way::wrapped) {
      Value none = b.fullLike(index, 0);
      Value size = b.broadcast(b.cast(countOf(loc, dims[dim]), dl::typeOf(index).getElementType()),
                               dl::dimsOf(index));
      index =
          b.make<dl::WhereOp>(b.make<dl::LtOp>(index, none), b.make<dl::AddOp>(index, size), index);
    }
    operands[0] = padded(loc, operands[0], dim);
    return make();
  }
  case Way::selected:
    if (named.empty() || !isCountedAlong(named.front()) || given.integer("index").value_or(-1) < 0)
      break;
    operands[0] = padded(loc, operands[0], named.front());
    return make();
  case Way::sliced: {
    int64_t dim = given.find("dim") ? (named.empty() ? -1 : named.front()) : 0;
    int64_t start = given.integer("start").value_or(0), end = given.integer("end").value_or(0);
    if (dim < 0 || rank == 0 || !isCountedAlong(dim) || start < 0 || end < 0 ||
        given.integer("step").value_or(1) != 1)
      break;
    operands[0] = padded(loc, operands[0], dim);
    AffineExpr size = dims[dim];
    if (given.find("end"))
      size = smaller(loc, getAffineConstantExpr(end, context), size);
    if (!size)
      return Item{Item::Poison(), {}};
    Value count = countOf(loc, size);
    if (start > 0) // less than none where it begins after the real ones
      count = b.make<dl::SubOp>(count, b.full({}, b.getI64Type(), static_cast<double>(start)));
    return firsts(make(), count, dim);
  }
  case Way::scattered: {
    int64_t dim = named.empty() ? 0 : named.front();
    Value &index = operands[1];
    for (auto [along, size] : llvm::enumerate(dl::dimsOf(index)))
      if (isCounted(size)) {
        // An index of -1 sends elements of the padding nowhere.
        Value mask = masked(loc, b.fullLike(index, 1), along, Fill::zero);
        Value whole = padded(loc, index, along);
        index = b.make<dl::WhereOp>(b.make<dl::NeOp>(mask, b.fullLike(mask, 0)), whole,
                                    b.fullLike(whole, -1));
        if (operands.size() > 2)
          operands[2] = padded(loc, operands[2], along);
      }
    if (!isCountedAlong(dim))
      return make();
    operands[0] = padded(loc, operands[0], dim);
    return firsts(make(), countOf(loc, dims[dim]), dim);
  }
  }
  return std::nullopt;
}

} // namespace dlc::frontend
