//===- ProductOperand.cpp - What a matrix product reads, through views and scales ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/raise/ProductOperand.h"

#include "ir/dl/structure/ScaleRange.h"
#include "passes/raise/WrittenArithmetic.h"

using namespace mlir;

namespace dlc {

/// Ops that are read from a product to what is scaled.
static constexpr unsigned kMaxDepth = 12;

bool isFloatProduct(LoopNestOpInterface op, const LoopNest &nest) {
  return nest.isProduct && nest.terms.size() == 2 && nest.results.empty() && !nest.isWindow() &&
         nest.reduction.size() == 1 && isa<FloatType>(getElementTypeOrSelf(op->getResult(0))) &&
         llvm::none_of(nest.terms,
                       [](const Access &term) { return term.checked || term.isComputed(); });
}

std::optional<ProductOperand> operandOf(Operation *product, const LoopNest &nest, unsigned term) {
  const Access &access = nest.terms[term];
  ProductOperand operand;
  operand.setX(product->getOperand(access.operand));
  for (AffineExpr expr : access.map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim && !dl::isConstant(expr, 0))
      return std::nullopt;
    operand.loops.push_back(dim ? static_cast<int64_t>(dim.getPosition()) : -1);
  }
  return operand;
}

/// The side of a product or quotient that is a number, one that may be moved, and multiplies or
/// divides the other side.
static std::optional<unsigned> numberSideOf(Operation *op) {
  for (unsigned side : {1u, 0u})
    if (isa_and_nonnull<dl::MulOp>(op) || (side == 1 && isa_and_nonnull<dl::DivOp>(op)))
      if (Magnitudes::of(numberOf(op->getOperand(side)).value_or(0)).areOfScales())
        return side;
  return std::nullopt;
}

/// The number that `op`, which has a number side, multiplies by.
static double factorOf(Operation *op, unsigned numberSide) {
  double number = *numberOf(op->getOperand(numberSide));
  return isa<dl::DivOp>(op) ? 1 / number : number;
}

/// The number by which `value` is scaled before views of it that nothing else reads.
static double scaleBefore(Value value, unsigned depth = kMaxDepth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || !op->hasOneUse())
    return 1;
  if (auto side = numberSideOf(op))
    return factorOf(op, *side) * scaleBefore(op->getOperand(1 - *side), depth - 1);
  return isa<dl::PermuteOp, dl::ReshapeOp>(op) ? scaleBefore(op->getOperand(0), depth - 1) : 1;
}

/// `value` as it is without what scaleBefore finds.
static Value unscaled(Value value, OpBuilder &builder, unsigned depth) {
  if (scaleBefore(value, depth) == 1)
    return value;
  Operation *op = value.getDefiningOp();
  if (auto side = numberSideOf(op))
    return unscaled(op->getOperand(1 - *side), builder, depth - 1);
  Value x = unscaled(op->getOperand(0), builder, depth - 1);
  Operation *view = builder.clone(*op);
  view->setOperand(0, x);
  return view->getResult(0);
}

Value unscaled(Value x, OpBuilder &builder) { return unscaled(x, builder, kMaxDepth); }

/// Reads x before each index of one of its dims was repeated for a group of neighbours: by
/// repeat_interleave, or by an expand whose dim a reshape joins with the one before it.
static bool readGroups(ProductOperand &operand) {
  if (auto repeated = operand.x.getDefiningOp<dl::RepeatInterleaveOp>()) {
    int64_t dim = repeated.getDimAttr().getInt(), rank = dl::typeOf(operand.x).getRank();
    operand.perGroup = repeated.getRepeatsAttr().getInt();
    operand.heads = operand.loops[dim < 0 ? dim + rank : dim];
    operand.setX(repeated.getX());
    return true;
  }
  auto joined = operand.x.getDefiningOp<dl::ReshapeOp>();
  auto repeated = joined ? joined.getX().getDefiningOp<dl::BroadcastOp>() : dl::BroadcastOp();
  if (!repeated)
    return false;
  dl::Dims narrow = dl::dimsOf(repeated.getX()), wide = dl::dimsOf(repeated),
           to = dl::dimsOf(joined);
  if (narrow.size() != wide.size() || wide.size() != to.size() + 1)
    return false;
  auto differs = [&](size_t dim) { return narrow[dim] != wide[dim]; };
  auto dims = llvm::seq<size_t>(0, wide.size());
  const auto found = llvm::find_if(dims, differs);
  if (found == dims.end() || llvm::count_if(dims, differs) != 1 || *found == 0)
    return false;
  auto perGroup = dl::asConstant(wide[*found]);
  dl::Dims joinedDims = wide;
  joinedDims.erase(joinedDims.begin() + *found);
  if (!perGroup)
    return false;
  joinedDims[*found - 1] = dl::normalize(wide[*found - 1] * *perGroup);
  if (joinedDims != to)
    return false;
  operand.perGroup = *perGroup;
  operand.heads = operand.loops[*found - 1];
  operand.x = repeated.getX();
  operand.dims = narrow;
  operand.dims.erase(operand.dims.begin() + *found);
  return true;
}

void readThrough(ProductOperand &operand, Takes takes) {
  while (Operation *op = operand.x.getDefiningOp()) {
    if (auto permute = dyn_cast<dl::PermuteOp>(op)) {
      int64_t rank = operand.loops.size();
      SmallVector<int64_t> loops(rank);
      for (auto [to, from] : llvm::enumerate(permute.getDims()))
        loops[from < 0 ? from + rank : from] = operand.loops[to];
      operand.loops = loops;
      operand.setX(permute.getX());
    } else if (auto side = numberSideOf(op); side && takes.scales && op->hasOneUse()) {
      operand.scale *= factorOf(op, *side);
      operand.setX(op->getOperand(1 - *side));
    } else {
      break;
    }
  }
  if (takes.groups)
    readGroups(operand);
  if (takes.scales)
    operand.scale *= scaleBefore(operand.x);
}

} // namespace dlc
