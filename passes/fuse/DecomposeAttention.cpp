//===- DecomposeAttention.cpp - Attention that no kernel of the target computes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
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

} // namespace

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
    SmallVector<Value> results = decompose(op);
    op.getResult().replaceAllUsesWith(results.front());
    op.erase();
    ++numDecomposed;
  });
}

} // namespace dlc
