//===- ContractionGradients.cpp - Derivatives of products ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"

using namespace mlir;

namespace dlc::dl {

/// Reshapes x to a matrix. Its rows are those of all leading dims.
static Term asMatrix(const Term &x) {
  Dims dims = x.dims();
  if (dims.size() == 2)
    return x;
  ArrayRef<AffineExpr> all(dims);
  return x.reshape({normalize(product(all.drop_back(), x.builder().getContext())), all.back()});
}

static void derive(Derivation &d, MatmulOp) {
  Dims a = d.dims(0), b = d.dims(1), y = d.dy().dims();
  if (b.size() == 1) {
    b.push_back(d.dim(1));
    y.push_back(d.dim(1));
  }
  if (a.size() == 1) {
    a.insert(a.begin(), d.dim(1));
    y.insert(y.end() - 1, d.dim(1));
  }
  Term x = d.x(0).reshape(a), other = d.x(1).reshape(b), dy = d.dy().reshape(y);
  if (d.wants(0))
    d.add(0, dy.make<MatmulOp>(other.transposed()).summedTo(a).reshape(d.dims(0)));
  if (d.wants(1)) {
    // If one matrix serves the whole batch, one product computes its gradient.
    bool isShared = b.size() == 2;
    Term left = isShared ? asMatrix(x) : x, right = isShared ? asMatrix(dy) : dy;
    d.add(1, left.transposed().make<MatmulOp>(right).summedTo(b).reshape(d.dims(1)));
  }
}

static void derive(Derivation &d, LinearOp) {
  if (d.wants(0))
    d.add(0, d.dy().make<MatmulOp>(d.x(1)));
  bool isRow = d.rank() == 1;
  Term rows = asMatrix(isRow ? d.dy().reshape({d.dim(1), d.dims(1)[0]}) : d.dy());
  if (d.wants(1)) {
    Term x = isRow ? d.x(0).reshape({d.dim(1), d.dims(0)[0]}) : d.x(0);
    d.add(1, rows.transposed().make<MatmulOp>(asMatrix(x)));
  }
  if (d.wants(2))
    d.add(2, rows.sum({0}, /*keepsDims=*/false));
}

/// Adds the gradient of operand `i`: the product of dy and the other operand, summed over the loops
/// that operand `i` does not have.
static void deriveFactor(Derivation &d, unsigned i, ArrayRef<int64_t> own, ArrayRef<int64_t> other,
                         int64_t rank) {
  if (!d.wants(i))
    return;
  auto loops = static_cast<int64_t>(own.size());
  llvm::DenseMap<int64_t, int64_t> renumbered;
  for (auto [dim, loop] : llvm::enumerate(own))
    renumbered[loop] = static_cast<int64_t>(dim);
  auto number = [&](int64_t loop) {
    auto [entry, isNew] = renumbered.try_emplace(loop, loops);
    loops += isNew;
    return entry->second;
  };
  auto dyLoops = llvm::map_to_vector(llvm::seq<int64_t>(0, rank), number);
  auto otherLoops = llvm::map_to_vector(other, number);
  Term dx = d.dy().make<ContractOp>(d.x(1 - i), ArrayRef<int64_t>(dyLoops),
                                    ArrayRef<int64_t>(otherLoops), own.size());
  // A dim of size 1 repeats along its loop: first in this operand, then in the other one.
  Dims dims = d.dims(i), summed = dx.dims();
  for (auto [dim, size] : llvm::enumerate(dims))
    if (isConstant(size, 1))
      summed[dim] = size;
  d.add(i, dx.summedTo(summed).broadcast(dims));
}

static void derive(Derivation &d, ContractOp op) {
  auto rank = static_cast<int64_t>(op.getRank());
  deriveFactor(d, 0, op.getXLoops(), op.getOtherLoops(), rank);
  deriveFactor(d, 1, op.getOtherLoops(), op.getXLoops(), rank);
}

/// The gradient is zero except where the two dims have equal indices.
static void derive(Derivation &d, DiagonalOp op) {
  int64_t dim1 = d.axis(op.getDim1()), dim2 = d.axis(op.getDim2());
  auto offset = static_cast<int64_t>(op.getOffset());
  Dims dims = d.dims(), dy = d.dy().dims();
  auto last = static_cast<int64_t>(dy.size()) - 1;
  AffineExpr before = d.dim(std::max<int64_t>(0, -offset));
  Term rows = d.dy().padded(last, before, dims[dim1] - before - dy.back());
  // The last dim moves to the place of dim1. A dim of size 1 takes the place of dim2.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, last));
  order.insert(order.begin() + (dim1 < dim2 ? dim1 : dim1 - 1), last);
  Dims apart = dims, across(dims.size(), d.dim(1)), along = across;
  apart[dim2] = d.dim(1);
  along[dim1] = dims[dim1];
  across[dim2] = dims[dim2];
  Term isOn = (d.arange(dims[dim1]) + static_cast<double>(offset))
                  .reshape(along)
                  .equals(d.arange(dims[dim2]).reshape(across));
  d.add(0, where(isOn, rows.permute(order).reshape(apart), 0.0));
}

ArrayRef<GradientRule> contractionGradients() {
  return rulesOf<MatmulOp, LinearOp, ContractOp, DiagonalOp>();
}

} // namespace dlc::dl
