//===- Index.cpp - Ops of ONNX that read at positions -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

Item wrapped(NodeImport &node, Item index, AffineExpr size) {
  if (!index.isTensor())
    return index;
  Type dtype = index.tensorType().getElementType();
  Item count = node.call("scalar_tensor", {Item::dim(size, {}), item(dtype)});
  Item isNegative = node.call("lt", {index, node.scalar(0, dtype)});
  return node.call("where", {isNegative, node.call("add", {index, count}), index});
}

/// Positions in dim `axis` of x that are known must be there: the two that reach furthest are
/// selected, which is an error, or narrows the range of a symbolic dim, where x may not have them.
/// Nobody uses what they give.
static bool holdsKnown(NodeImport &node, Item x, int64_t axis, const Known *positions) {
  auto numbers = positions ? positions->integers() : std::nullopt;
  if (!numbers || numbers->empty())
    return !node.hasFailed();
  auto [least, most] = std::minmax_element(numbers->begin(), numbers->end());
  for (int64_t position : {*least, *most})
    node.call("select", {x, item(axis), item(position)});
  return !node.hasFailed();
}

/// The positions, any dims of them, take the place of the axis.
static bool buildGather(NodeImport &node) {
  int64_t rank = node.rank(0);
  auto axis = node.axis(node.integer("axis", 0), rank);
  if (!axis)
    return false;
  Item x = node.tensor(0);
  const Known *one = node.known(1);
  auto position = one && one->shape.empty() ? one->integers() : std::nullopt;
  if (position) {
    node.set(0, node.call("select", {x, item(*axis), item(position->front())}));
    return !node.hasFailed();
  }
  Item index = node.tensor(1);
  if (node.hasFailed() || !holdsKnown(node, x, *axis, one))
    return false;
  int64_t indexRank = node.rank(1);
  SmallVector<int64_t> front{*axis};
  for (int64_t i = 0; i < rank; ++i)
    if (i != *axis)
      front.push_back(i);
  Item found = node.call("index", {node.permute(x, front), index});
  SmallVector<int64_t> back;
  for (int64_t i = 0; i < *axis; ++i)
    back.push_back(indexRank + i);
  for (int64_t i = 0; i < indexRank; ++i)
    back.push_back(i);
  for (int64_t i = *axis; i + 1 < rank; ++i)
    back.push_back(indexRank + i);
  node.set(0, node.permute(found, back));
  return !node.hasFailed();
}

static bool buildGatherElements(NodeImport &node) {
  auto axis = node.axis(node.integer("axis", 0), node.rank(0));
  if (!axis)
    return false;
  Item x = node.tensor(0), index = wrapped(node, node.tensor(1), node.dims(0)[*axis]);
  if (node.hasFailed() || !holdsKnown(node, x, *axis, node.known(1)))
    return false;
  // Along the other dims the first elements are read: a dim without a number has as many at least.
  dl::Dims dims = node.dims(0), read = node.dims(1);
  for (int64_t dim = 0; read.size() == dims.size() && dim < node.rank(0); ++dim)
    if (dim != *axis && !dl::asConstant(dims[dim]) && dl::asConstant(read[dim]))
      x = node.call("narrow", {x, item(dim), item(int64_t(0)), Item::dim(read[dim], {})});
  node.set(0, node.call("gather", {x, item(*axis), index}));
  return !node.hasFailed();
}

/// The first dims of x and of the positions are the same: each batch begins at its own rows of x.
static bool gatherOfBatches(NodeImport &node, int64_t batch) {
  Item x = node.tensor(0), index = node.tensor(1);
  if (node.hasFailed())
    return false;
  dl::Dims dims = node.dims(0), indexDims = node.dims(1);
  auto rank = static_cast<int64_t>(dims.size()), last = static_cast<int64_t>(indexDims.size()) - 1;
  auto depth = batch < 0 || last < batch ? std::nullopt : dl::asConstant(indexDims.back());
  if (!depth || *depth < 1 || batch + *depth > rank)
    return node.fail("it has batch_dims " + llvm::Twine(batch) + " and positions " +
                     node.typeText(1) + " for " + node.typeText(0));
  Type dtype = node.dtype(1);
  auto sizeOf = [&](AffineExpr size) {
    return node.call("scalar_tensor", {Item::dim(size, {}), item(dtype)});
  };
  ArrayRef<AffineExpr> all(dims), places(indexDims);
  dl::Dims column(last, node.dim(1));
  std::copy_n(dims.begin(), batch, column.begin());
  AffineExpr batches = dl::product(all.take_front(batch), node.context);
  Item flat = node.reshape(node.cast(node.call("arange", {Item::dim(batches, {})}), dtype), column);
  for (int64_t i = 0; i < *depth; ++i) {
    AffineExpr size = dims[batch + i];
    Item part = wrapped(node, node.call("select", {index, item(last), item(i)}), size);
    flat = node.call("add", {node.call("mul", {flat, sizeOf(size)}), part});
  }
  dl::Dims table{dl::product(all.take_front(batch + *depth), node.context)};
  table.append(all.begin() + batch + *depth, all.end());
  node.set(0, node.call("index", {node.reshape(x, table), flat}));
  return !node.hasFailed();
}

