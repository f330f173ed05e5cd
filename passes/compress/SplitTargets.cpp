//===- SplitTargets.cpp - A module for each target ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/machine/TargetGpu.h"
#include "passes/Passes.h"
#include "passes/compress/quantize/QuantizableProducts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "split-targets"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_SPLITTARGETS
#include "passes/Passes.h.inc"

namespace {
class SplitTargets : public impl::SplitTargetsBase<SplitTargets> {
public:
  using SplitTargetsBase::SplitTargetsBase;

private:
  void runOnOperation() override;

  LogicalResult checkTargets(ArrayRef<std::string> wanted);
  void cloneFor(StringRef target, ArrayRef<Operation *> originals);
};
} // namespace

LogicalResult SplitTargets::checkTargets(ArrayRef<std::string> wanted) {
  for (auto [position, target] : llvm::enumerate(wanted)) {
    if (target != "cpu" && target != "cuda")
      return getOperation().emitError("unknown target '") << target << "'; expected cpu or cuda";
    if (llvm::is_contained(wanted.take_front(position), target))
      return getOperation().emitError("target '") << target << "' is named twice";
  }
  return success();
}

/// If `value` is the sum of a number and the correction of its mean, the number; else `value`.
static Value uncorrected(Value value) {
  Operation *op = value.getDefiningOp();
  return op != nullptr && op->hasAttr(dl::kCorrection) ? op->getOperand(0) : value;
}

/// The product stays in f32 in this target's module: nothing of what calibration found for it is
/// left.
static void keepProduct(Operation *product, Attribute reason) {
  product->setAttr(dl::kKeptByCost, reason);
  product->removeAttr(kActivationRange);
  if (product->getNumOperands() > 2)
    product->setOperand(2, uncorrected(product->getOperand(2)));
  for (Operation *user : llvm::make_early_inc_range(product->getUsers()))
    if (user->hasAttr(dl::kCorrection) && user->getOperand(0) == product->getResult(0))
      user->getResult(0).replaceAllUsesWith(user->getOperand(0));
}

/// Makes what was decided for several targets that which holds for `target`.
static void settleFor(StringRef target, ModuleOp module) {
  module.walk([&](Operation *op) {
    auto kept = op->getAttrOfType<DictionaryAttr>(dl::kKeptOn);
    op->removeAttr(dl::kKeptOn);
    if (Attribute reason = kept ? kept.get(target) : Attribute())
      keepProduct(op, reason);
  });
  // A correction that nothing adds any more.
  module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

/// A copy of the whole model in `module @target`, for the passes of that target to work on.
void SplitTargets::cloneFor(StringRef target, ArrayRef<Operation *> originals) {
  ModuleOp module = getOperation();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto copy = ModuleOp::create(builder, module.getLoc(), target);
  if (Attribute dims = module->getAttr("dl.symbols"))
    copy->setAttr("dl.symbols", dims);
  if (target == "cuda" && gpu != 0)
    copy->setAttr(kTargetGpu, builder.getI64IntegerAttr(gpu));
  builder.setInsertionPointToEnd(copy.getBody());
  for (Operation *original : originals)
    builder.clone(*original);
  settleFor(target, copy);
}

void SplitTargets::runOnOperation() {
  SmallVector<std::string> wanted(targets.begin(), targets.end());
  if (wanted.empty())
    wanted = {"cpu", "cuda"};
  if (failed(checkTargets(wanted)))
    return signalPassFailure();
  SmallVector<Operation *> originals;
  for (Operation &op : *getOperation().getBody())
    originals.push_back(&op);
  for (const std::string &target : wanted)
    cloneFor(target, originals);
  for (Operation *original : originals)
    original->erase();
}

} // namespace dlc
