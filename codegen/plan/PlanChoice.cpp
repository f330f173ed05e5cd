//===- PlanChoice.cpp - Which plan a kernel gets ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/plan/PlanChoice.h"

using namespace mlir;

namespace dlc::codegen {

/// The metadata by which isAboutForcedPlans knows an error.
static constexpr llvm::StringLiteral kForcedPlans = "dlc.forced_plans";

const dlx::PlanAttr *bestOf(ArrayRef<dlx::PlanAttr> plans) {
  const dlx::PlanAttr *best = plans.begin();
  for (const dlx::PlanAttr &plan : plans.drop_front())
    if (double(plan.getNs()) < kWorthChanging * double(best->getNs()))
      best = &plan;
  return best;
}

static InFlightDiagnostic refuse(Operation *at) {
  InFlightDiagnostic error = at->emitError();
  error.getUnderlyingDiagnostic()->getMetadata().emplace_back(kForcedPlans);
  return error;
}

bool isAboutForcedPlans(Diagnostic &diagnostic) {
  return llvm::any_of(diagnostic.getMetadata(), [](const DiagnosticArgument &argument) {
    return argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::String &&
           argument.getAsString() == kForcedPlans;
  });
}

LogicalResult ForcedPlans::check(ModuleOp target, ArrayRef<StringRef> names) const {
  for (const std::string &entry : entries) {
    auto [kernel, schedule] = StringRef(entry).split('=');
    if (!llvm::is_contained(names, schedule)) {
      InFlightDiagnostic error =
          refuse(target) << "'" << entry
                         << "' names no schedule of this target; expected KERNEL=SCHEDULE, or "
                            "*=SCHEDULE for all kernels, with one of ";
      llvm::interleaveComma(names, error);
      return failure();
    }
    if (kernel != "*" && !target.lookupSymbol<dlx::KernelOp>(kernel)) {
      InFlightDiagnostic error = refuse(target) << "'" << entry << "' names no kernel; there are ";
      llvm::interleaveComma(target.getOps<dlx::KernelOp>(), error,
                            [&](dlx::KernelOp one) { error << one.getSymName(); });
      return failure();
    }
  }
  return success();
}

ForcedPlans::Wanted ForcedPlans::wantedFor(dlx::KernelOp kernel) const {
  Wanted wanted;
  for (const std::string &entry : entries) {
    auto [name, schedule] = StringRef(entry).split('=');
    if (name == kernel.getSymName())
      return {schedule, true};
    if (name == "*")
      wanted.schedule = schedule;
  }
  return wanted;
}

bool ForcedPlans::concern(dlx::KernelOp kernel) const {
  return !wantedFor(kernel).schedule.empty();
}

bool ForcedPlans::wants(dlx::KernelOp kernel, StringRef schedule) const {
  return wantedFor(kernel).schedule == schedule;
}

FailureOr<dlx::PlanAttr> ForcedPlans::choose(dlx::KernelOp kernel, ArrayRef<dlx::PlanAttr> plans,
                                             ArrayRef<dlx::PlanAttr> calls) const {
  if (plans.empty())
    return kernel.emitOpError("of kind '")
           << stringifyEnum(kernel.getKind()) << "' has no schedule";
  const dlx::PlanAttr *best = bestOf(plans);
  Wanted wanted = wantedFor(kernel);
  auto isWanted = [&](dlx::PlanAttr plan) { return plan.getSchedule() == wanted.schedule; };
  const auto *found = llvm::find_if(plans, isWanted);
  if (found != plans.end()) {
    best = found;
  } else if (wanted.isNamed && llvm::none_of(calls, isWanted)) {
    InFlightDiagnostic error = refuse(kernel)
                               << "kernel '" << kernel.getSymName() << "' cannot run by schedule '"
                               << wanted.schedule << "'; it can by ";
    llvm::interleaveComma(llvm::concat<const dlx::PlanAttr>(plans, calls), error,
                          [&](dlx::PlanAttr plan) { error << plan.getSchedule(); });
    return failure();
  }
  SmallVector<Attribute> others;
  for (const dlx::PlanAttr &plan : plans)
    if (&plan != best)
      others.push_back(plan);
  llvm::append_range(others, calls);
  kernel.setPlanAttr(*best);
  if (others.empty())
    kernel.removeOtherPlansAttr();
  else
    kernel.setOtherPlansAttr(ArrayAttr::get(kernel.getContext(), others));
  return *best;
}

} // namespace dlc::codegen
