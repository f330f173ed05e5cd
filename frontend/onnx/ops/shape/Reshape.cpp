//===- Reshape.cpp - Other dims for the same elements -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::onnx {

/// Adds the expressions that a dim is a product of, and multiplies `number` by the numbers among
/// them: false where that is too large.
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

/// Returns the product of `dims` divided by the product of `others`, by cancelling their factors.
/// Null if factors of `others` are left.
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

/// The same as a derived size, for any dims: the elements are divided among `others` when shapes
/// are bound, and compared with them then.
static AffineExpr restOf(NodeImport &node, ArrayRef<AffineExpr> dims, ArrayRef<AffineExpr> others) {
  auto operand = [&](ArrayRef<AffineExpr> factors) -> mlir::Attribute {
    return AffineMapAttr::get(
        dl::dimsMap(dl::normalize(dl::product(factors, node.context)), node.context));
  };
  return node.importer.derive(dl::DerivedAttr::get(node.context, dl::SizeFunction::quotient,
                                                   {operand(dims), operand(others)}));
}

/// Dims that the running model says, among those of a new shape: 0 and -1 have their meanings
/// there, too.
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

std::optional<Item> flattened(NodeImport &node) {
  dl::Dims dims = node.dims(0);
  auto rank = static_cast<int64_t>(dims.size());
  int64_t given = node.integer("axis", 1);
  auto axis = given == rank ? std::optional(rank) : node.axis(given, rank);
  Item x = node.tensor(0);
  if (!axis || node.hasFailed())
    return std::nullopt;
  ArrayRef<AffineExpr> all(dims);
  return node.reshape(x, {dl::product(all.take_front(*axis), node.context),
                          dl::product(all.drop_front(*axis), node.context)});
}

static bool buildFlatten(NodeImport &node) {
  auto matrix = flattened(node);
  if (matrix)
    node.set(0, *matrix);
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

/// Without axes the rank depends on whether `dim` is 1. Sets `dim` to 1 if it always is; else
/// narrows its symbols so that it is 2 or more. A dim that the data decide is kept. The last two
/// are noted.
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

llvm::ArrayRef<OddRule> reshapeRules() {
  static const OddRule rules[] = {
      {"Reshape", 5, buildReshape},
      {"Flatten", 1, buildFlatten},
      {"Squeeze", 1, buildSqueeze},
      {"Unsqueeze", 1, buildUnsqueeze},
  };
  return rules;
}

} // namespace dlc::onnx
