//===- BlockQuantized.cpp - Weights of few bits with a scale for each block ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A byte holds 8 / bits neighbours of a row, the first one in its lowest bits. A product may add
// its terms in any order: its weights keep the order in which masks and shifts give them, all first
// neighbours before all second ones, and x is brought into that order.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/microsoft/PackedCodes.h"

using namespace mlir;

namespace dlc::onnx {

SmallVector<Item> codesOf(NodeImport &node, Item x, int64_t bits) {
  SmallVector<Item> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Item part = x;
    if (shift)
      part = node.call("floor_divide", {part, item(int64_t(1) << shift)});
    if (shift + bits < 8)
      part = node.call("bitwise_and", {part, item((int64_t(1) << bits) - 1)});
    parts.push_back(part);
  }
  return parts;
}

Item unpacked(NodeImport &node, Item x, int64_t bits, int64_t count) {
  if (node.hasFailed())
    return x;
  dl::Dims dims = dl::getDims(x.tensorType());
  Item all = x;
  if (bits < 8) {
    SmallVector<Item> parts = codesOf(node, x, bits);
    Item list{Item::List(parts.begin(), parts.end()), {}};
    all = node.call("stack", {list, item(int64_t(-1))});
    dims.back() = dl::normalize(dims.back() * (8 / bits));
    all = node.hasFailed() ? all : node.reshape(all, dims);
  }
  if (node.hasFailed() || dims.back() == node.dim(count))
    return all;
  return node.call("narrow", {all, item(int64_t(-1)), item(int64_t(0)), item(count)});
}

static bool checkBits(NodeImport &node, int64_t bits, int64_t block) {
  if (bits != 2 && bits != 4 && bits != 8)
    return node.unsupported("its numbers have " + llvm::Twine(bits) + " bits",
                            "; dlc takes 2, 4 and 8");
  return (block >= 16 && (block & (block - 1)) == 0) ||
         node.fail("its blocks have " + llvm::Twine(block) +
                   " numbers; expected a power of two from 16 on");
}

namespace {

/// x W' + bias, where W is [N, K] in blocks along K.
class BlockProduct {
public:
  explicit BlockProduct(NodeImport &node) : node(node) {}
  bool run();

private:
  enum Input { x, weight, scales, zeros, groups, bias };
  bool readForm();
  Item table(Input input, int64_t bits);
  Item spread(Item table, int64_t times);
  Item dequantized(Item codes, int64_t perBlock);
  Item ordered(Item rows, int64_t parts);

  NodeImport &node;
  int64_t bits = 4, block = 0, rows = 0, columns = 0, blocks = 0;
  Type dtype;
};

} // namespace

bool BlockProduct::readForm() {
  bits = node.integer("bits", 4);
  block = node.integer("block_size", 0);
  rows = node.integer("N", 0);
  columns = node.integer("K", 0);
  node.integer("accuracy_level", 0); // the least precision: f32 is above all
  if (!checkBits(node, bits, block))
    return false;
  if (node.integer("weight_prepacked", 0) != 0)
    return node.unsupported("its weight is in the layout of a kernel of ONNX Runtime",
                            "; dlc takes weight_prepacked 0");
  for (Input input : {x, weight, scales})
    if (!node.has(input))
      return node.fail("it needs its input " + llvm::Twine(int(input)));
  blocks = (columns + block - 1) / block;
  dtype = node.dtype(x);
  int64_t bytes = blocks * block * bits / 8;
  AffineExpr size = dl::product(node.dims(weight), node.context);
  if (rows < 1 || columns < 1 || size != node.dim(rows * bytes))
    return node.fail("its weight is " + node.typeText(weight) + "; expected [" + llvm::Twine(rows) +
                     ", " + llvm::Twine(blocks) + ", " + llvm::Twine(block * bits / 8) + "]");
  return !node.hasFailed();
}

/// Scales or zero points, [N, blocks], of `bits` each.
Item BlockProduct::table(Input input, int64_t bits) {
  int64_t bytes = (blocks * bits + 7) / 8;
  AffineExpr size = dl::product(node.dims(input), node.context);
  if (size != node.dim(rows * bytes)) {
    node.fail("its input " + llvm::Twine(int(input)) + " is " + node.typeText(input) +
              "; expected [" + llvm::Twine(rows) + ", " + llvm::Twine(bytes) + "]");
    return {Item::Poison(), {}};
  }
  Item all = node.reshape(node.tensor(input), {node.dim(rows), node.dim(bytes)});
  return unpacked(node, all, bits, blocks);
}

/// A table with each block's number repeated for its codes, or with that of the group of each
/// column.
Item BlockProduct::spread(Item table, int64_t times) {
  if (node.has(groups))
    return node.call("index_select", {table, item(int64_t(1)), node.tensor(groups)});
  return node.call("repeat_interleave", {table, item(times), item(int64_t(1))});
}

/// (codes - zero point) * scale, where `perBlock` neighbours share both.
Item BlockProduct::dequantized(Item codes, int64_t perBlock) {
  Item zero = node.scalar(static_cast<double>(int64_t(1) << (bits - 1)), dtype);
  if (node.has(zeros)) {
    bool isPacked = !isa<FloatType>(node.dtype(zeros));
    zero = node.cast(spread(table(zeros, isPacked ? bits : 8), perBlock), dtype);
  }
  Item steps = node.call("sub", {node.cast(codes, dtype), zero});
  return node.call("mul", {steps, spread(table(scales, 8), perBlock)});
}

