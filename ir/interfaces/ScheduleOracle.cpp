//===- ScheduleOracle.cpp - What the schedules of a target can run ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/interfaces/ScheduleOracle.h"

#include "ir/dl/DLDialect.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace dlc {

ScheduleOracle::~ScheduleOracle() = default;

const ScheduleOracle *ScheduleOracles::find(StringRef target) const {
  auto found = oracles.find(target);
  return found == oracles.end() ? nullptr : found->second.get();
}

const ScheduleOracle *ScheduleOracle::of(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  StringRef target = module ? module.getName().value_or("") : "";
  auto *dialect = op->getContext()->getLoadedDialect<dl::DLDialect>();
  auto *oracles = dialect ? dialect->getRegisteredInterface<ScheduleOracles>() : nullptr;
  const ScheduleOracle *oracle = oracles ? oracles->find(target) : nullptr;
  if (!oracle)
    op->emitError("is in a module named '")
        << target << "', and this tool has no schedules for such a target; expected a module like "
        << "'module @cpu', in a tool that has the target's code generator";
  return oracle;
}

} // namespace dlc
