//===- CountedDims.cpp - Whether padding stays apart from what is real --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/CountedDims.h"

#include "ir/analysis/CostModel.h"
#include "ir/dl/DLOps.h"
#include "ir/interfaces/Decomposable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dlc {
namespace {

using Symbols = llvm::SmallBitVector;

dl::Dims dimsOf(Value value) { return dl::getDims(cast<RankedTensorType>(value.getType())); }

/// Why an op is refused.
struct Problem {
  Value mixed;     // a tensor of which it reads padding, or
  AffineExpr size; // a size that it computes with
};

/// Never smaller for a larger count: so the padded size is the largest.
bool growsWithCounts(AffineExpr dim, const Symbols &counted) {
  if (!dl::mentions(dim, counted))
    return dl::asConstant(dim).value_or(0) >= 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(dim);
  if (!binary)
    return true;
  switch (binary.getKind()) {
  case AffineExprKind::Add:
  case AffineExprKind::Mul:
    return growsWithCounts(binary.getLHS(), counted) && growsWithCounts(binary.getRHS(), counted);
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    return growsWithCounts(binary.getLHS(), counted) && !dl::mentions(binary.getRHS(), counted);
  default:
    return false;
  }
}

/// The largest value of an index whose loops have the `extents`, as a dim; null where that cannot
/// be told, or where the index itself depends on a count.
AffineExpr largest(AffineExpr index, ArrayRef<AffineExpr> extents, const Symbols &counted) {
  MLIRContext *context = index.getContext();
  if (auto loop = dyn_cast<AffineDimExpr>(index))
    return dl::normalize(extents[loop.getPosition()] - 1);
  if (isa<AffineConstantExpr>(index))
    return index;
  if (isa<AffineSymbolExpr>(index))
    return dl::mentions(index, counted) ? AffineExpr() : index;
  auto binary = cast<AffineBinaryOpExpr>(index);
  AffineExpr by = binary.getRHS(), right;
  bool isSum = binary.getKind() == AffineExprKind::Add;
  if (binary.getKind() == AffineExprKind::Mod && by.isSymbolicOrConstant()) {
    // A size that is always the smaller one stays as it is.
    AffineExpr whole = largest(binary.getLHS(), extents, counted);
    auto beyond = whole ? dl::asConstant(dl::normalize(whole - by + 1)) : std::nullopt;
    if (beyond && *beyond <= 0)
      return whole;
  }
  // Of products and quotients the right side is a size, which no loop changes.
  if (isSum ? !(right = largest(by, extents, counted))
            : !by.isSymbolicOrConstant() || dl::mentions(by, counted) ||
                  dl::asConstant(by).value_or(1) < 0)
    return {};
  if (binary.getKind() == AffineExprKind::Mod)
    return dl::normalize(by - 1);
  AffineExpr left = largest(binary.getLHS(), extents, counted);
  if (!left)
    return {};
  if (isSum)
    return dl::normalize(left + right);
  if (binary.getKind() == AffineExprKind::Mul)
    return dl::normalize(left * by);
  if (binary.getKind() != AffineExprKind::FloorDiv)
    return {};
  // (q d - 1) / d is q - 1.
  AffineExpr quotient = dl::normalize((left + 1).floorDiv(by));
  if (dl::normalize(quotient * by) == dl::normalize(left + 1))
    return dl::normalize(quotient + getAffineConstantExpr(-1, context));
  return dl::normalize(left.floorDiv(by));
}

/// Real loop indices read real elements of `operand` alone.
bool staysWithin(const Access &access, Value operand, ArrayRef<AffineExpr> extents,
                 const Symbols &counted) {
  SmallVector<AffineExpr> loops; // one of a single step stays at 0
  for (auto [position, extent] : llvm::enumerate(extents))
    loops.push_back(dl::isConstant(extent, 1) ? dl::constantDim(0, extent.getContext())
                                              : getAffineDimExpr(position, extent.getContext()));
  for (auto [dim, size] : llvm::enumerate(dimsOf(operand))) {
    AffineExpr index = access.map.getResult(dim).replaceDims(loops);
    bool isComputed = access.computed.size() > dim && access.computed.test(dim);
    if (dl::isConstant(size, 1) && !isComputed) // has one index
      continue;
    if (!dl::mentions(size, counted)) {
      if (!isComputed && dl::mentions(index, counted))
        return false; // cut up by a padded size, as in a reshape
      continue;
    }
    AffineExpr most = isComputed ? AffineExpr() : largest(index, extents, counted);
    auto beyond = most ? dl::asConstant(dl::normalize(most - size + 1)) : std::nullopt;
    if (!beyond || *beyond > 0)
      return false;
  }
  return true;
}

std::optional<Problem> problemOf(LoopNestOpInterface op, const Symbols &counted) {
  LoopNest nest = op.getLoopNest();
  for (AffineExpr dim : nest.parallel)
    if (!growsWithCounts(dim, counted))
      return Problem{{}, dim};
  auto readsCounted = [&]() -> Value {
    for (Value operand : op->getOperands())
      if (dl::mentions(dimsOf(operand), counted))
        return operand;
    return {};
  };
  if (dl::mentions(nest.reduction, counted))
    if (Value mixed = readsCounted())
      return Problem{mixed, {}};
  for (AffineExpr extent : nest.reduction)
    if (dl::mentions(extent, counted))
      return Problem{{}, extent};
  dl::Dims extents = nest.parallel;
  auto check = [&](ArrayRef<Access> accesses) -> std::optional<Problem> {
    for (const Access &access : accesses)
      if (Value operand = op->getOperand(access.operand);
          !staysWithin(access, operand, extents, counted))
        return Problem{dl::mentions(dimsOf(operand), counted) ? operand : op->getResult(0), {}};
    return std::nullopt;
  };
  if (auto problem = check(nest.results))
    return problem;
  extents.append(nest.reduction.begin(), nest.reduction.end());
  if (auto problem = check(nest.terms))
    return problem;
  for (AffineExpr extent : extentsRead(op))
    if (dl::mentions(extent, counted))
      return Problem{{}, extent};
  return std::nullopt;
}

std::optional<Problem> problemOf(Operation *op, const Symbols &counted) {
  if (isa<dl::TrimOp>(op)) // asks for the padding, or leaves it behind
    return std::nullopt;
  auto isCounted = [&](Value value) { return dl::mentions(dimsOf(value), counted); };
  bool isTouched =
      llvm::any_of(op->getOperands(), isCounted) || llvm::any_of(op->getResults(), isCounted);
  for (NamedAttribute attribute : op->getAttrs())
    if (auto map = dyn_cast<AffineMapAttr>(attribute.getValue()))
      isTouched |= dl::mentions(map.getValue().getResults(), counted);
  if (!isTouched)
    return std::nullopt;
  if (auto loops = dyn_cast<LoopNestOpInterface>(op))
    return problemOf(loops, counted);
  if (!isa<DecomposableOpInterface>(op)) {
    for (Value operand : op->getOperands())
      if (isCounted(operand))
        return Problem{operand, {}};
    return std::nullopt;
  }
  // A copy on arguments of a block of its own becomes the ops that define it.
  Block block;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, block.addArgument(operand.getType(), op->getLoc()));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  Operation *copy = builder.clone(*op, mapping);
  (void)decompose(cast<DecomposableOpInterface>(copy));
  copy->erase();
  std::optional<Problem> problem;
  for (Operation &inner : block)
    if (!problem && (problem = problemOf(&inner, counted)) && problem->mixed) {
      // Said of what the user's op has.
      Value mixed = op->getResult(0);
      for (Value operand : op->getOperands())
        if (isCounted(operand))
          mixed = operand;
      problem->mixed = mixed;
    }
  block.dropAllReferences();
  return problem;
}

} // namespace

