//===- Slice.cpp - Parts of tensors -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::onnx {

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

/// A part of a table of `count` places, such as the positions of a text: sizes for which its end
/// lies beyond the table are refused when shapes are bound, so that the part keeps its form.
/// Nothing where it is another slice.
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
  if (auto count = dl::asConstant(size); count && *count > 1 && step == 1)
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

Item joinedOfParts(NodeImport &node, Item x, int64_t axis, MutableArrayRef<AffineExpr> sizes) {
  if (!x.isTensor())
    return x;
  dl::Dims dims = dl::getDims(x.tensorType());
  AffineExpr size = dims[axis], whole = node.dim(0);
  for (AffineExpr &part : sizes) {
    part = node.atLeastZero(part); // the sum is another one then
    whole = dl::normalize(whole + part);
  }
  if (whole != size && !dl::asConstant(whole) && !node.mayAgree(size, whole)) {
    node.fail("its parts have " + node.text(whole) + " elements of a dim of " + node.text(size));
    return {Item::Poison(), {}};
  }
  if (whole == size || dl::asConstant(size) || !node.mayAgree(size, whole))
    return x;
  dims[axis] = whole;
  return node.expect(x, dims);
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
  x = joinedOfParts(node, x, *axis, sizes);
  AffineExpr start = node.dim(0);
  for (auto [position, part] : llvm::enumerate(sizes)) {
    node.set(position,
             node.call("narrow", {x, item(*axis), Item::dim(start, {}), Item::dim(part, {})}));
    if (node.hasFailed()) // a part that is too large, perhaps for 64 bits together with others
      return false;
    start = dl::normalize(start + part);
  }
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> sliceRules() {
  static const OddRule rules[] = {
      {"Slice", 1, buildSlice},
      {"Split", 2, buildSplit},
  };
  return rules;
}

} // namespace dlc::onnx
