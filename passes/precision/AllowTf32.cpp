//===- AllowTf32.cpp - Products of f32 on tensor cores ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/interfaces/LoopNest.h"
#include "passes/Passes.h"
#include "passes/precision/LayerPatterns.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

#define DEBUG_TYPE "allow-tf32"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_ALLOWTF32
#include "passes/Passes.h.inc"

namespace {
class AllowTf32 : public impl::AllowTf32Base<AllowTf32> {
public:
  using AllowTf32Base::AllowTf32Base;

private:
  void runOnOperation() override;
};
} // namespace

void AllowTf32::runOnOperation() {
  auto kept = LayerPatterns::keptByPass(getOperation(), *keepF32);
  if (failed(kept))
    return signalPassFailure();
  getOperation().walk([&](LoopNestOpInterface op) {
    if (!getElementTypeOrSelf(op->getResult(0)).isF32() || !op.getLoopNest().isProduct)
      return;
    if (kept->matches(op)) {
      ++numKept;
      return;
    }
    op->setAttr(dl::kTf32, UnitAttr::get(&getContext()));
    ++numAllowed;
  });
}

} // namespace dlc
