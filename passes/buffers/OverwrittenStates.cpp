//===- OverwrittenStates.cpp - Maps that overwrite states with their new values -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/buffers/OverwrittenStates.h"

#include "ir/interfaces/LoopNest.h"
#include "ir/interfaces/ScheduleOracle.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace dlc {

/// Returns the oracle of the module around `op`, and null if this tool has none.
static const ScheduleOracle *oracleOf(Operation *op) {
  const ScheduleOracles *oracles = ScheduleOracles::of(op->getContext());
  return oracles ? oracles->find(op->getParentOfType<ModuleOp>().getName().value_or("")) : nullptr;
}

/// Returns true if `op` reads `operand` only at the element that it computes.
static bool readsOwnElement(LoopNestOpInterface op, const LoopNest &nest, Value operand) {
  auto isOwn = [&](const Access &access) {
    if (op->getOperand(access.operand) != operand)
      return true;
    return !access.checked && !access.isComputed() &&
           dl::getDims(cast<RankedTensorType>(operand.getType())) == nest.parallel &&
           llvm::all_of(llvm::enumerate(access.map.getResults()), [&](auto index) {
             return index.value() == getAffineDimExpr(index.index(), op.getContext());
           });
  };
  return llvm::all_of(nest.results, isOwn);
}

/// Returns true if all that the kernel computes from `argument` is computed element by element.
static bool isElementwise(dlx::KernelOp kernel, BlockArgument argument) {
  llvm::SmallPtrSet<Value, 16> derived = {argument};
  for (Operation &op : kernel.getBodyBlock().without_terminator()) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    if (!loops || isa<dl::CatOp>(op))
      return false;
    LoopNest nest = loops.getLoopNest();
    if (!nest.isMap())
      return false;
    for (Value operand : op.getOperands()) {
      if (!derived.contains(operand))
        continue;
      if (!readsOwnElement(loops, nest, operand))
        return false;
      derived.insert(op.getResult(0));
    }
  }
  // The order of the elements is that of the results.
  return llvm::all_of(kernel.getResultTensors(), [&](Value result) {
    auto type = cast<RankedTensorType>(result.getType()),
         read = cast<RankedTensorType>(argument.getType());
    return dl::getDims(type) == dl::getDims(read) && dl::getLayout(type) == dl::getLayout(read);
  });
}

bool mayOverwrite(dlx::LaunchOp launch, Value state) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<dlx::KernelOp>(launch, launch.getKernelAttr());
  const ScheduleOracle *oracle = oracleOf(launch);
  if (!kernel || kernel.getKind() != dlx::KernelKind::map || kernel.getPart() ||
      kernel.getInPlace() || !oracle || !oracle->overwritesOperands())
    return false;
  for (auto [input, argument] : llvm::zip(launch.getInputs(), kernel.getBodyBlock().getArguments()))
    if (dlx::storage(input) == state &&
        (input.getType() != state.getType() || !isElementwise(kernel, argument)))
      return false;
  return true;
}

/// Returns true if no command after `last` reads `state` or a view of it, and it is not returned.
static bool isDeadAfter(Value state, Operation *last) {
  SmallVector<Value> views = {state};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<dlx::ViewOp>(user))
        views.push_back(view.getView());
      else if (user != last && !user->isBeforeInBlock(last))
        return false;
    }
  return true;
}

/// Returns the launch that writes `value`, and null if it is not one.
static dlx::LaunchOp writerOf(Value value) {
  dlx::LaunchOp writer;
  for (Operation *user : value.getUsers())
    if (auto launch = dyn_cast<dlx::LaunchOp>(user);
        launch && llvm::is_contained(launch.getOutputs(), value)) {
      if (writer)
        return {};
      writer = launch;
    }
  return writer && !writer.getInit() ? writer : dlx::LaunchOp();
}

unsigned overwriteStates(dlx::ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  // A run that fails because an output does not fit must leave the states as they were. Of several
  // programs, the segments of a model, each may read them.
  if (dl::countedSymbols(module).any() || !llvm::hasSingleElement(module.getOps<dlx::ProgramOp>()))
    return 0;
  Operation &ret = program.getBodyBlock().back();
  unsigned outputs = program.getOutputNames().size(), overwritten = 0;
  for (unsigned number = 0; number < program.getNumStates(); ++number) {
    Value state = program.getStates()[number], value = ret.getOperand(outputs + number);
    auto alloc = value.getDefiningOp<dlx::AllocOp>();
    dlx::LaunchOp writer = writerOf(value);
    if (!alloc || alloc.getPersistent() || value.getType() != state.getType() || !writer ||
        llvm::is_contained(ret.getOperands().take_front(outputs), value) ||
        !isDeadAfter(state, writer) || !mayOverwrite(writer, state))
      continue;
    value.replaceAllUsesWith(state);
    alloc.erase();
    ++overwritten;
  }
  return overwritten;
}

} // namespace dlc
