//===- LibraryProduct.cpp - A matrix product as a library would be asked for it --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library computes C = A B and nothing around it. So the kernel must be the product alone, and each matrix must lie in
// memory with one step a row, one a column and one a batch. Whether the call pays is decided where the shapes and the GPU
// are known: by the runtime.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cuda/Contraction.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
/// How a matrix is walked: elements from one index to the next along each side.
struct Steps {
  AffineExpr m, n, depth, batch;
};
} // namespace

/// The steps of `offset` along the sides' variables; nullopt where it is not the sum of these alone.
static std::optional<Steps> stepsOf(const Contraction &c, AffineExpr offset) {
  const Side *sides[] = {&c.m, &c.n, &c.depth, &c.batch};
  AffineExpr zero = c.k.math.constant(0), sum = zero;
  SmallVector<AffineExpr, 4> steps;
  for (const Side *side : sides) {
    steps.push_back(zero);
    if (side->groups.empty())
      continue;
    llvm::DenseMap<AffineExpr, AffineExpr> unit;
    for (const Side *other : sides)
      if (!other->groups.empty())
        unit[other->groups.front().variable] = c.k.math.constant(other == side);
    AffineExpr step = c.k.math.simplify(offset.replace(unit));
    if (!step.isSymbolicOrConstant())
      return std::nullopt;
    steps.back() = step;
    sum = sum + side->groups.front().variable * step;
  }
  // A constant part would have been counted in each step.
  if (c.k.math.simplify(sum - offset) != zero)
    return std::nullopt;
  return Steps{steps[0], steps[1], steps[2], steps[3]};
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

void recordProduct(const Contraction &c, bool allowsTf32) {
  LoopNestOpInterface root = c.k.body.getRoot();
  dlx::KernelOp kernel = c.k.body.getKernel();
  // Nothing before, nothing behind, nothing beside.
  Block &body = kernel.getBodyBlock();
  if (body.getOperations().size() != 2 || kernel.getResultTensors().size() != 1 ||
      !c.nest.results.empty())
    return;
  SmallVector<int64_t> inputs;
  Type element = getElementTypeOrSelf(kernel.getResultTensors().front().getType());
  for (const Access &access : c.nest.terms) {
    auto input = dyn_cast<BlockArgument>(root->getOperand(access.operand));
    if (!input || getElementTypeOrSelf(input.getType()) != element)
      return;
    inputs.push_back(input.getArgNumber());
  }
  if ((!element.isF32() && !element.isF16() && !element.isBF16()) ||
      !c.k.body.accumulatorType(0).isF32())
    return;
  if (c.m.groups.size() != 1 || c.n.groups.size() != 1 || c.depth.groups.size() != 1 ||
      c.batch.groups.size() > 1)
    return;

  auto first = factorSteps(c, 0), second = factorSteps(c, 1),
       target = stepsOf(c, c.k.resultOffset(c.parallel));
  if (!first || !second || !target)
    return;
  // The columns are the side whose results are neighbours.
  bool swapped = isOne(target->m);
  if (!swapped && !isOne(target->n))
    return;
  const Side &rows = swapped ? c.n : c.m, &columns = swapped ? c.m : c.n;
  if (swapped)
    std::swap(inputs[0], inputs[1]);
  const Steps &a = swapped ? *second : *first, &b = swapped ? *first : *second;
  AffineExpr aRow = swapped ? a.n : a.m, bColumn = swapped ? b.m : b.n,
             targetRow = swapped ? target->n : target->m;
  // A library walks a matrix along its rows or its columns.
  if ((!isOne(aRow) && !isOne(a.depth)) || (!isOne(bColumn) && !isOne(b.depth)))
    return;
  MLIRContext *context = kernel.getContext();
  kernel.setProductAttr(AffineMapAttr::get(
      dl::dimsMap({rows.extent, columns.extent, c.depth.extent, c.batch.extent, aRow, a.depth,
                   a.batch, b.depth, bColumn, b.batch, targetRow, target->batch},
                  context)));
  kernel.setProductInputsAttr(DenseI64ArrayAttr::get(context, inputs));
  kernel.setProductTf32(allowsTf32 && element.isF32());
}

} // namespace dlc::codegen
