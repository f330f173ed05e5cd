//===- ScheduleOracle.cpp - What the schedules of a target can run ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
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

const ScheduleOracles *ScheduleOracles::of(MLIRContext *context) {
  auto *dialect = context->getLoadedDialect<dl::DLDialect>();
  return dialect ? dialect->getRegisteredInterface<ScheduleOracles>() : nullptr;
}

std::string ScheduleOracles::modules() const {
  SmallVector<StringRef> targets(oracles.keys());
  llvm::sort(targets);
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      targets, os, [&](StringRef target) { os << "'module @" << target << "'"; }, " or ");
  return text;
}

const ScheduleOracle *ScheduleOracle::of(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  StringRef target = module ? module.getName().value_or("") : "";
  const ScheduleOracles *oracles = ScheduleOracles::of(op->getContext());
  const ScheduleOracle *oracle = oracles ? oracles->find(target) : nullptr;
  if (!oracle)
    op->emitError("is in a module named '")
        << target << "', and this tool has no schedules for such a target; expected a module like "
        << "'module @cpu', in a tool that has the target's code generator";
  return oracle;
}

} // namespace dlc
