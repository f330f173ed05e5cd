//===- StateUpdates.cpp - States are updated where they lie -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/fuse/FusionSteps.h"

using namespace mlir;

namespace dlc {

/// Why `group`, which computes `update` of `state`, cannot write it where the state lies; empty
/// where it can.
static std::string whyCopied(FusionPlan &plan, PlannedFusion &group, dl::UpdateSliceOp update,
                             Value state) {
  auto isRowMajor = [](Value tensor) {
    return dl::getLayout(cast<RankedTensorType>(tensor.getType())).isRowMajor();
  };
  assert(!group.root && isRowMajor(update.getY()) && group.ops.back() == update &&
         "nothing is computed at places that an update reads its operands at, and it is returned");
  if (!isRowMajor(update.getSrc()))
    return "what is written lies in another layout than the state";
  bool isUpdate = false; // the read that the update makes of x was met
  for (Operation *reader : plan.readersOf(state)) {
    if (reader == update && !std::exchange(isUpdate, true))
      continue;
    PlannedFusion *other = plan.groupOf(reader);
    if (!other->isKernel)
      return "the model returns the old value, or keeps it in another state";
    if (other == &group)
      return "the kernel that writes the new value reads the old one as well";
    if (plan.depends(*other, group))
      return ("'" + reader->getName().stripDialect() +
              "' reads the old value after the new one is known")
          .str();
  }
  return "";
}

void updateStates(FusionPlan &plan, func::FuncOp function) {
  unsigned numStates = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    numStates += function.getArgAttr(i, "dl.state") != nullptr;
  ValueRange arguments = function.getArguments();
  for (auto [state, value] :
       llvm::zip(arguments.take_back(numStates),
                 function.front().getTerminator()->getOperands().take_back(numStates))) {
    auto update = value.getDefiningOp<dl::UpdateSliceOp>();
    if (!update || update.getX() != state)
      continue;
    PlannedFusion &group = *plan.groupOf(value);
    group.whyCopied = whyCopied(plan, group, update, state);
    if (group.whyCopied.empty())
      plan.updateInPlace(group, state);
  }
}

} // namespace dlc
