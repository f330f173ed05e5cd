//===- Shape.cpp - Ops of ONNX that move elements --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::onnx {

//===- Other dims for the same elements ------------------------------------------------------------===//

/// Adds the expressions that a dim is a product of, and multiplies `number` by the numbers among them: false where that is too large.
static bool takeFactors(AffineExpr dim, int64_t &number, SmallVectorImpl<AffineExpr> &factors) {
  if (auto constant = dl::asConstant(dim))
    return !llvm::MulOverflow(number, *constant, number);
  auto product = dyn_cast<AffineBinaryOpExpr>(dim);
  if (product && product.getKind() == AffineExprKind::Mul)
    return takeFactors(product.getLHS(), number, factors) &&
           takeFactors(product.getRHS(), number, factors);
  factors.push_back(dim);
  return true;
}

/// What `dims` hold for each of the elements of `others`, as seen from their factors; null where that does not come out even.
static AffineExpr quotientOf(ArrayRef<AffineExpr> dims, ArrayRef<AffineExpr> others,
                             MLIRContext *context) {
  SmallVector<AffineExpr> left, taken;
  int64_t number = 1, divisor = 1;
  if (!llvm::all_of(dims, [&](AffineExpr dim) { return takeFactors(dim, number, left); }) ||
      !llvm::all_of(others, [&](AffineExpr dim) { return takeFactors(dim, divisor, taken); }))
    return {};
  AffineExpr all = dl::normalize(dl::product(dims, context)),
             rest = dl::normalize(dl::product(others, context));
  if (all == rest)
    return dl::constantDim(1, context);
  auto constant = dl::asConstant(rest);
  if (constant && *constant > 0) {
    AffineExpr quotient = dl::normalize(all.floorDiv(*constant));
    // Only a quotient without a remainder holds all elements.
    if (dl::normalize(quotient * rest) == all)
      return quotient;
  }
  for (AffineExpr factor : taken) {
    auto *same = llvm::find(left, factor);
    if (same == left.end())
      return {};
    left.erase(same);
  }
  if (divisor <= 0)
    return {};
  AffineExpr kept = dl::normalize(dl::product(left, context) * number);
  AffineExpr quotient = dl::normalize(kept.floorDiv(divisor));
  return dl::normalize(quotient * divisor) == kept ? quotient : AffineExpr();
}

/// The same as a derived size, for any dims: the elements are divided among `others` when shapes are
/// bound, and compared with them then.
static AffineExpr restOf(NodeImport &node, ArrayRef<AffineExpr> dims, ArrayRef<AffineExpr> others) {
  auto operand = [&](ArrayRef<AffineExpr> factors) -> mlir::Attribute {
    return AffineMapAttr::get(
        dl::dimsMap(dl::normalize(dl::product(factors, node.context)), node.context));
  };
  return node.importer.derive(dl::DerivedAttr::get(node.context, dl::SizeFunction::quotient,
                                                   {operand(dims), operand(others)}));
}

/// Dims that the running model says, among those of a new shape: 0 and -1 have their meanings there, too.
static bool resolveRead(NodeImport &node, ArrayRef<AffineExpr> from, bool allowsZero,
                        dl::Dims &wanted) {
  auto mayBe = [&](AffineExpr dim, int64_t number) {
    auto range = node.importer.isRead(dim) ? node.rangeOf(dim) : std::nullopt;
    return range && range->min <= number && range->max >= number;
  };
  const dl::Dims given = wanted;
  for (auto [position, dim] : llvm::enumerate(wanted))
    if (!allowsZero && position < from.size() && mayBe(dim, 0) && mayBe(dim, -1)) {
      AffineExpr isZero = node.isEqual(dim, node.dim(0));
      dim = isZero ? node.choose(isZero, from[position], dim) : AffineExpr();
      if (!dim)
        return node.unsupported("its new shape has too many dims that vary", "");
    }
  if (llvm::none_of(given, [&](AffineExpr dim) { return mayBe(dim, -1); }))
    return true;
  if (!node.mayMultiply(wanted))
    return false;
  AffineExpr others = node.dim(1);
  bool hasFree = llvm::any_of(wanted, [&](AffineExpr dim) { return dl::isConstant(dim, -1); });
  dl::Dims places;
  for (auto [size, dim] : llvm::zip_equal(given, wanted)) {
    AffineExpr isFree = mayBe(size, -1) ? node.isEqual(size, node.dim(-1)) : AffineExpr();
    AffineExpr known = isFree ? node.choose(isFree, node.dim(1), dim) : dim;
    if (!known)
      return node.unsupported("its new shape has too many dims that vary", "");
    if (isFree && hasFree) { // the one that is free is known
      dim = known;
      continue;
    }
    places.push_back(isFree);
    if (!dl::isConstant(dim, -1))
      others = dl::normalize(others * known);
  }
  if (hasFree || llvm::none_of(places, [](AffineExpr isFree) { return bool(isFree); }))
    return true;
  AffineExpr rest = restOf(node, from, {others});
  rest = rest ? node.atLeastZero(rest) : rest;
  for (auto [dim, isFree] : llvm::zip_equal(wanted, places))
    if (isFree && !(dim = rest ? node.choose(isFree, rest, dim) : AffineExpr()))
      return node.unsupported("its new shape has too many dims that vary", "");
  return true;
}

