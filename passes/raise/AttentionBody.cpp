//===- AttentionBody.cpp - Ops that become the body of an attention -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/raise/AttentionBody.h"

#include "ir/dl/composite/AttentionParts.h"
#include "passes/raise/ProductOperand.h"
#include "passes/raise/WrittenArithmetic.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc {

/// Makes the body of an attention of copies of `ops`, in program order; the op, which stands before
/// the last of them and gives the result of that. Null, and nothing has changed, where they are
/// none.
static dl::AttentionOp form(ArrayRef<Operation *> ops, bool isCausal) {
  Operation *last = ops.back();
  llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, ops);
  llvm::SetVector<Value> inputs;
  SmallVector<Location> places;
  for (Operation *op : ops) {
    places.push_back(op->getLoc());
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        inputs.insert(operand);
  }
  OpBuilder builder(last);
  auto attention =
      dl::AttentionOp::create(builder, FusedLoc::get(builder.getContext(), places),
                              last->getResult(0).getType(), inputs.getArrayRef(), isCausal);
  Block &body = attention.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  dl::YieldOp::create(builder, last->getLoc(), mapping.lookup(last->getResult(0)));
  dl::AttentionParts parts;
  if (!dl::readParts(body, parts).empty()) {
    attention.erase();
    return {};
  }
  attention->setDiscardableAttrs(last->getDiscardableAttrDictionary());
  return attention;
}

//===- By name --------------------------------------------------------------------------------===//

static void erase(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

/// Replaces `op` by what defines it, of which the ops from the first product to the second one
/// become an attention. The causal mask is known by name and none of them.
static void formFrom(dl::ScaledDotProductAttentionOp op) {
  bool isCausal = op.getIsCausal();
  Operation *before = op->getPrevNode();
  op.setIsCausal(false);
  SmallVector<Value> values = decompose(op);
  SmallVector<Operation *> built, ops;
  for (Operation *part = before ? before->getNextNode() : &op->getBlock()->front(); part != op;
       part = part->getNextNode())
    built.push_back(part);
  auto isProduct = [](Operation *part) { return isa<dl::ContractOp>(part); };
  auto *first = llvm::find_if(built, isProduct),
       *last = std::find_if(first + 1, built.end(), isProduct);
  ops.assign(first, last + 1);
  if (dl::AttentionOp attention = form(ops, isCausal)) {
    Value y = ops.back()->getResult(0);
    if (values.front() == y) // no view of it
      values.front() = attention;
    y.replaceAllUsesWith(attention);
    erase(ops);
  } else if (isCausal) {
    erase(built);
    op.setIsCausal(true);
    values = decompose(op);
  }
  op->replaceAllUsesWith(values);
  op->erase();
}

//===- Written --------------------------------------------------------------------------------===//

/// Ops that are read from the softmax to the product.
static constexpr unsigned kMaxDepth = 24;

/// Covers the maps between `value`, which `reader` alone may read, and a product of floats; false
/// where there is none.
static bool coverScores(Value value, Operation *reader, Covered &covered, unsigned depth) {
  auto op = value.getDefiningOp<LoopNestOpInterface>();
  if (!op || depth == 0 ||
      !llvm::all_of(op->getUsers(), [&](Operation *user) { return user == reader; }))
    return false;
  LoopNest nest = op.getLoopNest();
  bool isFound = nest.isProduct && isa<FloatType>(getElementTypeOrSelf(value));
  if (nest.isMap())
    for (Value operand : llvm::SetVector<Value>(op->operand_begin(), op->operand_end()))
      isFound |= coverScores(operand, op, covered, depth - 1);
  if (isFound)
    covered.add(op);
  return isFound;
}

/// Covers what lies between `weights`, an operand of a product, and a softmax: casts and products
/// with a number. Returns what that leads to.
static Value coverWeights(Value weights, Covered &covered) {
  while (Operation *op = weights.getDefiningOp()) {
    auto mul = dyn_cast<dl::MulOp>(op);
    unsigned number = mul && mul->getOperand(0).getDefiningOp<dl::FullOp>() ? 0 : 1;
    if (mul ? !mul->getOperand(number).getDefiningOp<dl::FullOp>() : !isa<dl::CastOp>(op))
      break;
    covered.add(op);
    weights = op->getOperand(mul ? 1 - number : 0);
  }
  return weights;
}

/// Replaces `sum` by an attention where one of its operands is a softmax of scores.
static void formFrom(LoopNestOpInterface sum) {
  LoopNest nest = sum.getLoopNest();
  if (!isFloatProduct(sum, nest))
    return;
  for (const Access &term : nest.terms) {
    Covered covered(sum);
    auto softmax =
        coverWeights(sum->getOperand(term.operand), covered).getDefiningOp<dl::SoftmaxOp>();
    if (!softmax)
      continue;
    covered.add(softmax);
    if (!coverScores(softmax.getX(), softmax, covered, kMaxDepth) || !covered.isClosed())
      continue;
    std::vector<Operation *> ops = covered.inOrder();
    if (dl::AttentionOp attention = form(ops, /*isCausal=*/false)) {
      sum->replaceAllUsesWith(attention);
      erase(ops);
      return;
    }
  }
}

void formAttentions(func::FuncOp function) {
  if (function.isExternal())
    return;
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (auto named = dyn_cast<dl::ScaledDotProductAttentionOp>(op))
      formFrom(named);
    else if (auto sum = dyn_cast<LoopNestOpInterface>(op))
      formFrom(sum);
}

} // namespace dlc
