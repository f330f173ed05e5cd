//===- SampleSteps.cpp - Reading between elements as plain arithmetic ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/ops/SampleSteps.h"

#include "frontend/Spelling.h"

using namespace mlir;

namespace dlc::onnx {

namespace {
/// Reads x [N, C, ...] at the places of a grid [N, ..., spatial].
class GridSample {
public:
  GridSample(NodeImport &node, Item x, Item grid)
      : node(node), x(x), grid(grid), dtype(grid.tensorType().getElementType()) {}
  bool run();

private:
  Item op(StringRef name, Item a, Item b) { return node.call(name, {a, b}); }
  Item number(double value) { return node.scalar(value, dtype); }
  Item place(int64_t dim, Item g);
  Item reflected(Item at, double low, double high);
  Item bounded(int64_t dim, Item at, bool rounds);
  Item read(ArrayRef<Item> at);
  Item linear(int64_t dim, SmallVector<Item> &at);
  Item cubic(int64_t dim, SmallVector<Item> &at);
  Item nearest();

  NodeImport &node;
  Item x, grid;
  Type dtype;
  int64_t spatial = 0;
  bool aligns = false;
  std::string mode, padding;
  SmallVector<int64_t> sizes;
  SmallVector<Item> places; // where each point of the grid lies in x, by dim
};
} // namespace

/// From -1 to 1 to elements of the dim.
Item GridSample::place(int64_t dim, Item g) {
  auto size = static_cast<double>(sizes[dim]);
  Item from0 = op("add", g, number(1));
  if (aligns)
    return op("mul", from0, number((size - 1) / 2));
  return op("sub", op("mul", from0, number(size / 2)), number(0.5));
}

/// Mirrored at `low` and `high` until it lies between.
Item GridSample::reflected(Item at, double low, double high) {
  double span = high - low;
  if (span <= 0)
    return op("mul", at, number(0));
  Item distance = node.call("abs", {op("sub", at, number(low))});
  Item times = node.call("floor", {op("div", distance, number(span))});
  Item rest = op("sub", distance, op("mul", times, number(span)));
  Item isOdd = op("eq", op("remainder", times, number(2)), number(1));
  return node.call("where", {isOdd, op("sub", number(high), rest), op("add", number(low), rest)});
}

Item GridSample::bounded(int64_t dim, Item at, bool rounds) {
  auto last = static_cast<double>(sizes[dim] - 1);
  if (padding == "reflection")
    at = aligns ? reflected(at, 0, last) : reflected(at, -0.5, last + 0.5);
  if (rounds)
    at = node.call("round", {at});
  if (padding != "zeros")
    at = node.call("clamp", {at, item(0.0), item(last)});
  return at;
}

/// x at whole places; 0 outside.
Item GridSample::read(ArrayRef<Item> at) {
  Type whole = node.builder.getI64Type();
  Item flat, isInside;
  for (int64_t dim = 0; dim < spatial; ++dim) {
    auto last = static_cast<double>(sizes[dim] - 1);
    Item inside = op("logical_and", op("ge", at[dim], number(0)), op("le", at[dim], number(last)));
    Item position = node.cast(node.call("clamp", {at[dim], item(0.0), item(last)}), whole);
    isInside = dim == 0 ? inside : op("logical_and", isInside, inside);
    flat = dim == 0 ? position : op("add", op("mul", flat, item(sizes[dim])), position);
  }
  if (!flat.isTensor())
    return flat;
  // [N, C, H W] by positions [N, 1, P], of all channels.
  dl::Dims dims = dl::getDims(x.tensorType()), points = dl::getDims(flat.tensorType());
  AffineExpr count = dl::product(ArrayRef<AffineExpr>(points).drop_front(), node.context),
             image = dl::product(ArrayRef<AffineExpr>(dims).drop_front(2), node.context);
  Item table = node.reshape(x, {dims[0], dims[1], image});
  Item index =
      node.broadcast(node.reshape(flat, {dims[0], node.dim(1), count}), {dims[0], dims[1], count});
  Item found = node.call("gather", {table, item(int64_t(2)), index});
  dl::Dims result{dims[0], dims[1]}, mask{dims[0], node.dim(1)};
  result.append(points.begin() + 1, points.end());
  mask.append(points.begin() + 1, points.end());
  found = node.reshape(found, result);
  if (padding != "zeros")
    return found;
  return node.call("where", {node.reshape(isInside, mask), found,
                             node.scalar(0, x.tensorType().getElementType())});
}

/// A weight [N, ...] as one of [N, 1, ...].
static Item withChannels(NodeImport &node, Item weight, Type dtype) {
  if (!weight.isTensor())
    return weight;
  dl::Dims dims = dl::getDims(weight.tensorType());
  dims.insert(dims.begin() + 1, node.dim(1));
  return node.cast(node.reshape(weight, dims), dtype);
}

/// Between the two neighbours along each dim, the last one innermost.
Item GridSample::linear(int64_t dim, SmallVector<Item> &at) {
  if (dim == spatial)
    return read(at);
  Item first = node.call("floor", {places[dim]});
  Item part = withChannels(node, op("sub", places[dim], first), x.tensorType().getElementType());
  at[dim] = first;
  Item low = linear(dim + 1, at);
  at[dim] = op("add", first, number(1));
  Item high = linear(dim + 1, at);
  return op("add", op("mul", low, op("sub", node.scalar(1, x.tensorType().getElementType()), part)),
            op("mul", high, part));
}

/// Four neighbours along each dim, by Keys's polynomials with a = -0.75.
Item GridSample::cubic(int64_t dim, SmallVector<Item> &at) {
  if (dim == spatial)
    return read(at);
  constexpr double a = -0.75;
  Type element = x.tensorType().getElementType();
  Item first = node.call("floor", {places[dim]}), part = op("sub", places[dim], first), sum;
  for (int tap = -1; tap <= 2; ++tap) {
    // |distance| of the tap, 0 to 1 for the inner two and 1 to 2 for the outer.
    Item d = tap <= 0 ? op("add", part, number(-tap)) : op("sub", number(tap), part);
    auto times = [&](Item p, double c) { return op("add", op("mul", p, d), number(c)); };
    Item weight =
        tap == 0 || tap == 1
            ? op("add",
                 op("mul", op("mul", op("sub", op("mul", d, number(a + 2)), number(a + 3)), d), d),
                 number(1))
            : times(times(times(number(a), -5 * a), 8 * a), -4 * a);
    at[dim] = bounded(dim, op("add", first, number(tap)), false);
    Item term = op("mul", cubic(dim + 1, at), withChannels(node, weight, element));
    sum = tap == -1 ? term : op("add", sum, term);
  }
  return sum;
}

Item GridSample::nearest() {
  SmallVector<Item> at;
  for (int64_t dim = 0; dim < spatial; ++dim)
    at.push_back(bounded(dim, places[dim], true));
  return read(at);
}

bool GridSample::run() {
  aligns = node.integer("align_corners", 0) != 0;
  mode = node.string("mode", "linear");
  padding = node.string("padding_mode", "zeros");
  dl::Dims dims = dl::getDims(x.tensorType()), points = dl::getDims(grid.tensorType());
  spatial = static_cast<int64_t>(dims.size()) - 2;
  if (mode == "bilinear")
    mode = "linear";
  if (mode == "bicubic")
    mode = "cubic";
  if (spatial < 1 || points.size() != dims.size() || !dl::isConstant(points.back(), spatial) ||
      !isa<FloatType>(dtype) ||
      (padding != "zeros" && padding != "border" && padding != "reflection") ||
      (mode != "linear" && mode != "nearest" && mode != "cubic"))
    return node.fail("it reads " + dl::text(x.as<mlir::Value>()) + " at " +
                     dl::text(grid.as<mlir::Value>()) + " in mode " + frontend::quote(mode) +
                     " with " + frontend::quote(padding) +
                     "; expected x [N, C, ...] and a grid [N, ..., as many] of floats");
  constexpr int64_t kMostSpatial =
      3; // each one doubles or quadruples the elements read for a result
  if (spatial > kMostSpatial)
    return node.unsupported("it reads between elements of " + dl::text(x.as<mlir::Value>()),
                            "; dlc takes up to three dims after the channels");
  for (AffineExpr dim : ArrayRef<AffineExpr>(dims).drop_front(2)) {
    auto size = dl::asConstant(dim);
    if (!size || *size < 1)
      return node.unsupported("it reads between elements of " + dl::text(x.as<mlir::Value>()),
                              "; dlc needs numbers after the channels");
    sizes.push_back(*size);
  }
  for (int64_t dim = 0; dim < spatial; ++dim) {
    // The last number of a point is that of the first dim.
    Item g = node.call("select", {grid, item(spatial + 1), item(spatial - 1 - dim)});
    Item at = place(dim, g);
    places.push_back(mode == "linear" ? bounded(dim, at, false) : at);
  }
  SmallVector<Item> at(spatial);
  node.set(0, mode == "linear" ? linear(0, at) : mode == "cubic" ? cubic(0, at) : nearest());
  return !node.hasFailed();
}

bool buildSampleSteps(NodeImport &node, Item x, Item grid) {
  return GridSample(node, std::move(x), std::move(grid)).run();
}

} // namespace dlc::onnx