/// 0 takes the dim of the input, -1 what is left over.
static bool buildReshape(NodeImport &node) {
  bool allowsZero = node.integer("allowzero", 0) != 0;
  dl::Dims dims = node.dims(0), result;
  auto elements = node.known(1) ? std::nullopt : node.rangeOf(dl::product(dims, node.context));
  // A tensor without elements has any dims beside one of 0.
  int64_t most = elements && elements->min > 0 ? elements->max : Importer::kMostRead;
  auto wanted =
      node.sizes(1, "the dims of the new shape", {-1, std::min(most, Importer::kMostRead)});
  if (!wanted)
    return false;
  if (!resolveRead(node, dims, allowsZero, *wanted))
    return false;
  std::optional<size_t> free;
  for (auto [position, dim] : llvm::enumerate(*wanted)) {
    if (dl::isConstant(dim, 0) && !allowsZero) {
      if (position >= dims.size())
        return node.fail("its new shape has 0 at " + llvm::Twine(position) + ", where " +
                         node.typeText(0) + " has no dim");
      dim = dims[position];
    }
    if (dl::isConstant(dim, -1)) {
      if (free)
        return node.fail("its new shape has -1 twice; expected it once");
      free = position;
    }
    result.push_back(dim);
  }
  Item x = node.tensor(0);
  if (node.hasFailed() || !node.mayMultiply(result) || !node.mayMultiply(dims))
    return false;
  if (free) {
    dl::Dims others = result;
    others.erase(others.begin() + *free);
    AffineExpr quotient = quotientOf(dims, others, node.context);
    if (!quotient)
      quotient = restOf(node, dims, others);
    quotient = quotient ? node.atLeastZero(quotient) : quotient;
    if (!quotient)
      return node.unsupported("its new shape has too many dims that vary", "");
    result[*free] = quotient;
  }
  // Where the numbers of elements differ in form, sizes are looked for that make them equal, or the
  // runtime compares them.
  AffineExpr count = dl::product(dims, node.context), made = dl::product(result, node.context);
  while (count != made && !node.rangeOf(dl::normalize(made - count)))
    if (!node.importer.opEmitter().limitComputed(dl::makeTensor(result, node.dtype(0))))
      break;
  if (count != made && !node.mayAgree(count, made) && node.importer.hasSolved())
    return false;
  node.set(0, node.reshape(x, result));
  return !node.hasFailed();
}

static bool buildFlatten(NodeImport &node) {
  dl::Dims dims = node.dims(0);
  auto rank = static_cast<int64_t>(dims.size());
  int64_t given = node.integer("axis", 1);
  auto axis = given == rank ? std::optional(rank) : node.axis(given, rank);
  Item x = node.tensor(0);
  if (!axis || node.hasFailed())
    return false;
  ArrayRef<AffineExpr> all(dims);
  node.set(0, node.reshape(x, {dl::product(all.take_front(*axis), node.context),
                               dl::product(all.drop_front(*axis), node.context)}));
  return !node.hasFailed();
}

/// Which dims the axes name. Nothing after an error.
static std::optional<SmallVector<bool>> chosenAxes(NodeImport &node, int64_t rank) {
  auto axes = node.axes(rank);
  if (!axes)
    return std::nullopt;
  SmallVector<bool> chosen(rank);
  for (int64_t axis : *axes)
    chosen[axis] = true;
  return chosen;
}

/// Without axes the rank depends on whether `dim` is 1. Sets `dim` to 1 if it always is; else narrows
/// its symbols so that it is 2 or more. A dim that the data decide is kept. The last two are noted.
static void settleSqueezed(NodeImport &node, AffineExpr &dim) {
  auto mayBeOne = [&] {
    auto range = node.rangeOf(dim);
    return !range || (range->min <= 1 && range->max >= 1);
  };
  auto range = node.rangeOf(dim);
  if (range && range->min == 1 && range->max == 1)
    dim = node.dim(1);
  if (dl::isConstant(dim, 1) || !mayBeOne())
    return;
  node.expectSize(dl::normalize(dim - 2));
  if (mayBeOne())
    node.remark("it has no axes: dlc keeps its dim of " + node.text(dim) +
                ", where another runtime would drop it if it is 1");
  else
    node.remark("it has no axes and would drop a dim of 1: dlc takes " + node.text(dim) +
                " for 2 or more; --shapes gives it the size 1");
}

