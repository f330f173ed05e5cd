//===- RotaryEmbedding.cpp - Rotary embeddings of ONNX ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

/// Pairs of elements of a head turned by the angles of their position: halves of the head, or neighbours.
static bool buildRotaryEmbedding(NodeImport &node) {
  int64_t rank = node.rank(0), count = node.integer("num_heads", 0),
          width = node.integer("rotary_embedding_dim", 0);
  bool interleaves = node.integer("interleaved", 0) != 0;
  dl::Dims dims = node.dims(0);
  Item x = node.tensor(0), cosines = node.tensor(1), sines = node.tensor(2);
  if (node.hasFailed())
    return false;
  if ((rank != 3 && rank != 4) || (rank == 3 && count < 1))
    return node.fail("its input is " + node.typeText(0) + "; expected 4 dims, or 3 and num_heads");
  // [B, length, heads, width]
  if (rank == 3) {
    auto total = dl::asConstant(dims[2]);
    if (!total || *total % count)
      return node.fail("the last dim of " + node.typeText(0) + " is not that of " +
                       llvm::Twine(count) + " heads");
    x = node.reshape(x, {dims[0], dims[1], node.dim(count), node.dim(*total / count)});
  } else {
    x = node.permute(x, {0, 2, 1, 3});
  }
  if (node.hasFailed())
    return false;
  dl::Dims split = dl::getDims(x.tensorType());
  auto size = dl::asConstant(split[3]);
  if (width == 0)
    width = size.value_or(0);
  if (!size || width > *size || width < 2 || width % 2)
    return node.unsupported("it turns " + llvm::Twine(width) + " elements of heads of " +
                                node.text(split[3]),
                            "; dlc needs an even number of them, and no symbols");
  auto part = [&](Item of, int64_t start, int64_t end, int64_t step) {
    return node.call("slice", {of, item(int64_t(-1)), item(start), item(end), item(step)});
  };
  auto angles = [&](Item table) {
    if (node.has(3))
      table = node.call("index", {table, node.tensor(3)});
    if (!table.isTensor())
      return table;
    table = part(table, 0, width / 2, 1);
    return node.hasFailed() ? table : node.call("unsqueeze", {table, item(int64_t(2))});
  };
  cosines = angles(cosines);
  sines = angles(sines);
  Item turned = width == *size ? x : part(x, 0, width, 1);
  Item a = interleaves ? part(turned, 0, width, 2) : part(turned, 0, width / 2, 1),
       b = interleaves ? part(turned, 1, width, 2) : part(turned, width / 2, width, 1);
  Item real = node.call("sub", {node.call("mul", {cosines, a}), node.call("mul", {sines, b})}),
       imaginary = node.call("add", {node.call("mul", {sines, a}), node.call("mul", {cosines, b})});
  Item both;
  if (interleaves) {
    both = node.call("stack", {Item{Item::List{real, imaginary}, {}}, item(int64_t(-1))});
    if (node.hasFailed())
      return false;
    dl::Dims merged = split;
    merged[3] = node.dim(width);
    both = node.reshape(both, merged);
  } else {
    both = node.call("cat", {Item{Item::List{real, imaginary}, {}}, item(int64_t(-1))});
  }
  if (width != *size)
    both =
        node.call("cat", {Item{Item::List{both, part(x, width, *size, 1)}, {}}, item(int64_t(-1))});
  if (node.hasFailed())
    return false;
  node.set(0, rank == 3 ? node.reshape(both, dims) : node.permute(both, {0, 2, 1, 3}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> rotaryRules() {
  static const OddRule rules[] = {{"RotaryEmbedding", 23, buildRotaryEmbedding}};
  return rules;
}

} // namespace dlc::onnx
