//===- RotaryEmbedding.cpp - Rotary embeddings of ONNX ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/attention/Rotary.h"

using namespace mlir;

namespace dlc::onnx {

Item rotated(NodeImport &node, Item x, const Rotation &by) {
  if (node.hasFailed() || !x.isTensor())
    return x;
  dl::Dims split = dl::getDims(x.tensorType());
  auto size = dl::asConstant(split[3]);
  if (!size || by.width > *size || by.width < 2 || by.width % 2) {
    node.unsupported("it turns " + llvm::Twine(by.width) + " elements of heads of " +
                         node.text(split[3]),
                     "; dlc needs an even number of them, and no symbols");
    return {Item::Poison(), {}};
  }
  auto part = [&](Item of, int64_t start, int64_t end, int64_t step) {
    return node.call("slice", {of, item(int64_t(-1)), item(start), item(end), item(step)});
  };
  auto angles = [&](Item table) {
    return node.call("unsqueeze", {part(table, 0, by.width / 2, 1), item(int64_t(2))});
  };
  Item cosines = angles(by.cosines), sines = angles(by.sines);
  Item turned = by.width == *size ? x : part(x, 0, by.width, 1);
  Item a = by.interleaves ? part(turned, 0, by.width, 2) : part(turned, 0, by.width / 2, 1),
       b = by.interleaves ? part(turned, 1, by.width, 2) : part(turned, by.width / 2, by.width, 1);
  Item real = node.call("sub", {node.call("mul", {cosines, a}), node.call("mul", {sines, b})}),
       imaginary = node.call("add", {node.call("mul", {sines, a}), node.call("mul", {cosines, b})});
  Item both{Item::List{real, imaginary}, {}};
  if (by.interleaves) {
    both = node.call("stack", {both, item(int64_t(-1))});
    dl::Dims merged = split;
    merged[3] = node.dim(by.width);
    both = node.hasFailed() ? both : node.reshape(both, merged);
  } else {
    both = node.call("cat", {both, item(int64_t(-1))});
  }
  if (by.width == *size)
    return both;
  Item rest = part(x, by.width, *size, 1);
  return node.call("cat", {Item{Item::List{both, rest}, {}}, item(int64_t(-1))});
}

/// Input 0 of a node as [N, T, heads, size]: from [N, T, heads * size] or [N, heads, T, size].
static std::optional<Item> asHeads(NodeImport &node, int64_t count) {
  int64_t rank = node.rank(0);
  dl::Dims dims = node.dims(0);
  Item x = node.tensor(0);
  if (node.hasFailed())
    return std::nullopt;
  if ((rank != 3 && rank != 4) || (rank == 3 && count < 1)) {
    node.fail("its input is " + node.typeText(0) + "; expected 4 dims, or 3 and num_heads");
    return std::nullopt;
  }
  if (rank == 4)
    return node.permute(x, {0, 2, 1, 3});
  auto total = dl::asConstant(dims[2]);
  if (!total || *total % count) {
    node.fail("the last dim of " + node.typeText(0) + " is not that of " + llvm::Twine(count) +
              " heads");
    return std::nullopt;
  }
  return node.reshape(x, {dims[0], dims[1], node.dim(count), node.dim(*total / count)});
}

/// Sets result 0 to heads, in the form of input 0.
static bool setHeads(NodeImport &node, Item heads) {
  if (node.hasFailed())
    return false;
  node.set(0, node.rank(0) == 3 ? node.reshape(heads, node.dims(0))
                                : node.permute(heads, {0, 2, 1, 3}));
  return !node.hasFailed();
}

static bool buildRotaryEmbedding(NodeImport &node) {
  enum Input { x, cosines, sines, positions };
  Rotation by;
  by.width = node.integer("rotary_embedding_dim", 0);
  by.interleaves = node.integer("interleaved", 0) != 0;
  auto heads = asHeads(node, node.integer("num_heads", 0));
  if (!heads || node.hasFailed())
    return false;
  if (by.width == 0)
    by.width = dl::asConstant(dl::getDims(heads->tensorType())[3]).value_or(0);
  auto table = [&](Input from) {
    Item all = node.tensor(from);
    return node.has(positions) ? node.call("index", {all, node.tensor(positions)}) : all;
  };
  by.cosines = table(cosines);
  by.sines = table(sines);
  return setHeads(node, rotated(node, *heads, by));
}

/// The same op of ONNX Runtime, whose tables always have a row for each position: `positions` is
/// where the first token is, or a position for each token.
static bool buildOlderRotaryEmbedding(NodeImport &node) {
  enum Input { x, positions, cosines, sines };
  int64_t count = node.integer("num_heads", 0);
  Rotation by;
  by.width = node.integer("rotary_embedding_dim", 0);
  by.interleaves = node.integer("interleaved", 0) != 0;
  node.integer("is_packed_batching", 0); // says how the batch was made
  if (node.real("scale", 1) != 1)
    return node.unsupported("its scale is not 1", "; dlc takes 1");
  for (Input input : {positions, cosines, sines})
    if (!node.has(input))
      return node.fail("it needs its input " + llvm::Twine(int(input)));
  auto half = node.rank(cosines) == 2 ? dl::asConstant(node.dims(cosines)[1]) : std::nullopt;
  if (!half)
    return node.fail("its table of cosines is " + node.typeText(cosines) +
                     "; expected [positions, width / 2]");
  if (by.width == 0)
    by.width = 2 * *half;
  auto whole = node.rank(x) == 3 ? dl::asConstant(node.dims(x)[2]) : std::nullopt;
  if (whole && count == 0)
    count = *whole / by.width;
  auto heads = asHeads(node, count);
  if (!heads || node.hasFailed())
    return false;
  Item places = node.tensor(positions);
  if (node.rank(positions) < 2) {
    AffineExpr length = dl::getDims(heads->tensorType())[1], one = node.dim(1);
    Item steps = node.reshape(node.call("arange", {Item::dim(length, {})}), {one, length});
    places = node.call("add", {node.reshape(places, {one, one}), steps});
  }
  by.cosines = node.call("index", {node.tensor(cosines), places});
  by.sines = node.call("index", {node.tensor(sines), places});
  return setHeads(node, rotated(node, *heads, by));
}

llvm::ArrayRef<OddRule> rotaryRules() {
  static const OddRule rules[] = {
      {"RotaryEmbedding", 23, buildRotaryEmbedding},
      {"com.microsoft.RotaryEmbedding", 1, buildOlderRotaryEmbedding},
  };
  return rules;
}

} // namespace dlc::onnx
