//===- IndexDerivatives.cpp - Of ops that read at positions which a tensor holds ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was read several times is worth the sum. Positions outside the tensor, which read NaN, name
// nothing here.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/gradient/Derivation.h"

using namespace mlir;

namespace dlc::onnx {

/// Zeros in the dims of operand 0, plus dy at the places along `axis` that `index`, of the dims of
/// dy, names.
static Term scattered(Derivation &d, const Term &dy, int64_t axis, const Term &index) {
  return d.zeros(d.dims()).call("scatter_add", {item(axis), index.item, dy.item});
}

static void deriveGather(Derivation &d) { d.add(0, scattered(d, d.dy(), d.axis(), d.x(1))); }

static void deriveTakeAlongDim(Derivation &d) {
  int64_t axis = d.axis();
  dl::Dims all = d.dy().dims(), wide = d.dims();
  Term index = d.x(1).broadcast(all);
  if (d.node.hasFailed())
    return;
  // x may be repeated along the other dims.
  dl::Dims zeros = all;
  zeros[axis] = wide[axis];
  Term dx = d.zeros(zeros).call("scatter_add", {item(axis), index.item, d.dy().item});
  d.add(0, dx.summedTo(wide));
}

static void deriveIndexSelect(Derivation &d) {
  int64_t axis = d.axis();
  dl::Dims all = d.dy().dims(), along(all.size(), d.dim(1));
  along[axis] = all[axis];
  d.add(0, scattered(d, d.dy(), axis, d.x(1).reshape(along).broadcast(all)));
}

/// Rows; negative positions count from the end.
static void deriveIndex(Derivation &d) {
  dl::Dims dims = d.dims();
  AffineExpr count = dl::product(d.dims(1), d.node.context);
  dl::Dims rows(dims), along(dims.size(), d.dim(1));
  rows[0] = along[0] = dl::normalize(count);
  Term index = d.x(1);
  Item size{d.node.call("scalar_tensor", {Item::dim(dims[0], {}), item(d.dtype(1))})};
  index = where(index < 0.0, index.call("add", {size}), index);
  d.add(0, scattered(d, d.dy().reshape(rows), 0, index.reshape(along).broadcast(rows)));
}

/// x, and what is added at the places of the positions.
static void deriveScatterAdd(Derivation &d) {
  d.add(0, d.dy());
  if (d.wants(2))
    d.add(2, d.dy().call("gather", {item(d.axis()), d.x(1).item}));
}

/// x elsewhere, and what is written. Of several values at one place each is worth what the place
/// is.
static void deriveScatter(Derivation &d) {
  d.add(0, d.dy().call("scatter", {item(d.axis()), d.x(1).item, item(0.0)}));
  if (d.op->getNumOperands() > 2 && d.wants(2))
    d.add(2, d.dy().call("gather", {item(d.axis()), d.x(1).item}));
}

static void deriveScatterReduce(Derivation &d) {
  StringRef reduce = d.op->getAttrOfType<StringAttr>("reduce").getValue();
  if (reduce != "sum" || !d.boolean("include_self", true))
    return d.refuse("'scatter_reduce' by " + reduce, "; dlc knows that by sum");
  deriveScatterAdd(d);
}

/// The values of topk stand where its positions say.
static void deriveTopk(Derivation &d) { d.add(0, scattered(d, d.dy(), d.axis("dim", -1), d.y(1))); }

llvm::ArrayRef<DerivativeRule> indexDerivatives() {
  static const DerivativeRule rules[] = {
      {"dl.gather", deriveGather},
      {"dl.take_along_dim", deriveTakeAlongDim},
      {"dl.index_select", deriveIndexSelect},
      {"dl.index", deriveIndex},
      {"dl.scatter_add", deriveScatterAdd},
      {"dl.scatter", deriveScatter},
      {"dl.scatter_reduce", deriveScatterReduce},
      {"dl.topk", deriveTopk},
  };
  return rules;
}

} // namespace dlc::onnx