static bool buildSqueeze(NodeImport &node) {
  dl::Dims dims = node.dims(0), result;
  auto chosen = chosenAxes(node, dims.size());
  Item x = node.tensor(0);
  if (!chosen || node.hasFailed())
    return false;
  bool takesAll = !llvm::is_contained(*chosen, true);
  for (auto [dim, isChosen] : llvm::zip(dims, *chosen)) {
    if (isChosen && !node.mayAgree(dim, node.dim(1)))
      return node.fail("cannot squeeze a dim of " + node.text(dim) + " of " + node.typeText(0) +
                       "; expected 1");
    if (takesAll)
      settleSqueezed(node, dim);
    bool isOne = dl::isConstant(dim, 1);
    if (isChosen || (takesAll && isOne))
      dim = node.dim(1);
    if (!(takesAll ? isOne : isChosen))
      result.push_back(dim);
  }
  node.set(0, node.reshape(node.expect(x, dims), result));
  return !node.hasFailed();
}

static bool buildUnsqueeze(NodeImport &node) {
  dl::Dims dims = node.dims(0), result;
  const Known *given = node.has(1) ? node.known(1) : nullptr;
  size_t count = given ? given->numbers.size() : node.integerList("axes").size();
  auto chosen = chosenAxes(node, dims.size() + count);
  Item x = node.tensor(0);
  if (!chosen || node.hasFailed())
    return false;
  size_t next = 0;
  for (bool isNew : *chosen) {
    if (!isNew && next == dims.size())
      return node.fail("its axes name a dim twice; expected different ones");
    result.push_back(isNew ? node.dim(1) : dims[next++]);
  }
  node.set(0, node.reshape(x, result));
  return !node.hasFailed();
}

//===- Arrangement --------------------------------------------------------------------------------===//

static bool buildTranspose(NodeImport &node) {
  SmallVector<int64_t> order = node.integerList("perm");
  if (order.empty())
    for (int64_t i = node.rank(0); i-- > 0;)
      order.push_back(i);
  node.set(0, node.permute(node.tensor(0), order));
  return !node.hasFailed();
}

/// Both broadcast: a dim of 1 in the shape leaves that of the input.
static bool buildExpand(NodeImport &node) {
  auto wanted = node.sizes(1, "the dims of the shape", {0, Importer::kMostRead});
  if (!wanted)
    return false;
  dl::Dims dims = node.dims(0);
  while (wanted->size() < dims.size())
    wanted->insert(wanted->begin(), node.dim(1));
  size_t lead = wanted->size() - dims.size();
  Item x = node.tensor(0);
  for (auto [position, dim] : llvm::enumerate(dims)) {
    AffineExpr &size = (*wanted)[lead + position];
    size = node.atLeastZero(size);
    if (dl::isConstant(size, 1))
      size = dim;
    if (size == dim || dl::isConstant(dim, 1))
      continue;
    // Both vary: each may be 1 where the other is not.
    x = node.repeatedLike(x, position, size);
    if (!x.isTensor() || node.hasFailed())
      return false;
    AffineExpr own = dl::getDims(x.tensorType())[position];
    AffineExpr isOne = node.isEqual(size, node.dim(1));
    AffineExpr whole = isOne ? node.choose(isOne, own, size) : AffineExpr();
    if (!whole || (whole != own && !node.mayAgree(own, whole)))
      return node.fail("it expands " + node.typeText(0) + " to a dim of " + node.text(size) +
                       " at " + llvm::Twine(position) + "; expected equal dims, or 1");
    dl::Dims agreed = dl::getDims(x.tensorType());
    agreed[position] = size = whole;
    x = node.expect(x, agreed);
  }
  node.set(0, node.broadcast(x, *wanted));
  return !node.hasFailed();
}

static bool buildTile(NodeImport &node) {
  auto copies = node.sizes(1, "the repeats", {0, Importer::kMostRead});
  if (!copies)
    return false;
  dl::Dims dims = node.dims(0);
  bool areKnown =
      llvm::all_of(*copies, [](AffineExpr count) { return dl::asConstant(count).has_value(); });
  if (areKnown) {
    SmallVector<int64_t> repeats;
    for (AffineExpr count : *copies)
      repeats.push_back(*dl::asConstant(count));
    node.set(0, node.call("repeat", {node.tensor(0), itemList(repeats)}));
    return !node.hasFailed();
  }
  if (copies->size() != dims.size())
    return node.fail("it has " + llvm::Twine(copies->size()) + " repeats for the " +
                     llvm::Twine(dims.size()) + " dims of " + node.typeText(0));
  // The copies of a dim stand in a dim of their own before it.
  dl::Dims apart, spread, whole;
  for (auto [dim, count] : llvm::zip(dims, *copies)) {
    if (!dl::isConstant(count, 1)) {
      apart.push_back(node.dim(1));
      spread.push_back(count);
    }
    if (dl::isConstant(count, 1) || !dl::isConstant(dim, 1)) {
      apart.push_back(dim);
      spread.push_back(dim);
    }
    whole.push_back(dl::normalize(count * dim));
  }
  Item y = node.broadcast(node.reshape(node.tensor(0), apart), spread);
  node.set(0, node.reshape(y, whole));
  return !node.hasFailed();
}

