//===- AttentionGradients.cpp - The derivative of attention -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc::dl {

static constexpr double kNothing = -std::numeric_limits<double>::infinity();

/// Returns what the mask and causality add to the scores.
static std::optional<Term> addedByMask(Derivation &d, ScaledDotProductAttentionOp op,
                                       const Dims &scores) {
  std::optional<Term> added;
  if (d.has(3))
    added = d.dtype(3).isInteger(1) ? where(d.x(3), d.zeros({}), kNothing) : d.x(3);
  if (!op.getIsCausal())
    return added;
  MLIRContext *context = d.b.getContext();
  auto positions = [&](AffineExpr count, ArrayRef<AffineExpr> along) {
    Value counted =
        d.b.make<ArangeOp>(dimsMap({count}, context), AffineMapAttr(), uint64_t(1), TypeAttr());
    return Term(counted, d.b).reshape(along);
  };
  AffineExpr rows = scores[scores.size() - 2], columns = scores.back();
  Term isBehind = positions(columns, {d.dim(1), columns}) > positions(rows, {rows, d.dim(1)});
  Term causal = where(isBehind, kNothing, d.zeros({}));
  return added ? *added + causal : causal;
}

namespace {
/// Repeats keys and values for the heads of queries that share them.
struct SharedHeads {
  int64_t axis, count = 1; // heads of queries for each

  SharedHeads(Derivation &d, ScaledDotProductAttentionOp op) : axis(d.rank(1) - 3) {
    Dims query = d.dims(0), key = d.dims(1);
    if (!op.getEnableGqa() || axis < 0 || query[axis] == key[axis])
      return;
    auto heads = asConstant(query[axis]), held = asConstant(key[axis]); // numbers
    count = heads.value_or(1) / std::max<int64_t>(held.value_or(1), 1);
  }
  /// Repeats each head for all heads of queries that read it.
  Term repeated(const Term &x) const {
    return count == 1 ? x
                      : x.make<RepeatInterleaveOp>(static_cast<uint64_t>(count),
                                                   static_cast<uint64_t>(axis));
  }
  /// Sums the gradients of all heads of queries that read a head. The result has `dims`.
  Term together(const Term &x, const Dims &dims) const {
    if (count == 1)
      return x.summedTo(dims);
    Dims apart = x.dims();
    apart[axis] = dims[axis];
    apart.insert(apart.begin() + axis + 1, constantDim(count, x.builder().getContext()));
    return x.reshape(apart).sum({axis + 1}, /*keepsDims=*/false).summedTo(dims);
  }
};
} // namespace

static void derive(Derivation &d, ScaledDotProductAttentionOp op) {
  Dims query = d.dims(0);
  int64_t width = asConstant(query.back()).value_or(1); // known, where there is no scale
  double scale =
      op.getScale() ? op.getScale()->convertToDouble() : 1 / std::sqrt(static_cast<double>(width));
  SharedHeads heads(d, op);
  Term keys = heads.repeated(d.x(1)), values = heads.repeated(d.x(2));
  Term scores = d.x(0).make<MatmulOp>(keys.transposed()) * scale;
  auto added = addedByMask(d, op, scores.dims());
  if (added)
    scores = scores + *added;
  Term weights = scores.make<SoftmaxOp>(static_cast<uint64_t>(scores.dims().size() - 1));
  if (added) { // a row that attends to nothing is NaN, which the model may have replaced
    auto last = static_cast<int64_t>(added->dims().size()) - 1;
    Term most = added->make<AmaxOp>(ArrayRef<int64_t>(last), true);
    weights = where(most.equals(kNothing), 0.0, weights);
  }
  auto last = static_cast<int64_t>(weights.dims().size()) - 1;
  Term dWeights = d.dy().make<MatmulOp>(values.transposed()) * weights;
  Term dScores = dWeights - weights * dWeights.sum({last}, /*keepsDims=*/true);
  if (d.wants(0))
    d.add(0, (dScores.make<MatmulOp>(keys) * scale).summedTo(query));
  if (d.wants(1))
    d.add(1, heads.together(dScores.transposed().make<MatmulOp>(d.x(0)) * scale, d.dims(1)));
  if (d.wants(2))
    d.add(2, heads.together(weights.transposed().make<MatmulOp>(d.dy()), d.dims(2)));
  if (d.wants(3))
    d.add(3, dScores.summedTo(d.dims(3)));
}

ArrayRef<GradientRule> attentionGradients() { return rulesOf<ScaledDotProductAttentionOp>(); }

} // namespace dlc::dl
