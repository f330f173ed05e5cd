//===- ReductionDerivatives.cpp - Of reductions, softmax and running sums -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/gradient/Derivation.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

namespace {
/// What a reduction reduces.
struct Reduced {
  SmallVector<int64_t> axes;
  dl::Dims kept; // the dims of x, 1 where they are reduced

  explicit Reduced(Derivation &d) : kept(d.dims()) {
    auto rank = static_cast<int64_t>(kept.size());
    axes = d.integers("dim");
    if (axes.empty())
      axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    for (int64_t &axis : axes) {
      axis += axis < 0 ? rank : 0;
      kept[axis] = d.dim(1);
    }
  }
  Term sum(const Term &of) const {
    return axes.empty() ? of : of.call("sum", {itemList(axes), item(true)});
  }
};
} // namespace

static void deriveSum(Derivation &d) {
  d.add(0, d.dy().reshape(Reduced(d).kept).broadcast(d.dims()));
}

static void deriveMean(Derivation &d) {
  Reduced reduced(d);
  dl::Dims dims = d.dims(), over;
  for (int64_t axis : reduced.axes)
    over.push_back(dims[axis]);
  Item count = Item::dim(dl::normalize(dl::product(over, d.node.context)), {});
  Term part = d.dy().reshape(reduced.kept).call("div", {count});
  d.add(0, part.broadcast(dims));
}

/// Elements that are equally large share.
static void deriveExtreme(Derivation &d) {
  Reduced reduced(d);
  Term y = d.y().reshape(reduced.kept), dy = d.dy().reshape(reduced.kept);
  Term isIt = d.x().call("eq", {y.item});
  Term hits{d.node.cast(isIt.item, d.dtype()), d.node};
  d.add(0, where(isIt, dy / reduced.sum(hits), 0.0));
}

/// The product of the others: y / x, and where one element is 0 that of the rest for it alone.
static void deriveProd(Derivation &d) {
  Reduced reduced(d);
  Term x = d.x(), y = d.y().reshape(reduced.kept), dy = d.dy().reshape(reduced.kept);
  Term isZero = x.call("eq", {item(0.0)});
  Term zeros = reduced.sum({d.node.cast(isZero.item, d.dtype()), d.node});
  Term rest = where(isZero, 1.0, x);
  for (int64_t axis : reduced.axes)
    rest = rest.call("prod", {itemList(ArrayRef(axis)), item(true)});
  Term alone = where(zeros.call("eq", {item(1.0)}), dy * rest, 0.0);
  Term others = where(zeros.call("eq", {item(0.0)}), dy * y, 0.0) / x;
  d.add(0, where(isZero, alone, others));
}

static void deriveLogSumExp(Derivation &d) {
  Reduced reduced(d);
  d.add(0, d.dy().reshape(reduced.kept) * (d.x() - d.y().reshape(reduced.kept)).call("exp"));
}

/// 0 where the norm is.
static void deriveNorm(Derivation &d) {
  Reduced reduced(d);
  double p = d.real("p", 2);
  Term x = d.x(), y = d.y().reshape(reduced.kept), dy = d.dy().reshape(reduced.kept);
  if (std::isinf(p) || p < 1)
    return d.refuse("'norm' of p = " + dl::text(llvm::APFloat(p)), "; dlc knows those from 1 on");
  if (p == 1)
    return d.add(0, dy * x.call("sign"));
  Term isZero = y.call("eq", {item(0.0)});
  Term slope = p == 2 ? x / y
                      : x.call("sign") * (x.call("abs").call("pow", {item(p - 1)}) /
                                          y.call("pow", {item(p - 1)}));
  d.add(0, where(isZero, 0.0, dy * slope));
}

static void deriveSoftmax(Derivation &d) {
  Term weighted = d.dy() * d.y();
  Term sum = weighted.call("sum", {itemList(ArrayRef(d.axis())), item(true)});
  d.add(0, weighted - d.y() * sum);
}

static void deriveLogSoftmax(Derivation &d) {
  Term sum = d.dy().call("sum", {itemList(ArrayRef(d.axis())), item(true)});
  d.add(0, d.dy() - d.y().call("exp") * sum);
}

/// The sum from each place to the end.
static void deriveCumsum(Derivation &d) {
  int64_t axis = d.axis();
  auto turned = [&](const Term &x) { return x.call("flip", {itemList(ArrayRef(axis))}); };
  d.add(0, turned(turned(d.dy()).call("cumsum", {item(axis)})));
}

llvm::ArrayRef<DerivativeRule> reductionDerivatives() {
  static const DerivativeRule rules[] = {
      {"dl.sum", deriveSum},
      {"dl.mean", deriveMean},
      {"dl.amax", deriveExtreme},
      {"dl.amin", deriveExtreme},
      {"dl.prod", deriveProd},
      {"dl.logsumexp", deriveLogSumExp},
      {"dl.norm", deriveNorm},
      {"dl.softmax", deriveSoftmax},
      {"dl.log_softmax", deriveLogSoftmax},
      {"dl.cumsum", deriveCumsum},
  };
  return rules;
}

} // namespace dlc::onnx
