//===- SplitTargets.cpp - A module for each target -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

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

/// A copy of the whole model in `module @target`, for the passes of that target to work on.
void SplitTargets::cloneFor(StringRef target, ArrayRef<Operation *> originals) {
  ModuleOp module = getOperation();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto copy = ModuleOp::create(builder, module.getLoc(), target);
  if (Attribute dims = module->getAttr("dl.symbols"))
    copy->setAttr("dl.symbols", dims);
  builder.setInsertionPointToEnd(copy.getBody());
  for (Operation *original : originals)
    builder.clone(*original);
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
