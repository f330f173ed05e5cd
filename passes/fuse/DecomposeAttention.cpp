//===- DecomposeAttention.cpp - Attention that no kernel of the target computes -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/interfaces/ScheduleOracle.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "decompose-attention"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_DECOMPOSEATTENTION
#include "passes/Passes.h.inc"

namespace {
class DecomposeAttention : public impl::DecomposeAttentionBase<DecomposeAttention> {
public:
  using DecomposeAttentionBase::DecomposeAttentionBase;

private:
  void runOnOperation() override;
};

/// Computes the scores of an attention of 16 bits in f32, from their product to the softmax, as one
/// kernel of it does: between kernels they would be rounded, or become infinite.
class WideScores {
public:
  WideScores(Operation *product, dl::SoftmaxOp softmax) : product(product), softmax(softmax) {}
  void run();

private:
  void widen(Operation *op);
  Value wide(Value value, OpBuilder &builder);
  template <typename Op> Op annotated(Op op) {
    op->setDiscardableAttrs(softmax->getDiscardableAttrDictionary());
    return op;
  }

  Operation *product;
  dl::SoftmaxOp softmax;
};

} // namespace

static bool isShortFloat(Value value) {
  Type type = getElementTypeOrSelf(value);
  return type.isF16() || type.isBF16();
}

static void setF32(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  value.setType(dl::withElementType(type, Float32Type::get(value.getContext())));
}

/// `value` in f32 at the place of `builder`, made anew where it repeats numbers.
Value WideScores::wide(Value value, OpBuilder &builder) {
  if (!isShortFloat(value))
    return value;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<dl::FullOp, dl::CausalMaskOp>(op)) {
    Value made = op->hasOneUse() ? value : builder.clone(*op)->getResult(0);
    setF32(made);
    return made;
  }
  if (auto repeated = dyn_cast_or_null<dl::BroadcastOp>(op)) {
    auto type = dl::withElementType(cast<RankedTensorType>(value.getType()), builder.getF32Type());
    Value x = wide(repeated.getX(), builder);
    return annotated(dl::BroadcastOp::create(builder, value.getLoc(), type, x));
  }
  return annotated(dl::CastOp::create(builder, value.getLoc(), value, builder.getF32Type()));
}

/// Lets `op`, which reads scores or makes them, compute in f32.
void WideScores::widen(Operation *op) {
  Value y = op->getResult(0);
  if (auto cast = dyn_cast<dl::CastOp>(op)) {
    // It only rounded, or has nothing left to do.
    if (isShortFloat(y) || y.getType() == cast.getX().getType()) {
      y.replaceAllUsesWith(cast.getX());
      op->erase();
    }
    return;
  }
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands())
    operand.set(wide(operand.get(), builder));
  if (isShortFloat(y))
    setF32(y);
}

void WideScores::run() {
  if (!isShortFloat(product->getResult(0)))
    return;
  llvm::SmallSetVector<Operation *, 8> made;
  made.insert(product);
  for (auto at = std::next(product->getIterator()); &*at != softmax; ++at)
    if (llvm::any_of(at->getOperands(),
                     [&](Value operand) { return made.contains(operand.getDefiningOp()); }))
      made.insert(&*at);
  for (Operation *op : made)
    widen(op);
  Value weights = softmax.getY();
  if (!isShortFloat(weights))
    return;
  Type before = getElementTypeOrSelf(weights);
  setF32(weights);
  OpBuilder builder(softmax->getContext());
  builder.setInsertionPointAfter(softmax);
  auto rounded = annotated(dl::CastOp::create(builder, weights.getLoc(), weights, before));
  weights.replaceAllUsesExcept(rounded, rounded);
}

/// The scores' product and the softmax among the ops from `first` on that an attention became.
static WideScores scoresOf(Operation *first) {
  auto isProduct = [](Operation *op) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    return loops && loops.getLoopNest().isProduct;
  };
  Operation *product = first;
  while (!isProduct(product))
    product = product->getNextNode();
  Operation *softmax = product;
  while (!isa<dl::SoftmaxOp>(softmax))
    softmax = softmax->getNextNode();
  return {product, cast<dl::SoftmaxOp>(softmax)};
}

void DecomposeAttention::runOnOperation() {
  const ScheduleOracle *oracle = ScheduleOracle::of(getOperation());
  if (!oracle)
    return signalPassFailure();
  getOperation().walk([&](dl::AttentionOp op) {
    std::string why = oracle->whyNoKernel(op);
    if (why.empty())
      return;
    if (explain)
      emitRemark(op.getLoc(), "the attention becomes several kernels on ")
          << *getOperation()->getParentOfType<ModuleOp>().getName() << ": " << why;
    Operation *before = op->getPrevNode();
    Value y = decompose(op).front();
    scoresOf(before ? before->getNextNode() : &op->getBlock()->front()).run();
    op.getResult().replaceAllUsesWith(y);
    op.erase();
    ++numDecomposed;
  });
}

} // namespace dlc
