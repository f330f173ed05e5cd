//===- Scatter.cpp - Ops of ONNX that write at positions, and that turn time around -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/PositionBox.h"

using namespace mlir;

namespace dlc::onnx {

/// "sum", "prod", "amax", "amin", or nothing for the last update; null, reported, where it is none
/// of them.
static std::optional<StringRef> readReduction(NodeImport &node) {
  std::string given = node.string("reduction", "none");
  for (auto [name, reduce] : {std::pair<StringRef, StringRef>("none", ""),
                              {"add", "sum"},
                              {"mul", "prod"},
                              {"max", "amax"},
                              {"min", "amin"}})
    if (given == name)
      return reduce;
  node.fail("its reduction is " + frontend::quote(given) + "; expected none, add, mul, max or min");
  return std::nullopt;
}

static Item scatter(NodeImport &node, StringRef reduce, const Item &x, int64_t axis,
                    const Item &index, const Item &updates) {
  if (reduce.empty())
    return node.call("scatter", {x, item(axis), index, updates});
  return node.call("scatter_reduce", {x, item(axis), index, updates, item(reduce)});
}

/// `number` in the dtype of `like`, as a tensor of no dims.
static Item dimTensor(NodeImport &node, AffineExpr number, Type dtype) {
  return node.call("scalar_tensor", {Item::dim(number, {}), item(dtype)});
}

static bool buildScatterElements(NodeImport &node) {
  auto axis = node.axis(node.integer("axis", 0), node.rank(0));
  auto reduce = readReduction(node);
  if (!axis || !reduce)
    return false;
  Item x = node.tensor(0), updates = node.tensor(2);
  dl::Dims wanted = node.dims(1);
  if (updates.isTensor() && dl::getDims(updates.tensorType()).size() == wanted.size() &&
      llvm::all_of(llvm::zip(dl::getDims(updates.tensorType()), wanted), [&](const auto &pair) {
        return node.mayAgree(std::get<0>(pair), std::get<1>(pair));
      }))
    updates = node.expect(updates, wanted);
  Item index = wrapped(node, node.tensor(1), node.dims(0)[*axis]);
  node.set(0, scatter(node, *reduce, x, *axis, index, updates));
  return !node.hasFailed();
}

/// x with `part` written at a box of it, from the dim `first` on; before that dim the box is the
/// whole of x.
static Item assigned(NodeImport &node, const Item &x, Item part, ArrayRef<PositionRange> box,
                     size_t first = 0) {
  if (!x.isTensor() || !part.isTensor())
    return x;
  dl::Dims dims = dl::getDims(x.tensorType());
  auto isWhole = [&](size_t dim) { return box[dim].size == dims[dim]; };
  while (first < box.size() && isWhole(first))
    ++first;
  if (first == box.size())
    return part;
  auto [start, size, loop] = box[first];
  Item dim = item(static_cast<int64_t>(first));
  // The elements beside the box along later dims are kept.
  for (size_t next = first + 1; next < box.size(); ++next)
    if (!isWhole(next)) {
      Item row = node.call("narrow", {x, dim, Item::dim(start, {}), Item::dim(size, {})});
      part = assigned(node, row, part, box, next);
      break;
    }
  return node.call("update_slice", {x, dim, Item::dim(start, {}), part});
}

/// Writes `updates`, [the positions' dims but the last..., the dims of x that these do not
/// name...], at a box of x. Nothing where the positions are no box, or where a Gradient would meet
/// an update_slice, which has no rule for it.
static std::optional<Item> assignBox(NodeImport &node, const Item &x, Item updates) {
  dl::Dims dims = node.dims(0), indexDims = node.dims(1), part = dims;
  auto box = positionBox(node, 1, dims);
  if (!box || node.dtype(0) != node.dtype(2))
    return std::nullopt;
  SmallVector<int64_t> order;
  for (auto [dim, range] : llvm::enumerate(*box)) {
    part[dim] = range.size;
    if (range.loop)
      order.push_back(*range.loop);
  }
  auto loops = static_cast<int64_t>(indexDims.size()) - 1;
  dl::Dims given(ArrayRef<AffineExpr>(indexDims).drop_back());
  given.append(dims.begin() + box->size(), dims.end());
  if (node.dims(2) != given || (part != dims && node.isDerived()))
    return std::nullopt;
  // The positions' other dims are 1, and stay where they are if the others do.
  if (!llvm::is_sorted(order)) {
    for (int64_t dim = 0; dim < static_cast<int64_t>(given.size()); ++dim)
      if (dim >= loops || !llvm::is_contained(order, dim))
        order.push_back(dim);
    updates = node.permute(updates, order);
  }
  Item moved = node.reshape(updates, part);
  return assigned(node, x, moved, *box);
}

/// The last dim of the positions names as many dims of x, which are made one; each update is a row
/// behind it.
static bool buildScatterND(NodeImport &node) {
  auto reduce = readReduction(node);
  Item x = node.tensor(0), updates = node.tensor(2);
  dl::Dims dims = node.dims(0), indexDims = node.dims(1);
  if (!reduce || node.hasFailed())
    return false;
  auto depth = indexDims.empty() ? std::nullopt : dl::asConstant(indexDims.back());
  if (!depth || *depth < 1 || *depth > static_cast<int64_t>(dims.size()))
    return node.unsupported("it has positions " + node.typeText(1) + " for " + node.typeText(0),
                            "; dlc takes positions of 1 dim of it or more, their number known");
  if (reduce->empty())
    if (auto y = assignBox(node, x, updates)) {
      node.set(0, *y);
      return !node.hasFailed();
    }
  // Of all dims together, row-major; outside where one part is.
  Item index = node.tensor(1);
  Type dtype = node.dtype(1);
  Item flat, isInside;
  auto last = static_cast<int64_t>(indexDims.size()) - 1;
  for (int64_t i = 0; i < *depth; ++i) {
    Item part = wrapped(node, node.call("select", {index, item(last), item(i)}), dims[i]);
    Item size = dimTensor(node, dims[i], dtype);
    Item fits = node.call("logical_and", {node.call("ge", {part, node.scalar(0, dtype)}),
                                          node.call("lt", {part, size})});
    isInside = i == 0 ? fits : node.call("logical_and", {isInside, fits});
    flat = i == 0 ? part : node.call("add", {node.call("mul", {flat, size}), part});
  }
  flat = node.call("where", {isInside, flat, node.scalar(-1, dtype)});
  ArrayRef<AffineExpr> all(dims), places(indexDims);
  AffineExpr rows = dl::product(all.take_front(*depth), node.context),
             width = dl::product(all.drop_front(*depth), node.context),
             count = dl::product(places.drop_back(), node.context);
  Item names = node.broadcast(node.reshape(flat, {count, node.dim(1)}), {count, width});
  Item y = scatter(node, *reduce, node.reshape(x, {rows, width}), 0, names,
                   node.reshape(updates, {count, width}));
  node.set(0, node.reshape(y, dims));
  return !node.hasFailed();
}

/// `size` numbers from 0 along `axis` of a tensor of `rank` dims.
static Item along(NodeImport &node, int64_t axis, int64_t rank, AffineExpr size) {
  dl::Dims dims(rank, node.dim(1));
  dims[axis] = size;
  return node.reshape(node.call("arange", {Item::dim(size, {})}), dims);
}

/// Rows of a cache overwritten from a position on, each batch at its own.
static bool buildTensorScatter(NodeImport &node) {
  auto rank = node.rank(0);
  auto axis = node.axis(node.integer("axis", -2), rank);
  std::string mode = node.string("mode", "linear");
  Item past = node.tensor(0), update = node.tensor(1);
  if (!axis || node.hasFailed())
    return false;
  if ((mode != "linear" && mode != "circular") || *axis == 0)
    return node.fail("its mode is " + frontend::quote(mode) + " along axis " + llvm::Twine(*axis) +
                     "; expected linear or circular, and not along the batch");
  dl::Dims dims = node.dims(0), updateDims = node.dims(1);
  if (static_cast<int64_t>(updateDims.size()) != rank)
    return node.fail("its cache is " + node.typeText(0) + " and its update " + node.typeText(1) +
                     "; expected equal ranks");
  // Where it is known that the update fits, it is one op, which writes to a state in place.
  auto room = dl::asConstant(dims[*axis]), part = dl::asConstant(updateDims[*axis]);
  bool isPerBatch = !node.has(2) || node.dims(2) == dl::Dims{dims.front()};
  bool isPart = true;
  for (int64_t i = 0; i < rank; ++i)
    isPart &= i == *axis || dims[i] == updateDims[i];
  if (mode == "linear" && isPerBatch && isPart && room &&
      (part ? *part <= *room : node.limit(updateDims[*axis], *room))) {
    Item start = node.has(2) ? node.tensor(2) : item(int64_t(0));
    node.set(0, node.call("update_slice", {past, item(*axis), start, update}));
    return !node.hasFailed();
  }
  Type i64 = node.builder.getI64Type();
  Item source = along(node, *axis, rank, dims[*axis]);
  if (node.has(2)) {
    dl::Dims column(rank, node.dim(1));
    column[0] = dims[0];
    Item first = node.reshape(node.cast(node.tensor(2), i64), column);
    source = node.call("sub", {source, first});
  }
  if (mode == "circular")
    source = node.call("remainder", {source, dimTensor(node, dims[*axis], i64)});
  Item isNew = node.call("logical_and",
                         {node.call("ge", {source, node.scalar(0, i64)}),
                          node.call("lt", {source, dimTensor(node, updateDims[*axis], i64)})});
  Item taken = node.call("take_along_dim", {update, source, item(*axis)});
  node.set(0, node.call("where", {isNew, taken, past}));
  return !node.hasFailed();
}

/// The first so many steps of each batch from the last to the first.
static bool buildReverseSequence(NodeImport &node) {
  int64_t rank = node.rank(0);
  auto time = node.axis(node.integer("time_axis", 0), rank),
       batch = node.axis(node.integer("batch_axis", 1), rank);
  Item x = node.tensor(0), lengths = node.tensor(1);
  if (!time || !batch || node.hasFailed())
    return false;
  if (*time == *batch)
    return node.fail("its time_axis and batch_axis are the same");
  dl::Dims dims = node.dims(0), column(rank, node.dim(1));
  column[*batch] = dims[*batch];
  Item step = along(node, *time, rank, dims[*time]);
  Item length = node.reshape(node.cast(lengths, node.builder.getI64Type()), column);
  Item mirrored = node.call("sub", {node.call("sub", {length, step}), item(int64_t(1))});
  Item source = node.call("where", {node.call("lt", {step, length}), mirrored, step});
  node.set(0, node.call("take_along_dim", {x, source, item(*time)}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> scatterRules() {
  static const OddRule rules[] = {
      {"Scatter", 9, buildScatterElements},
      {"ScatterElements", 11, buildScatterElements},
      {"ScatterND", 11, buildScatterND},
      {"TensorScatter", 24, buildTensorScatter},
      {"ReverseSequence", 10, buildReverseSequence},
  };
  return rules;
}

} // namespace dlc::onnx