/// Splits a dim into blocks and moves these among channels; DCR and CRD tell how channels are counted.
static bool buildDepthToSpace(NodeImport &node) {
  int64_t block = node.integer("blocksize", 1);
  std::string mode = node.string("mode", "DCR");
  dl::Dims dims = node.dims(0);
  Item x = node.tensor(0);
  if (node.hasFailed())
    return false;
  auto channels = dims.size() == 4 ? dl::asConstant(dims[1]) : std::nullopt;
  if (!channels || block < 1 || block > INT16_MAX || *channels % (block * block))
    return node.fail(
        "it takes a tensor [N, C, H, W] whose channels are divisible by blocksize^2, got " +
        node.typeText(0));
  AffineExpr b = node.dim(block), c = node.dim(*channels / (block * block));
  bool isDepthFirst = mode == "DCR";
  Item split = isDepthFirst ? node.reshape(x, {dims[0], b, b, c, dims[2], dims[3]})
                            : node.reshape(x, {dims[0], c, b, b, dims[2], dims[3]});
  Item moved = node.permute(split, isDepthFirst ? ArrayRef<int64_t>{0, 3, 4, 1, 5, 2}
                                                : ArrayRef<int64_t>{0, 1, 4, 2, 5, 3});
  node.set(0, node.reshape(moved, {dims[0], c, dims[2] * b, dims[3] * b}));
  return !node.hasFailed();
}

static bool buildSpaceToDepth(NodeImport &node) {
  int64_t block = node.integer("blocksize", 1);
  dl::Dims dims = node.dims(0);
  Item x = node.tensor(0);
  if (node.hasFailed())
    return false;
  bool isImage = dims.size() == 4 && block >= 1 && block <= INT16_MAX;
  AffineExpr height = isImage ? node.exactQuotient(dims[2], block) : AffineExpr();
  AffineExpr width = height ? node.exactQuotient(dims[3], block) : AffineExpr();
  if (!width)
    return node.fail(
        "it takes a tensor [N, C, H, W] whose H and W are divisible by blocksize, got " +
        node.typeText(0));
  AffineExpr b = node.dim(block);
  Item split = node.reshape(x, {dims[0], dims[1], height, b, width, b});
  node.set(0, node.reshape(node.permute(split, {0, 3, 5, 1, 2, 4}),
                           {dims[0], dims[1] * b * b, height, width}));
  return !node.hasFailed();
}

//===- Parts --------------------------------------------------------------------------------------===//

/// A bound of a slice, as ONNX has it, counted from the start of a dim of `size` and moved to
/// `least`..size + `most`; null where it is not known.
static AffineExpr clampedBound(NodeImport &node, AffineExpr bound, AffineExpr size, int64_t least,
                               int64_t most) {
  AffineExpr last = dl::normalize(size + most), first = node.dim(least);
  auto range = node.rangeOf(bound);
  if (auto number = dl::asConstant(bound)) // beyond any dim: nothing is added to it
    range = dl::Range{*number, *number};
  if (!range)
    return {};
  auto fromStart = [&] {
    if (range->min > INT32_MAX)
      return last;
    AffineExpr end = node.smaller(bound, last);
    return end && (least < 0 || range->min < 0) ? node.larger(end, first) : end;
  };
  auto fromEnd = [&] {
    if (range->max < -INT32_MAX)
      return most < 0 ? node.smaller(first, last) : first;
    AffineExpr begin = node.larger(dl::normalize(size + bound), first);
    return begin && most < 0 ? node.smaller(begin, last) : begin;
  };
  if (range->min >= 0)
    return fromStart();
  if (range->max < 0)
    return fromEnd();
  AffineExpr low = fromEnd(), high = fromStart(), isNegative = node.isLess(bound, node.dim(0));
  return low && high && isNegative ? node.choose(isNegative, low, high) : AffineExpr();
}

/// The difference of two sizes, 0 where it is negative; null where it is not known.
static AffineExpr distance(NodeImport &node, AffineExpr end, AffineExpr start) {
  return end && start ? node.larger(dl::normalize(end - start), node.dim(0)) : AffineExpr();
}