/// The last dim of the positions names as many dims of x, which are made one.
static bool buildGatherND(NodeImport &node) {
  Item x = node.tensor(0), index = node.tensor(1);
  if (node.hasFailed())
    return false;
  dl::Dims dims = node.dims(0), indexDims = node.dims(1);
  int64_t batch = node.integer("batch_dims", 0);
  if (batch != 0)
    return gatherOfBatches(node, batch);
  auto depth = indexDims.empty() ? std::nullopt : dl::asConstant(indexDims.back());
  if (!depth || *depth > static_cast<int64_t>(dims.size()) || *depth < 1)
    return node.unsupported("it has positions " + node.typeText(1),
                            "; dlc takes positions of 1 dim of x or more");
  Type dtype = node.dtype(1);
  Item flat;
  auto last = static_cast<int64_t>(indexDims.size()) - 1;
  for (int64_t i = 0; i < *depth; ++i) {
    Item part = wrapped(node, node.call("select", {index, item(last), item(i)}), dims[i]);
    if (i == 0) {
      flat = part;
      continue;
    }
    Item size = node.call("scalar_tensor", {Item::dim(dims[i], {}), item(dtype)});
    flat = node.call("add", {node.call("mul", {flat, size}), part});
  }
  ArrayRef<AffineExpr> all(dims);
  dl::Dims table{dl::product(all.take_front(*depth), node.context)};
  table.append(all.begin() + *depth, all.end());
  node.set(0, node.call("index", {node.reshape(x, table), flat}));
  return !node.hasFailed();
}

/// values[1] where the position along the new axis is that of indices, else values[0].
static bool buildOneHot(NodeImport &node) {
  // ONNX lets the depth be a float.
  const Known *number = node.known(1);
  auto reals = number && isa<FloatType>(number->dtype) ? number->reals() : std::nullopt;
  std::optional<SmallVector<int64_t>> depth;
  if (reals && llvm::all_of(*reals, [](double n) { return n >= 0 && n <= INT32_MAX; }))
    depth = SmallVector<int64_t>(reals->begin(), reals->end());
  else if (!reals)
    depth = node.integers(1, "the depth");
  else
    return node.fail("its depth is beyond 0 to 2^31 - 1");
  if (!depth || depth->size() != 1)
    return node.hasFailed() ? false : node.fail("its depth has several numbers; expected one");
  dl::Dims dims = node.dims(0);
  auto axis = node.axis(node.integer("axis", -1), dims.size() + 1);
  Item index = node.tensor(0), values = node.tensor(2);
  if (!axis || node.hasFailed())
    return false;
  Type dtype = node.dtype(0);
  // The depth may lie beyond what few bits hold.
  if (!isa<FloatType>(dtype) && dtype.getIntOrFloatBitWidth() < 64)
    index = node.cast(index, dtype = node.builder.getI64Type());
  dl::Dims with = dims, along(dims.size() + 1, node.dim(1));
  with.insert(with.begin() + *axis, node.dim(1));
  along[*axis] = node.dim(depth->front());
  Item count = node.scalar(static_cast<double>(depth->front()), dtype);
  Item from = node.call("where", {node.call("lt", {index, node.scalar(0, dtype)}),
                                  node.call("add", {index, count}), index});
  Item positions = node.cast(node.call("arange", {item(depth->front())}), dtype);
  Item hit = node.call("eq", {node.reshape(from, with), node.reshape(positions, along)});
  Item off = node.call("select", {values, item(int64_t(0)), item(int64_t(0))}),
       on = node.call("select", {values, item(int64_t(0)), item(int64_t(1))});
  node.set(0, node.call("where", {hit, on, off}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> indexRules() {
  static const OddRule rules[] = {
      {"Gather", 1, buildGather},
      {"GatherElements", 11, buildGatherElements},
      {"GatherND", 11, buildGatherND},
      {"OneHot", 9, buildOneHot},
  };
  return rules;
}

} // namespace dlc::onnx
