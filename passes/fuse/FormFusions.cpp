//===- FormFusions.cpp - Decide which ops share a kernel, and in which order kernels run ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/fuse/FusionSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#define DEBUG_TYPE "form-fusions"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FORMFUSIONS
#include "passes/Passes.h.inc"

namespace {

class FormFusions : public impl::FormFusionsBase<FormFusions> {
public:
  using FormFusionsBase::FormFusionsBase;

private:
  void runOnOperation() override;
};

} // namespace

void FormFusions::runOnOperation() {
  const ScheduleOracle *oracle = ScheduleOracle::of(getOperation());
  if (!oracle)
    return signalPassFailure();
  Block &block = getOperation().front();
  FusionEdges edges;
  FusionPlan plan(block, fuseProducers(block, separate, *oracle, edges));
  // First: what is updated in place joins nothing, and others may have to come before it.
  updateStates(plan, getOperation());
  if (!separate) {
    if (oracle->poolsProducts())
      numPooled += joinPoolings(plan, edges, *oracle, getOperation()->getParentOfType<ModuleOp>());
    SmallVector<dl::Range> symbols = dl::symbolRanges(getOperation()->getParentOfType<ModuleOp>());
    numReaders += joinReaders(plan, *oracle);
    numRecomputed += recomputeForReaders(plan, edges, *oracle, symbols);
    numRows += joinRows(plan, edges, *oracle, symbols);
    numSideBySide += joinRecurrences(plan, *oracle);
    if (oracle->hasWaves())
      numSideBySide += joinLayers(plan, edges, *oracle);
    numInPlace += joinInPlace(plan);
  }
  numFusions += buildFusions(block, plan, edges);
}

} // namespace dlc