/// Whether no range of one input's dim makes a length 0 or more for all sizes.
static bool mayBeNegative(NodeImport &node, AffineExpr length) {
  auto range = node.rangeOf(length);
  if (range && range->min >= 0)
    return false;
  int64_t symbols = 0;
  length.walk([&](AffineExpr part) { symbols += llvm::isa<AffineSymbolExpr>(part); });
  return !range || range->max <= 0 || symbols != 1 || node.atLeastZero(length) != length;
}

/// A part of a table of `count` places, such as the positions of a text: sizes for which its end lies
/// beyond the table are refused when shapes are bound, so that the part keeps its form. Nothing where
/// it is another slice.
static Item partOfTable(NodeImport &node, Item x, int64_t dim, int64_t count, AffineExpr start,
                        AffineExpr end) {
  auto last = dl::asConstant(end);
  if (last && *last >= count)
    end = node.dim(count);
  bool isFirstKnown = dl::asConstant(start).has_value(),
       mayCountBack = node.atLeastZero(end) != end;
  AffineExpr size = dl::normalize(end - start);
  auto begins = node.rangeOf(start), length = node.rangeOf(size);
  if ((isFirstKnown && last) || !begins || begins->min < 0 || mayCountBack || !length ||
      length->max <= 0 || (!isFirstKnown && mayBeNegative(node, size)) ||
      (!isFirstKnown && length->min < 0 && last && *last < count))
    return {};
  if (!dl::asConstant(end) && !node.limitPart(end, count))
    return {};
  if (isFirstKnown)
    return node.call("narrow", {x, item(dim), Item::dim(start, {}), Item::dim(size, {})});
  if (!dl::asConstant(end))
    x = node.call("narrow", {x, item(dim), item(int64_t(0)), Item::dim(end, {})});
  Item places = node.call("arange", {Item::dim(start, {}), Item::dim(end, {})});
  return node.call("index_select", {x, item(dim), places});
}

/// One dim from start to before end; both as ONNX has them, beyond the dim or negative.
static Item sliceDim(NodeImport &node, Item x, int64_t dim, AffineExpr start, AffineExpr end,
                     int64_t step) {
  if (!x.isTensor())
    return x;
  AffineExpr size = dl::getDims(x.tensorType())[dim];
  if (step == 0) {
    node.fail("its step is 0; expected another number than 0");
    return {Item::Poison(), {}};
  }
  // Any step beyond the dim leaves the first element.
  step = std::clamp<int64_t>(step, -INT32_MAX, INT32_MAX);
  bool isBackwards = step < 0;
  AffineExpr first, length;
  node.expectSize(size);
  AffineExpr whole = node.atLeastZero(size);
  if (auto count = dl::asConstant(size); count && step == 1)
    if (Item part = partOfTable(node, x, dim, *count, start, end);
        part.isTensor() || node.hasFailed())
      return part;
  if (node.importer.opEmitter().isCounted(size) && !isBackwards) {
    // The data say the size: the op counts what is left.
    auto begins = dl::asConstant(start), ends = dl::asConstant(end);
    std::vector<std::pair<StringRef, Item>> named{{"dim", item(dim)}, {"step", item(step)}};
    if (begins && *begins != 0)
      named.push_back({"start", item(std::clamp<int64_t>(*begins, INT32_MIN, INT32_MAX))});
    bool isWhole = end == size || (ends && *ends >= INT32_MAX);
    if (ends && !isWhole)
      named.push_back({"end", item(std::clamp<int64_t>(*ends, INT32_MIN, INT32_MAX))});
    if (begins && (ends || isWhole))
      return node.call("slice", {x}, named);
  } else if (!isBackwards) {
    first = clampedBound(node, start, whole, 0, 0);
    length = distance(node, end == size ? whole : clampedBound(node, end, whole, 0, 0), first);
    length = length == whole ? size : length;
  } else {
    // Backwards: the part, mirrored. A start before the dim is its first element.
    AffineExpr from = clampedBound(node, start, whole, 0, -1);
    AffineExpr to = clampedBound(node, end, whole, -1, -1);
    length = distance(node, from, to);
    first = to ? dl::normalize(to + 1) : AffineExpr();
  }
  if (!first || !length) {
    node.unsupported("it slices a dim of " + node.text(size) + " from " + node.text(start) +
                         " to " + node.text(end),
                     "; dlc takes bounds that are numbers, or that follow from sizes");
    return {Item::Poison(), {}};
  }
  if (length == size && !isBackwards && step == 1)
    return x;
  // Numbers, or up to a distance from the end: a slice, which passes know best.
  auto begin = dl::asConstant(first), taken = dl::asConstant(length),
       rest = dl::asConstant(dl::normalize(size - first - length));
  Item part = x;
  if (length != size && begin && !isBackwards && (taken || rest)) {
    std::vector<std::pair<StringRef, Item>> named{{"dim", item(dim)}, {"step", item(step)}};
    if (*begin != 0)
      named.push_back({"start", item(*begin)});
    if (rest != 0)
      named.push_back({"end", item(taken ? *begin + *taken : -*rest)});
    return node.call("slice", {x}, named);
  }
  // From a dim on to the end: positions, which caches tell apart from the places not taken yet.
  if (!begin && !isBackwards && step == 1 && rest == 0) {
    Item places = node.call("arange", {Item::dim(first, {}), Item::dim(size, {})});
    return node.call("index_select", {x, item(dim), places});
  }
  if (length != size)
    part = node.call("narrow", {x, item(dim), Item::dim(first, {}), Item::dim(length, {})});
  if (isBackwards)
    part = node.call("flip", {part, itemList(SmallVector<int64_t>{dim})});
  return llvm::AbsoluteValue(step) == 1
             ? part
             : node.call("slice", {part}, {{"dim", item(dim)}, {"step", item(std::abs(step))}});
}

