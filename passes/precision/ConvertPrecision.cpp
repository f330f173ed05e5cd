//===- ConvertPrecision.cpp - Run a model of f32 in 16 bits -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk in program order. A value of f32 that an op in 16 bits has made is known beside what it
// was cast from, so that the next op in 16 bits reads that, and the cast is needed by ops of f32
// alone. Inside a kernel all is f32 anyway: what is chosen here is how products read their operands
// and how values are stored between kernels.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/dl/composite/AttentionParts.h"
#include "passes/Passes.h"
#include "passes/precision/LayerPatterns.h"
#include "passes/precision/NarrowingRules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "convert-precision"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_CONVERTPRECISION
#include "passes/Passes.h.inc"

namespace {

class ConvertPrecision : public impl::ConvertPrecisionBase<ConvertPrecision> {
public:
  using ConvertPrecisionBase::ConvertPrecisionBase;

private:
  void runOnOperation() override;
};

/// Narrows the ops of one block.
class Narrowing {
public:
  Narrowing(FloatType narrow, const LayerPatterns &kept)
      : narrow(narrow), kept(kept), rules(narrow) {}

  void run(Block &block);
  int64_t numNarrowed = 0, numKept = 0;

private:
  bool runsNarrow(Operation *op);
  Value narrowed(Value value);
  /// `value` made in 16 bits where it repeats fewer numbers, so that these are cast and stored;
  /// null elsewhere.
  Value remade(Value value);
  Operation *clone(Operation *op);
  void erase(Operation *op);
  void runInside(dl::AttentionOp op, SmallVectorImpl<Operation *> &casts);
  void widen(Value before, Value after, OpBuilder &builder, SmallVectorImpl<Operation *> &casts);

  FloatType narrow;
  const LayerPatterns &kept;
  NarrowingRules rules;
  /// Maps a value of f32 to the same value in 16 bits: the one that it was cast from, or a cast of
  /// it.
  llvm::DenseMap<Value, Value> narrowOf;
};

} // namespace

bool Narrowing::runsNarrow(Operation *op) {
  // The decision has been read then.
  bool isMarked = op->removeDiscardableAttr(kKeepF32) != nullptr;
  if (!rules.runsNarrow(op))
    return false;
  if (!isMarked && !kept.matches(op))
    return true;
  ++numKept;
  return false;
}

Value Narrowing::narrowed(Value value) {
  if (Value known = narrowOf.lookup(value))
    return known;
  Value made = remade(value);
  if (!made) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    made = dl::CastOp::create(builder, value.getLoc(), value, narrow);
  }
  return narrowOf[value] = made;
}

Value Narrowing::remade(Value value) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Location loc = value.getLoc();
  Type type = dl::withElementType(cast<RankedTensorType>(value.getType()), narrow);
  if (auto repeated = value.getDefiningOp<dl::BroadcastOp>())
    return dl::BroadcastOp::create(builder, loc, type, narrowed(repeated.getX()));
  if (auto full = value.getDefiningOp<dl::FullOp>())
    return dl::FullOp::create(builder, loc, type,
                              full.getFill()); // the number is in f32 either way
  return {};
}

/// The op on narrow operands.
Operation *Narrowing::clone(Operation *op) {
  SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
    return NarrowingRules::isWide(operand) ? narrowed(operand) : operand;
  });
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  for (Value result : copy->getResults())
    if (NarrowingRules::isWide(result))
      result.setType(dl::withElementType(cast<RankedTensorType>(result.getType()), narrow));
  return copy;
}

/// Forgets what is known of the op's values: others may come to lie where they were.
void Narrowing::erase(Operation *op) {
  for (Value result : op->getResults())
    narrowOf.erase(result);
  rules.forget(op);
  op->erase();
}

/// Lets the users of `before` read `after`, through a cast where `after` has 16 bits.
void Narrowing::widen(Value before, Value after, OpBuilder &builder,
                      SmallVectorImpl<Operation *> &casts) {
  Value replacement = after;
  if (before.getType() != after.getType()) {
    auto wide = dl::CastOp::create(builder, before.getLoc(), after, builder.getF32Type());
    replacement = wide;
    narrowOf[wide] = after;
    rules.noteNarrow(wide);
    casts.push_back(wide);
  }
  before.replaceAllUsesExcept(replacement, replacement.getDefiningOp());
}

/// Narrows the ops of an attention's body by the same rules: the products, and not the softmax.
/// What they cast of the op's operands, and back for its result, is cast outside, where others read
/// it too.
void Narrowing::runInside(dl::AttentionOp op, SmallVectorImpl<Operation *> &casts) {
  Block &body = op.getBodyBlock();
  run(body);
  SmallVector<Value> inputs(op.getInputs());
  for (BlockArgument argument : llvm::to_vector(body.getArguments())) {
    Value inside = narrowOf.lookup(argument);
    if (!inside)
      continue;
    inputs.push_back(narrowed(op.getInputs()[argument.getArgNumber()]));
    inside.replaceAllUsesWith(body.addArgument(inside.getType(), argument.getLoc()));
    erase(inside.getDefiningOp());
    narrowOf.erase(argument);
  }
  for (unsigned number = body.getNumArguments(); number-- > 0;)
    if (body.getArgument(number).use_empty()) {
      inputs.erase(inputs.begin() + number);
      body.eraseArgument(number);
    }
  op.getInputsMutable().assign(inputs);
  Operation *yield = body.getTerminator();
  Value wide = yield->getOperand(0), narrowY = narrowOf.lookup(wide);
  if (!narrowY)
    return;
  yield->setOperand(0, narrowY);
  erase(wide.getDefiningOp());
  OpBuilder builder(op);
  auto after =
      dl::AttentionOp::create(builder, op.getLoc(), narrowY.getType(), inputs, op.getIsCausal());
  after->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  after.getBody().takeBody(op.getBody());
  widen(op.getY(), after.getY(), builder, casts);
  erase(op);
}

void Narrowing::run(Block &block) {
  SmallVector<Operation *> casts;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    // The user's own cast from 16 bits: its operand serves as well.
    if (auto cast = dyn_cast<dl::CastOp>(op);
        cast && NarrowingRules::isWide(cast) && getElementTypeOrSelf(cast.getX()) == narrow) {
      narrowOf[cast] = cast.getX();
      rules.noteNarrow(cast);
      casts.push_back(cast);
      continue;
    }
    if (auto attention = dyn_cast<dl::AttentionOp>(op)) {
      runInside(attention, casts);
      continue;
    }
    if (!runsNarrow(&op))
      continue;
    Operation *copy = clone(&op);
    OpBuilder builder(&op);
    for (auto [before, after] : llvm::zip(op.getResults(), copy->getResults()))
      widen(before, after, builder, casts);
    erase(&op);
    ++numNarrowed;
  }
  for (Operation *cast : llvm::reverse(casts))
    if (cast->use_empty())
      erase(cast);
}

void ConvertPrecision::runOnOperation() {
  FloatType type = narrowTypeNamed(getOperation(), dtype);
  if (!type)
    return signalPassFailure();
  auto kept = LayerPatterns::keptByPass(getOperation(), *keepF32);
  if (failed(kept))
    return signalPassFailure();
  if (getOperation().isExternal())
    return;
  Narrowing narrowing(type, *kept);
  narrowing.run(getOperation().front());
  // A tensor that was made anew in 16 bits may have no reader left.
  getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  if (narrowing.numNarrowed)
    getOperation()->setAttr(dl::kStoredPrecision, TypeAttr::get(type));
  numNarrowed += narrowing.numNarrowed;
  numKept += narrowing.numKept;
}

} // namespace dlc
