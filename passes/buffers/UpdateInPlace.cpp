//===- UpdateInPlace.cpp - States are updated where they lie ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"
#include "passes/Passes.h"
#include "passes/fuse/LaunchMerger.h"

#define DEBUG_TYPE "update-in-place"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_UPDATEINPLACE
#include "passes/Passes.h.inc"

namespace {

class UpdateInPlace : public impl::UpdateInPlaceBase<UpdateInPlace> {
  void runOnOperation() override;

  bool isUpdate(dlx::LaunchOp launch, Value state);
  dlx::KernelOp inPlace(dlx::KernelOp kernel);

  llvm::DenseMap<Operation *, dlx::KernelOp> made; // by the kernels that read x
};

} // namespace

/// `launch` gives an update of `state` alone, and nothing else reads the state.
bool UpdateInPlace::isUpdate(dlx::LaunchOp launch, Value state) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<dlx::KernelOp>(launch, launch.getKernelAttr());
  if (launch.getOutputs().size() != 1 || !state.hasOneUse() || *state.getUsers().begin() != launch)
    return false;
  auto update = kernel.getResultTensors().front().getDefiningOp<dl::UpdateSliceOp>();
  auto x = update ? dyn_cast<BlockArgument>(update.getX()) : BlockArgument();
  auto layoutOf = [](Value tensor) {
    return dl::getLayout(cast<RankedTensorType>(tensor.getType()));
  };
  return x && x.hasOneUse() && launch.getInputs()[x.getArgNumber()] == state &&
         kernel.getKind() == dlx::KernelKind::map && layoutOf(update.getSrc()).isRowMajor() &&
         layoutOf(update.getY()).isRowMajor();
}

dlx::KernelOp UpdateInPlace::inPlace(dlx::KernelOp kernel) {
  dlx::KernelOp &known = made[kernel];
  if (!known) {
    known = cast<dlx::KernelOp>(kernel->clone());
    known.setInPlace(true);
    known.setSymName((kernel.getSymName() + "_in_place").str());
    SymbolTable(kernel->getParentOp()).insert(known, std::next(Block::iterator(kernel)));
  }
  return known;
}

void UpdateInPlace::runOnOperation() {
  made.clear();
  for (auto program : getOperation().getOps<dlx::ProgramOp>()) {
    Operation *ret = program.getBodyBlock().getTerminator();
    unsigned outputs = program.getOutputNames().size();
    if (ret->getNumOperands() == outputs)
      continue;
    for (auto [number, state] : llvm::enumerate(program.getStates())) {
      Value value = ret->getOperand(outputs + number);
      dlx::LaunchOp launch = LaunchMerger::writerOf(value);
      if (!launch || !isUpdate(launch, state))
        continue;
      auto kernel =
          SymbolTable::lookupNearestSymbolFrom<dlx::KernelOp>(launch, launch.getKernelAttr());
      launch.setKernel(inPlace(kernel).getSymName());
      Operation *alloc = value.getDefiningOp();
      value.replaceAllUsesWith(state);
      alloc->erase();
      ++numUpdated;
    }
  }
  LaunchMerger(getOperation()).dropUnused();
}

} // namespace dlc