static bool buildSlice(NodeImport &node) {
  std::optional<int64_t> count; // of bounds, as the first list says whose length is known
  for (size_t input = 1; node.opset >= 10 && input < node.inputCount(); ++input)
    if (node.has(input) && !count && node.type(input).hasStaticShape())
      count = node.type(input).getNumElements();
  count = count.value_or(1); // one dim, which is checked when the lists are there
  auto list = [&](size_t input, StringRef name) -> std::optional<dl::Dims> {
    dl::Dims dims;
    if (node.opset < 10) {
      for (int64_t value : node.integerList(name))
        dims.push_back(node.dim(value));
      return dims;
    }
    if (!node.has(input))
      return dims;
    return node.sizes(input, ("its " + name).str(), {INT32_MIN, INT32_MAX}, /*clamps=*/true, count);
  };
  auto starts = list(1, "starts"), ends = list(2, "ends"), axes = list(3, "axes"),
       steps = list(4, "steps");
  if (!starts || !ends || !axes || !steps)
    return false;
  if (starts->size() != ends->size() || (!axes->empty() && axes->size() != starts->size()) ||
      (!steps->empty() && steps->size() != starts->size()))
    return node.fail("it has " + llvm::Twine(starts->size()) + " starts and " +
                     llvm::Twine(ends->size()) + " ends, " + llvm::Twine(axes->size()) +
                     " axes and " + llvm::Twine(steps->size()) +
                     " steps; expected as many of each");
  Item x = node.tensor(0);
  for (size_t i = 0; i < starts->size() && !node.hasFailed(); ++i) {
    auto axis = node.axis(axes->empty() ? i : dl::asConstant((*axes)[i]).value_or(INT64_MAX / 2),
                          node.rank(0));
    int64_t step = steps->empty() ? 1 : dl::asConstant((*steps)[i]).value_or(0);
    if (axis)
      x = sliceDim(node, x, *axis, (*starts)[i], (*ends)[i], step);
  }
  node.set(0, x);
  return !node.hasFailed();
}

static bool buildSplit(NodeImport &node) {
  auto axis = node.axis(node.integer("axis", 0), node.rank(0));
  dl::Dims sizes;
  for (int64_t size : node.integerList("split"))
    sizes.push_back(node.dim(size));
  if (node.has(1)) {
    auto given = node.sizes(1, "the sizes", {0, Importer::kMostRead});
    if (!given)
      return false;
    sizes = *given;
  }
  auto count = static_cast<int64_t>(node.node.outputs.size());
  node.integer("num_outputs", count);
  Item x = node.tensor(0);
  if (!axis || node.hasFailed())
    return false;
  AffineExpr size = node.dims(0)[*axis];
  node.expectSize(size);
  if (sizes.empty()) {
    // Even parts; the last ones may be smaller, or empty.
    AffineExpr part = dl::quotientUp(size, count);
    for (int64_t place = 0; place < count; ++place) {
      AffineExpr left = distance(node, size, dl::normalize(part * place));
      AffineExpr own = left ? node.smaller(part, left) : AffineExpr();
      if (!own)
        return node.unsupported("it splits a dim of " + node.text(size) + " evenly",
                                "; dlc needs the sizes of the parts");
      sizes.push_back(own);
    }
  }
  if (static_cast<int64_t>(sizes.size()) != count)
    return node.fail("it has " + llvm::Twine(sizes.size()) + " sizes for " + llvm::Twine(count) +
                     " results");
  AffineExpr start = node.dim(0), whole = node.dim(0);
  for (AffineExpr &part : sizes) {
    part = node.atLeastZero(part); // the sum is another one then
    whole = dl::normalize(whole + part);
  }
  if (whole != size && !dl::asConstant(whole) && !node.mayAgree(size, whole))
    return node.fail("its parts have " + node.text(whole) + " elements of a dim of " +
                     node.text(size));
  if (whole != size && !dl::asConstant(size) && node.mayAgree(size, whole)) {
    dl::Dims dims = node.dims(0);
    dims[*axis] = whole;
    x = node.expect(x, dims);
  }
  for (auto [position, part] : llvm::enumerate(sizes)) {
    node.set(position,
             node.call("narrow", {x, item(*axis), Item::dim(start, {}), Item::dim(part, {})}));
    if (node.hasFailed()) // a part that is too large, perhaps for 64 bits together with others
      return false;
    start = dl::normalize(start + part);
  }
  return !node.hasFailed();
}

