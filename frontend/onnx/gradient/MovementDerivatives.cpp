//===- MovementDerivatives.cpp - Of ops that move elements --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/gradient/Derivation.h"
#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc::onnx {

/// The same elements under other dims.
static void deriveReshape(Derivation &d) { d.add(0, d.dy().reshape(d.dims())); }

static void deriveBroadcast(Derivation &d) { d.add(0, d.dy().summedTo(d.dims())); }

static void derivePermute(Derivation &d) {
  SmallVector<int64_t> order = d.integers("dims"), back(order.size());
  auto rank = static_cast<int64_t>(order.size());
  for (auto [position, dim] : llvm::enumerate(order))
    back[dim < 0 ? dim + rank : dim] = static_cast<int64_t>(position);
  d.add(0, d.dy().permute(back));
}

static void deriveTranspose(Derivation &d) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(d.dims().size())));
  std::swap(order[d.axis("dim0")], order[d.axis("dim1")]);
  d.add(0, d.dy().permute(order));
}

static void deriveFlip(Derivation &d) {
  d.add(0, d.dy().call("flip", {itemList(d.integers("dims"))}));
}

/// Each index stood for `count` of them, in a dim in front of it or behind.
static Term gathered(const Term &dy, ArrayRef<AffineExpr> dims, int64_t axis, int64_t count,
                     bool isBehind) {
  dl::Dims apart(dims);
  int64_t of = isBehind ? axis + 1 : axis;
  apart.insert(apart.begin() + of, dy.node->dim(count));
  return dy.reshape(apart).call("sum", {itemList(ArrayRef(of))});
}

static void deriveRepeat(Derivation &d) {
  SmallVector<int64_t> repeats = d.integers("repeats");
  dl::Dims dims = d.dims(), now = d.dy().dims();
  size_t added = repeats.size() - std::min(repeats.size(), dims.size());
  Term dx = d.dy();
  for (size_t i = 0; i < repeats.size() && !d.node.hasFailed(); ++i) {
    now[i] = i < added ? d.dim(1) : dims[i - added];
    if (repeats[i] != 1)
      dx = gathered(dx, now, static_cast<int64_t>(i), repeats[i], /*isBehind=*/false);
  }
  d.add(0, dx.reshape(dims));
}

static void deriveRepeatInterleave(Derivation &d) {
  d.add(0, gathered(d.dy(), d.dims(), d.axis(), d.integer("repeats", 1), /*isBehind=*/true));
}

/// Zeros around what begins at `start`.
static Term placed(Derivation &d, const Term &dy, int64_t axis, AffineExpr start) {
  dl::Dims now = dy.dims();
  if (d.node.hasFailed())
    return dy;
  return dy.padded(axis, start, d.dims()[axis] - start - now[axis]);
}

/// Zeros between the elements, too, where it takes each step-th.
static void deriveSlice(Derivation &d) {
  int64_t axis = d.axis(), step = d.integer("step", 1), start = d.integer("start", 0);
  AffineExpr size = d.dims()[axis], from = d.dim(start);
  if (start < 0) // of a dim that is shorter, from its begin
    from = dl::asConstant(size) && *dl::asConstant(size) < -start ? d.dim(0) : size + start;
  Term dy = d.dy();
  dl::Dims dims = dy.dims();
  if (dl::isConstant(dims[axis], 0)) {
    d.add(0, d.zeros(d.dims()));
    return;
  }
  if (step > 1) {
    dl::Dims apart = dims;
    apart.insert(apart.begin() + axis + 1, d.dim(1));
    dims[axis] = dl::normalize(dims[axis] * step);
    dy = dy.reshape(apart).padded(axis + 1, d.dim(0), d.dim(step - 1)).reshape(dims);
    // What stands behind the last one may be more than x has.
    AffineExpr left = dl::normalize(d.dims()[axis] - from - dims[axis]);
    if (!dl::asConstant(left))
      return d.refuse("'slice' by a step of " + llvm::Twine(step) + " of a dim of " +
                          d.node.text(size),
                      "; give the symbols numbers by --shapes");
  }
  d.add(0, placed(d, dy, axis, from));
}

static void deriveNarrow(Derivation &d) {
  int64_t axis = d.axis();
  AffineExpr start = d.op->getAttrOfType<AffineMapAttr>("start").getValue().getResult(0);
  bool isFromEnd = dl::asConstant(start).value_or(0) < 0;
  d.add(0, placed(d, d.dy(), axis, isFromEnd ? d.dims()[axis] + start : start));
}

static void deriveSelect(Derivation &d) {
  int64_t axis = d.axis(), index = d.integer("index", 0);
  dl::Dims one = d.dims();
  AffineExpr at = index < 0 ? one[axis] + index : d.dim(index);
  one[axis] = d.dim(1);
  d.add(0, placed(d, d.dy().reshape(one), axis, at));
}

/// Elements that the border repeats are not summed up.
static void derivePad(Derivation &d) {
  auto mode = d.op->getAttrOfType<StringAttr>("mode");
  if (mode && mode.getValue() != "constant")
    return d.refuse("'pad' of mode " + mode.getValue(), "; dlc knows that of mode constant");
  SmallVector<int64_t> widths = d.integers("pad");
  assert(widths.size() == d.op->getAttrOfType<AffineMapAttr>("pad").getValue().getNumResults() &&
         "ONNX's Pad has numbers for widths");
  for (int64_t &width : widths)
    width = -width;
  d.add(0, d.dy().call("pad", {itemList(widths)}));
}

static void deriveCat(Derivation &d) {
  dl::Dims whole = d.dy().dims();
  int64_t axis = d.axis();
  AffineExpr start = d.dim(0);
  for (unsigned i = 0; i < d.op->getNumOperands(); ++i) {
    AffineExpr length = d.dims(i)[axis];
    if (d.wants(i))
      d.add(i, d.dy().narrowed(axis, start, length));
    start = dl::normalize(start + length);
  }
}

static void deriveStack(Derivation &d) {
  int64_t axis = d.integer("dim", 0);
  axis += axis < 0 ? static_cast<int64_t>(d.dims().size()) + 1 : 0;
  for (unsigned i = 0; i < d.op->getNumOperands(); ++i)
    if (d.wants(i))
      d.add(i, d.dy().call("select", {item(axis), item(static_cast<int64_t>(i))}));
}

static void deriveTriangle(Derivation &d, StringRef callee) {
  d.add(0, d.dy().call(callee, {item(d.integer("diagonal", 0))}));
}

llvm::ArrayRef<DerivativeRule> movementDerivatives() {
  static const DerivativeRule rules[] = {
      {"dl.reshape", deriveReshape},
      {"dl.unsqueeze", deriveReshape},
      {"dl.broadcast", deriveBroadcast},
      {"dl.expand", deriveBroadcast},
      {"dl.permute", derivePermute},
      {"dl.transpose", deriveTranspose},
      {"dl.flip", deriveFlip},
      {"dl.repeat", deriveRepeat},
      {"dl.repeat_interleave", deriveRepeatInterleave},
      {"dl.slice", deriveSlice},
      {"dl.narrow", deriveNarrow},
      {"dl.select", deriveSelect},
      {"dl.pad", derivePad},
      {"dl.cat", deriveCat},
      {"dl.stack", deriveStack},
      {"dl.tril", [](Derivation &d) { deriveTriangle(d, "tril"); }},
      {"dl.triu", [](Derivation &d) { deriveTriangle(d, "triu"); }},
  };
  return rules;
}

} // namespace dlc::onnx