/// `rows`, [..., K], padded to whole blocks, with all first neighbours of bytes in front.
Item BlockProduct::ordered(Item from, int64_t parts) {
  if (node.hasFailed())
    return from;
  int64_t whole = blocks * block;
  if (whole != columns)
    from = node.call("pad", {from, itemList(SmallVector<int64_t>{0, whole - columns})});
  if (parts == 1 || node.hasFailed())
    return from;
  dl::Dims dims = dl::getDims(from.tensorType()), split = dims;
  split.back() = node.dim(whole / parts);
  split.push_back(node.dim(parts));
  Item turned =
      node.call("transpose", {node.reshape(from, split), item(int64_t(-2)), item(int64_t(-1))});
  return node.hasFailed() ? turned : node.reshape(turned, dims);
}

bool BlockProduct::run() {
  if (!readForm())
    return false;
  int64_t parts = 8 / bits, whole = blocks * block;
  Item bytes = node.reshape(node.tensor(weight), {node.dim(rows), node.dim(whole / parts)});
  Item left = node.tensor(x), right;
  if (node.has(groups)) { // a group of its own for each column
    right = dequantized(unpacked(node, bytes, bits, columns), block);
  } else {
    SmallVector<Item> columns;
    for (Item codes : codesOf(node, bytes, bits))
      columns.push_back(dequantized(codes, block / parts));
    right = columns.front();
    if (parts > 1)
      right = node.call("cat",
                        {Item{Item::List(columns.begin(), columns.end()), {}}, item(int64_t(1))});
    left = ordered(left, parts);
  }
  Item y = node.call("linear", {left, right});
  node.set(0, node.has(bias) ? node.call("add", {y, node.tensor(bias)}) : y);
  return !node.hasFailed();
}

static bool buildMatMulNBits(NodeImport &node) { return BlockProduct(node).run(); }

/// Rows of a table of few bits, as Gather takes them, and then their numbers.
static bool buildGatherBlockQuantized(NodeImport &node) {
  enum Input { data, indices, scales, zeros };
  int64_t block = node.integer("block_size", 128), bits = node.integer("bits", 4);
  auto along = node.axis(node.integer("gather_axis", 0), node.rank(data)),
       blocked = node.axis(node.integer("quantize_axis", 1), node.rank(data));
  if (!along || !blocked || node.hasFailed())
    return false;
  Type stored = node.dtype(data), dtype = node.dtype(scales);
  bool isPacked = stored.isUnsignedInteger(8), isFloat = isa<FloatType>(stored);
  if ((!isFloat || block != 0) && !checkBits(node, isPacked ? bits : 4, block))
    return false;
  if (*along == *blocked || (isPacked && *along != 0))
    return node.unsupported("it takes parts of axis " + llvm::Twine(*along) +
                                ", along which its blocks are or bytes have several numbers",
                            "; dlc takes another axis");
  auto last = dl::asConstant(node.dims(data).back());
  if (!last)
    return node.unsupported("its table is " + node.typeText(data), "; dlc needs its last dim");
  // Rows that the table does not have are 0.
  AffineExpr size = node.dims(data)[*along];
  Item flat = node.reshape(node.tensor(indices), {dl::product(node.dims(indices), node.context)});
  flat = wrapped(node, node.cast(flat, node.builder.getI64Type()), size);
  Item end = node.count(size);
  Item isThere = node.call(
      "logical_and", {node.call("ge", {flat, item(int64_t(0))}), node.call("lt", {flat, end})});
  flat = node.call("where", {isThere, flat, node.scalar(0, node.builder.getI64Type())});
  auto rows = [&](Input input) {
    bool isShared = node.dims(input)[*along] != size; // one for all rows
    return isShared ? node.tensor(input)
                    : node.call("index_select", {node.tensor(input), item(*along), flat});
  };
  Item codes = rows(data), scale = rows(scales);
  if (isPacked)
    codes = unpacked(node, codes, bits, *last * (8 / bits));
  if (node.hasFailed())
    return false;
  dl::Dims dims = dl::getDims(codes.tensorType());
  auto spread = [&](Item x) {
    if (!x.isTensor() || dl::getDims(x.tensorType())[*blocked] == node.dim(1))
      return x;
    x = node.call("repeat_interleave", {x, item(block), item(*blocked)});
    if (node.hasFailed() || dl::getDims(x.tensorType())[*blocked] == dims[*blocked])
      return x;
    return node.call("narrow",
                     {x, item(*blocked), item(int64_t(0)), Item::dim(dims[*blocked], {})});
  };
  Item y = node.cast(codes, dtype);
  if (node.has(zeros)) {
    Item zero = rows(zeros);
    auto blocks = dl::asConstant(node.dims(scales).back());
    if (isPacked)
      zero = unpacked(node, zero, bits, blocks.value_or(0));
    y = node.call("sub", {y, node.cast(spread(zero), dtype)});
  } else if (isPacked) {
    y = node.call("sub", {y, node.scalar(static_cast<double>(int64_t(1) << (bits - 1)), dtype)});
  }
  y = node.call("mul", {y, spread(scale)});
  dl::Dims onAxis(dims.size(), node.dim(1));
  onAxis[*along] = dims[*along];
  y = node.call("where", {node.reshape(isThere, onAxis), y, node.scalar(0, dtype)});
  dl::Dims of = node.dims(indices);
  dims.erase(dims.begin() + *along);
  dims.insert(dims.begin() + *along, of.begin(), of.end());
  node.set(0, node.hasFailed() ? y : node.reshape(y, dims));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> blockQuantizedRules() {
  static const OddRule rules[] = {
      {"com.microsoft.MatMulNBits", 1, buildMatMulNBits},
      {"com.microsoft.GatherBlockQuantized", 1, buildGatherBlockQuantized},
  };
  return rules;
}

} // namespace dlc::onnx