/// Elements of x repeated around it, by `mode`, which is that of `pad`. Negative widths take
/// elements away first, and a dim may be shorter than what it is repeated for. `pads`: both widths
/// of the last dim first.
static Item repeated(NodeImport &node, Item x, SmallVector<int64_t> pads, StringRef mode) {
  int64_t rank = node.rank(0);
  for (size_t place = 0; place < pads.size() && !node.hasFailed(); place += 2) {
    int64_t axis = rank - 1 - static_cast<int64_t>(place / 2), &low = pads[place],
            &high = pads[place + 1];
    if (low < 0 || high < 0) {
      std::vector<std::pair<StringRef, Item>> named{{"dim", item(axis)},
                                                    {"start", item(std::max<int64_t>(-low, 0))}};
      if (high < 0)
        named.push_back({"end", item(high)});
      x = node.call("slice", {x}, named);
      low = std::max<int64_t>(low, 0);
      high = std::max<int64_t>(high, 0);
    }
    auto size = x.isTensor() ? dl::asConstant(dl::getDims(x.tensorType())[axis]) : std::nullopt;
    bool isCircular = mode == "circular";
    int64_t once = size.value_or(INT64_MAX) - (isCircular ? 0 : 1);
    if (mode == "replicate" || size == 0 || std::max(low, high) <= once)
      continue;
    // Around and around, or there and back: what takes so many elements.
    int64_t period = isCircular ? *size : std::max<int64_t>(2 * once, 1);
    Item places = node.call("arange", {item(-low), item(*size + high)});
    places = node.call("remainder", {places, item(period)});
    if (!isCircular) {
      Item fromEnd = node.call("abs", {node.call("sub", {places, item(once)})});
      places = node.call("add", {node.call("neg", {fromEnd}), item(once)});
    }
    x = node.call("index_select", {x, item(axis), places});
    low = high = 0;
  }
  bool isDone = llvm::all_of(pads, [](int64_t width) { return width == 0; });
  return isDone ? x : node.call("pad", {x, itemList(pads), item(mode)});
}

/// The same with widths that follow from sizes: elements are looked up at the places that the mode
/// says, around and around, or there and back.
static Item repeatedBySizes(NodeImport &node, Item x, ArrayRef<AffineExpr> pads, StringRef mode) {
  int64_t rank = node.rank(0);
  for (size_t place = 0; place < pads.size() && !node.hasFailed(); place += 2) {
    int64_t axis = rank - 1 - static_cast<int64_t>(place / 2);
    AffineExpr size = node.dims(0)[axis];
    if (dl::isConstant(pads[place], 0) && dl::isConstant(pads[place + 1], 0))
      continue;
    AffineExpr length = node.atLeastZero(dl::normalize(size + pads[place] + pads[place + 1]));
    Item last = Item::dim(dl::normalize(size - 1), {});
    Item places = node.call(
        "sub", {node.call("arange", {Item::dim(length, {})}), Item::dim(pads[place], {})});
    if (mode == "replicate") {
      places = node.call("minimum", {node.call("maximum", {places, item(int64_t(0))}), last});
    } else if (mode == "circular") {
      places = node.call("remainder", {places, Item::dim(size, {})});
    } else {
      AffineExpr period = node.larger(dl::normalize(2 * (size - 1)), node.dim(1));
      if (!period)
        return {Item::Poison(), {}};
      places = node.call("remainder", {places, Item::dim(period, {})});
      Item fromEnd = node.call("abs", {node.call("sub", {places, last})});
      places = node.call("sub", {last, fromEnd});
    }
    x = node.call("index_select", {x, item(axis), places});
  }
  return x;
}

