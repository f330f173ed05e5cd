//===- ContractionPacking.cpp - Operands in the order in which products read them ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few rows times a matrix of [K, N], as ONNX has it of every linear layer, is fastest where the
// matrix lies as [N, K]; and bytes of any product go to tensor cores along k alone.
//
// An implicit GEMM walks its reduction along the image's memory, channels innermost where these
// are: filters as PyTorch stores them have the places innermost and would be read one by one. Of
// groups the filters lie innermost instead.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionBytes.h"
#include "codegen/cuda/schedule/contraction/ContractionParts.h"
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "ir/analysis/view/ViewLayout.h"
#include "ir/kernel/Sides.h"

using namespace mlir;

namespace dlc::codegen {

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

std::optional<PackedOperand> packedAlongDepth(const Contraction &c, unsigned term,
                                              BlockArgument argument) {
  const Access &access = c.nest.terms[term];
  auto type = cast<RankedTensorType>(argument.getType());
  if (access.isComputed() || access.checked || !type.hasStaticShape() ||
      dl::getLayout(type).isTiled() ||
      !readsPersistent(c.k.body.getKernel(), argument.getArgNumber()))
    return std::nullopt;
  SmallVector<int64_t> dimOfLoop(c.nest.numLoops(), -1);
  for (auto [dim, expr] : llvm::enumerate(access.map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop || dimOfLoop[loop.getPosition()] >= 0)
      return std::nullopt;
    dimOfLoop[loop.getPosition()] = dim;
  }
  dl::Layout packed = {{}, -1, 1};
  auto add = [&](unsigned loop) {
    if (dimOfLoop[loop] >= 0)
      packed.order.push_back(dimOfLoop[loop]);
  };
  for (const Side *side : {&c.batch, term == 0 ? &c.m : &c.n})
    llvm::for_each(side->order, add);
  for (unsigned loop : c.depth.order)
    add(c.nest.parallel.size() + loop);
  if (int64_t(packed.order.size()) != type.getRank())
    return std::nullopt;
  return PackedOperand{argument.getArgNumber(), packed};
}

/// The matrices of a product other than a convolution.
static SmallVector<PackedOperand> matricesToPack(PlanQuestion &question) {
  SmallVector<PackedOperand> packed;
  KernelBuilder &k = question.k;
  Contraction *c = k.body.getPool() ? nullptr : question.product();
  if (auto bytes = c ? bytesOf(k.body.getRoot(), c->nest) : std::nullopt) {
    for (auto [term, operand] : llvm::enumerate(bytes->operands))
      if (auto argument = dyn_cast<BlockArgument>(operand.stored);
          argument && !c->liesAlongReduction(term))
        if (auto matrix = packedAlongDepth(*c, term, argument))
          packed.push_back(*matrix);
  } else if (c && hasFewRows(*c)) {
    if (auto matrix = matrixOfRowsToPack(k, *c))
      packed.push_back(*matrix);
  }
  // Tiles read either order.
  if (auto fewRows = partOfFewRows(question)) {
    PlanQuestion few(question, *fewRows);
    if (Contraction *ofFew = few.product())
      if (auto matrix = matrixOfRowsToPack(few.k, *ofFew))
        packed.push_back(*matrix);
  }
  return packed;
}

/// The filters of a convolution, or the matrices of another product.
static SmallVector<PackedOperand> operandsToPack(PlanQuestion &question) {
  dlx::KernelOp kernel = question.kernel();
  LoopNestOpInterface root;
  LoopNest nest;
  for (auto op : kernel.getBodyBlock().getOps<LoopNestOpInterface>())
    if (LoopNest loops = op.getLoopNest(); !root && !loops.isMap()) { // a pool may follow
      root = op;
      nest = std::move(loops);
    }
  auto sides = findSides(nest);
  if (!sides)
    return {};
  if (!nest.isWindow())
    return matricesToPack(question);
  Value image = root->getOperand(nest.terms[0].operand),
        filter = root->getOperand(nest.terms[1].operand);
  auto bytes = bytesOf(root, nest);
  if (bytes)
    filter = bytes->operands[1].stored;
  auto argument = dyn_cast<BlockArgument>(filter);
  Type element = typeOf(filter).getElementType();
  bool suits = bytes || element.isF16() || element.isBF16() || element.isF32();
  if (!suits || !argument || !dl::getLayout(typeOf(filter)).isRowMajor() ||
      !readsPersistent(kernel, argument.getArgNumber()))
    return {};

  // Channels of groups, innermost in the image: a thread that computes some of them takes their
  // filters together.
  unsigned numParallel = nest.parallel.size();
  auto order = memoryOrder(dl::getLayout(typeOf(image)), typeOf(image).getRank());
  bool isGrouped = sides->batch.any() && order.back() == 1;

  if (isGrouped && bytes)
    return {}; // groups of integers are computed one by one

  // The image's memory order gives the loops of the reduction theirs.
  SmallVector<unsigned> loops;
  for (int64_t dim : order)
    for (unsigned loop = numParallel; loop < nest.numLoops(); ++loop)
      if (nest.terms[0].map.getResult(dim).isFunctionOfDim(loop))
        loops.push_back(loop);
  // Of the filters, first the dims that choose one, then those of the reduction in that order.
  dl::Layout packed = {{}, -1, 1};
  SmallVector<int64_t> dimOfLoop(nest.numLoops(), -1);
  for (auto [dim, expr] : llvm::enumerate(nest.terms[1].map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop || dimOfLoop[loop.getPosition()] >= 0)
      return {}; // groups, transposed convolutions: no plain walk
    dimOfLoop[loop.getPosition()] = dim;
    if (loop.getPosition() < numParallel && !isGrouped)
      packed.order.push_back(dim);
  }
  for (unsigned loop : loops)
    if (dimOfLoop[loop] >= 0)
      packed.order.push_back(dimOfLoop[loop]);
  for (unsigned loop = 0; loop < numParallel && isGrouped; ++loop)
    if (dimOfLoop[loop] >= 0)
      packed.order.push_back(dimOfLoop[loop]);
  if (int64_t(packed.order.size()) != typeOf(filter).getRank() || llvm::is_sorted(packed.order))
    return {};
  return {{argument.getArgNumber(), packed}};
}

Requirements operandsOfProduct(PlanQuestion &question, dlx::PlanAttr) {
  Requirements needs;
  if (question.kind() == dlx::KernelKind::contraction)
    needs.operands = operandsToPack(question);
  return needs;
}

} // namespace dlc::codegen
