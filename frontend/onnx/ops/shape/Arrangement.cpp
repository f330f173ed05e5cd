//===- Arrangement.cpp - Elements in another order, and repeated --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

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

/// Splits a dim into blocks and moves these among channels; DCR and CRD tell how channels are
/// counted.
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

/// Sizes that are read, in a dim of one op: a part of the model between two reads takes a limited
/// number.
static constexpr size_t kMostRead = 16;

static size_t countSymbols(AffineExpr dim) {
  llvm::SmallDenseSet<AffineExpr> symbols;
  dim.walk([&](AffineExpr part) {
    if (isa<AffineSymbolExpr>(part))
      symbols.insert(part);
  });
  return symbols.size();
}

/// `parts` joined; a sum of many sizes that are read becomes one size, which is read as well.
static Item joined(NodeImport &node, Item::List parts, int64_t axis) {
  Item y = node.call("cat", {Item{std::move(parts), {}}, item(axis)});
  if (!y.isTensor())
    return y;
  dl::Dims dims = dl::getDims(y.tensorType());
  if (countSymbols(dims[axis]) < kMostRead)
    return y;
  auto range = node.rangeOf(dims[axis]);
  Item count = node.count(dims[axis]); // equal sums share it
  AffineExpr size = node.readSize(count, range ? range->max : Importer::kMostRead);
  if (!size)
    return {Item::Poison(), {}};
  dims[axis] = size;
  return node.expect(y, dims);
}

static bool buildConcat(NodeImport &node) {
  auto axis = node.axis(node.integer("axis", 1), node.rank(0));
  if (!axis)
    return false;
  Item::List parts, groups;
  size_t count = 0;
  bool reads = node.importer.opEmitter().readsCounts;
  for (size_t input = 0; input < node.inputCount(); ++input) {
    Item part = node.tensor(input);
    if (node.hasFailed() || !part.isTensor())
      return false;
    if (reads && part.tensorType().getRank() > *axis)
      count += countSymbols(dl::getDims(part.tensorType())[*axis]);
    parts.push_back(part);
    if (count >= kMostRead && input + 1 < node.inputCount()) {
      groups.push_back(joined(node, std::exchange(parts, {}), *axis));
      count = 0;
    }
  }
  if (groups.empty()) {
    node.set(0, node.call("cat", {Item{std::move(parts), {}}, item(*axis)}));
    return !node.hasFailed();
  }
  groups.push_back(joined(node, std::move(parts), *axis));
  node.set(0, node.hasFailed() ? groups.back() : joined(node, std::move(groups), *axis));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> arrangementRules() {
  static const OddRule rules[] = {
      {"Concat", 4, buildConcat},
      {"Transpose", 1, buildTranspose},
      {"Expand", 8, buildExpand},
      {"Tile", 6, buildTile},
      {"DepthToSpace", 1, buildDepthToSpace},
      {"SpaceToDepth", 1, buildSpaceToDepth},
  };
  return rules;
}

} // namespace dlc::onnx