/// ONNX: all low widths, then all high ones; PyTorch: both of the last dim first.
static bool buildPad(NodeImport &node) {
  dl::Dims widths;
  for (int64_t width : node.integerList("pads"))
    widths.push_back(node.dim(width));
  double fill = node.opset < 11 ? node.real("value", 0) : 0;
  std::optional<Item> computed; // the number, where the model computes it
  int64_t rank = node.rank(0);
  if (node.opset >= 11) {
    auto given = node.sizes(1, "the widths", {-Importer::kMostRead, Importer::kMostRead});
    if (!given)
      return false;
    widths = *given;
    if (node.has(2)) {
      const Known *value = node.known(2);
      auto numbers = value ? value->reals() : std::nullopt;
      bool isExact = numbers && numbers->size() == 1 &&
                     (isa<FloatType>(value->dtype) || std::abs(numbers->front()) < 0x1p53);
      if (isExact)
        fill = numbers->front();
      else
        computed = node.reshape(node.tensor(2), {});
    }
  }
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (node.has(3)) {
    auto given = node.integers(3, "the axes");
    if (!given)
      return false;
    axes.assign(given->begin(), given->end());
  }
  if (widths.size() != 2 * axes.size())
    return node.fail("it has " + llvm::Twine(widths.size()) + " widths; expected " +
                     llvm::Twine(2 * axes.size()));
  dl::Dims pads(2 * rank, node.dim(0));
  int64_t used = 0;
  for (auto [position, given] : llvm::enumerate(axes)) {
    auto axis = node.axis(given, rank);
    if (!axis)
      return false;
    int64_t place = 2 * (rank - 1 - *axis);
    pads[place] = widths[position];
    pads[place + 1] = widths[axes.size() + position];
    if (!dl::isConstant(pads[place], 0) || !dl::isConstant(pads[place + 1], 0))
      used = std::max(used, place + 2);
  }
  pads.truncate(used);
  std::string mode = node.string("mode", "constant");
  std::string torchMode = mode == "edge" ? "replicate" : mode == "wrap" ? "circular" : mode;
  Item x = node.tensor(0);
  if (node.hasFailed())
    return false;
  if (used == 0) {
    node.alias(0, 0);
  } else if (mode == "constant" && computed) {
    Item isInside =
        node.call("full_like", {x, item(true)}, {{"dtype", item(Type(node.builder.getI1Type()))}});
    node.set(0, node.call("where", {node.call("pad", {isInside, dimItems(pads)}),
                                    node.call("pad", {x, dimItems(pads)}), *computed}));
  } else if (mode == "constant") {
    node.set(0, node.call("pad", {x, dimItems(pads), item(StringRef(torchMode)), item(fill)}));
  } else {
    SmallVector<int64_t> numbers;
    for (AffineExpr width : pads)
      if (auto number = dl::asConstant(width))
        numbers.push_back(*number);
    if (numbers.size() == pads.size())
      node.set(0, repeated(node, x, numbers, torchMode));
    else
      node.set(0, repeatedBySizes(node, x, pads, torchMode));
  }
  return !node.hasFailed();
}

/// Trilu of a diagonal that the model computes.
static bool buildComputedTrilu(NodeImport &node, bool isUpper) {
  Type dtype = node.dtype(0);
  dl::Dims dims = node.dims(0);
  if (dims.size() < 2)
    return node.fail("it takes a matrix, got " + node.typeText(0));
  AffineExpr one = node.dim(1), height = dims[dims.size() - 2], width = dims.back();
  Item rows = node.reshape(node.call("arange", {Item::dim(height, {})}), {height, one});
  Item columns = node.reshape(node.call("arange", {Item::dim(width, {})}), {one, width});
  Item diagonal = node.cast(node.reshape(node.tensor(1), {}), node.builder.getI64Type());
  Item isKept = node.call(isUpper ? "ge" : "le", {node.call("sub", {columns, rows}), diagonal});
  node.set(0, node.call("where", {isKept, node.tensor(0), node.scalar(0, dtype)}));
  return !node.hasFailed();
}

static bool buildTrilu(NodeImport &node) {
  int64_t diagonal = 0;
  if (node.has(1) && !node.knownIntegers(1))
    return buildComputedTrilu(node, node.integer("upper", 1) != 0);
  if (node.has(1)) {
    auto given = node.integers(1, "the diagonal");
    if (!given)
      return false;
    diagonal = std::clamp<int64_t>(given->empty() ? 0 : given->front(), INT32_MIN, INT32_MAX);
  }
  bool isUpper = node.integer("upper", 1) != 0;
  node.set(0, node.call(isUpper ? "triu" : "tril", {node.tensor(0), item(diagonal)}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> shapeRules() {
  static const OddRule rules[] = {
      {"Reshape", 5, buildReshape},
      {"Flatten", 1, buildFlatten},
      {"Squeeze", 1, buildSqueeze},
      {"Unsqueeze", 1, buildUnsqueeze},
      {"Transpose", 1, buildTranspose},
      {"Expand", 8, buildExpand},
      {"Tile", 6, buildTile},
      {"DepthToSpace", 1, buildDepthToSpace},
      {"SpaceToDepth", 1, buildSpaceToDepth},
      {"Slice", 1, buildSlice},
      {"Split", 2, buildSplit},
      {"Pad", 2, buildPad},
      {"Trilu", 14, buildTrilu},
  };
  return rules;
}

} // namespace dlc::onnx
