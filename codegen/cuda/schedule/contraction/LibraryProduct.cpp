//===- LibraryProduct.cpp - A matrix product as a library would be asked for it -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library computes C = A B and nothing around it. So the kernel must be the product alone, and
// each matrix must lie in memory with one step a row, one a column and one a batch.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/LibraryChoice.h"

#include "ir/dl/base/Polynomial.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
/// How a matrix is walked: elements from one index to the next along each side.
struct Steps {
  AffineExpr m, n, depth, batch;
};
} // namespace

/// `expr`, with loop variables in it, multiplied out: equal ones become the same.
static AffineExpr multipliedOut(AffineExpr expr) {
  auto polynomial = dl::Polynomial::of(expr);
  return polynomial ? polynomial->toExpr(expr.getContext()) : expr;
}

/// The step of `offset` along `side`, whose groups are walked as one; null where they cannot be, or
/// where the step changes on the way. What `offset` is at the side's indices is taken off it.
static AffineExpr stepAlong(const Contraction &c, const Side &side, AffineExpr &offset) {
  AffineExpr zero = c.k.math.constant(0), step = zero, whole = zero;
  for (const DimGroup &group : llvm::reverse(side.groups)) {
    llvm::DenseMap<AffineExpr, AffineExpr> first = {{group.variable, zero}},
                                           second = {{group.variable, c.k.math.constant(1)}};
    AffineExpr rest = multipliedOut(offset.replace(first));
    AffineExpr along = multipliedOut(offset.replace(second) - rest);
    bool isInnermost = &group == &side.groups.back();
    if (!along.isSymbolicOrConstant() || (!isInnermost && along != whole) ||
        multipliedOut(rest + group.variable * along - offset) != zero)
      return {};
    if (isInnermost)
      step = along;
    whole = multipliedOut(along * group.extent);
    offset = rest;
  }
  return step;
}

/// The steps of `offset` along the sides; nullopt where it is not the sum of these alone.
static std::optional<Steps> stepsOf(const Contraction &c, AffineExpr offset) {
  Steps steps = {stepAlong(c, c.m, offset), stepAlong(c, c.n, offset),
                 stepAlong(c, c.depth, offset), stepAlong(c, c.batch, offset)};
  if (!steps.m || !steps.n || !steps.depth || !steps.batch || offset != c.k.math.constant(0))
    return std::nullopt;
  return steps;
}

static bool isOne(AffineExpr expr) { return dl::asConstant(expr) == 1; }

/// The factor of term `term` as it lies in memory.
static std::optional<Steps> factorSteps(const Contraction &c, unsigned term) {
  const Access &access = c.nest.terms[term];
  if (access.checked || access.isComputed())
    return std::nullopt;
  SmallVector<AffineExpr> offsets;
  c.visitTerm(term, c.loops(), [&](AffineExpr offset) { offsets.push_back(offset); });
  return offsets.size() == 1 ? stepsOf(c, offsets.front()) : std::nullopt;
}

std::optional<LibraryCall> libraryCallOf(const Contraction &c, bool allowsTf32) {
  LoopNestOpInterface root = c.k.body.getRoot();
  dlx::KernelOp kernel = c.k.body.getKernel();
  // Nothing before, nothing after, nothing beside.
  Block &body = kernel.getBodyBlock();
  if (body.getOperations().size() != 2 || kernel.getResultTensors().size() != 1 ||
      !c.nest.results.empty())
    return std::nullopt;
  SmallVector<int64_t> inputs;
  Type element = getElementTypeOrSelf(kernel.getResultTensors().front().getType());
  for (const Access &access : c.nest.terms) {
    auto input = dyn_cast<BlockArgument>(root->getOperand(access.operand));
    if (!input || getElementTypeOrSelf(input.getType()) != element)
      return std::nullopt;
    inputs.push_back(input.getArgNumber());
  }
  if ((!element.isF32() && !element.isF16() && !element.isBF16()) ||
      !c.k.body.accumulatorType(0).isF32())
    return std::nullopt;
  if (c.m.groups.empty() || c.n.groups.empty() || c.depth.groups.empty())
    return std::nullopt;

  auto first = factorSteps(c, 0), second = factorSteps(c, 1),
       target = stepsOf(c, c.k.resultOffset(c.parallel));
  if (!first || !second || !target)
    return std::nullopt;
  // The columns are the side whose results are neighbours.
  bool swapped = isOne(target->m);
  if (!swapped && !isOne(target->n))
    return std::nullopt;
  const Side &rows = swapped ? c.n : c.m, &columns = swapped ? c.m : c.n;
  if (swapped)
    std::swap(inputs[0], inputs[1]);
  const Steps &a = swapped ? *second : *first, &b = swapped ? *first : *second;
  AffineExpr aRow = swapped ? a.n : a.m, bColumn = swapped ? b.m : b.n,
             targetRow = swapped ? target->n : target->m;
  // A library walks a matrix along its rows or its columns.
  if ((!isOne(aRow) && !isOne(a.depth)) || (!isOne(bColumn) && !isOne(b.depth)))
    return std::nullopt;
  MLIRContext *context = kernel.getContext();
  return LibraryCall{
      dl::dimsMap({rows.extent, columns.extent, c.depth.extent, c.batch.extent, aRow, a.depth,
                   a.batch, b.depth, bColumn, b.batch, targetRow, target->batch},
                  context),
      inputs, allowsTf32 && element.isF32()};
}

} // namespace dlc::codegen