bool mixesPadding(Operation *op, const Symbols &padded) {
  // The bodies of ops build these.
  op->getContext()->getOrLoadDialect<arith::ArithDialect>();
  op->getContext()->getOrLoadDialect<math::MathDialect>();
  return problemOf(op, padded).has_value();
}

void findMixedPadding(func::FuncOp function,
                      llvm::function_ref<void(Operation *op, const std::string &sentence)> report) {
  Symbols counted = dl::countedSymbols(function->getParentOfType<ModuleOp>());
  if (counted.none())
    return;
  // The bodies of ops build these.
  function->getContext()->getOrLoadDialect<arith::ArithDialect>();
  function->getContext()->getOrLoadDialect<math::MathDialect>();
  llvm::DenseSet<Value> refused; // and what is made of it: said once
  for (Operation &op : function.front().without_terminator()) {
    bool isAgain = llvm::any_of(op.getOperands(), [&](Value x) { return refused.contains(x); });
    auto problem = isAgain ? std::nullopt : problemOf(&op, counted);
    if (isAgain || problem)
      refused.insert_range(op.getResults());
    if (!problem)
      continue;
    std::string name = "'" + op.getName().stripDialect().str() + "' ";
    if (problem->mixed)
      report(&op, name + "of " + dl::text(problem->mixed) +
                      " would mix in the padding of a dim whose size the data say, which is real "
                      "only up to a count known "
                      "after the run; do it to the whole tensor, under a mask, or to the outputs");
    else
      report(&op, name + "computes with " + dl::text(problem->size, &op) +
                      ", a size that the data say and that is known only after the run; do without "
                      "it, or do it to the "
                      "outputs");
  }
}

} // namespace dlc
