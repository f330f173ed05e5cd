//===- PlanChoice.cpp - Which plan a kernel gets ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/PlanChoice.h"

#include "ir/machine/EstimateMargins.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace dlc::codegen {

/// The metadata by which isAboutForcedPlans knows an error.
static constexpr llvm::StringLiteral kForcedPlans = "dlc.forced_plans";

const dlx::PlanAttr *bestOf(ArrayRef<dlx::PlanAttr> plans) {
  const dlx::PlanAttr *best = plans.begin();
  for (const dlx::PlanAttr &plan : plans.drop_front())
    if (double(plan.getNs()) < kMargins.change * double(best->getNs()))
      best = &plan;
  return best;
}

std::string nameOf(dlx::PlanAttr plan) {
  std::string name = plan.getSchedule().str();
  if (plan.getNumbers())
    for (NamedAttribute number : plan.getNumbers())
      name += ":" + number.getName().str() + "=" +
              std::to_string(cast<IntegerAttr>(number.getValue()).getInt());
  return name;
}

void recordCandidates(dlx::KernelOp kernel, SmallVector<dlx::PlanAttr> plans) {
  llvm::sort(plans, [](dlx::PlanAttr a, dlx::PlanAttr b) {
    return a.getNs() != b.getNs() ? a.getNs() < b.getNs() : nameOf(a) < nameOf(b);
  });
  plans.erase(llvm::unique(plans), plans.end());
  SmallVector<Attribute> attributes(plans.begin(), plans.end());
  kernel->setAttr(kCandidatesAttr, ArrayAttr::get(kernel.getContext(), attributes));
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

/// "tile_m=64", a number of a plan.
static std::optional<std::pair<StringRef, int64_t>> parseNumber(StringRef text) {
  auto [name, digits] = text.split('=');
  int64_t value = 0;
  if (name.empty() || digits.getAsInteger(10, value))
    return std::nullopt;
  return std::pair(name, value);
}

bool ForcedPlans::Wanted::is(dlx::PlanAttr other) const {
  if (other.getSchedule() != schedule())
    return false;
  SmallVector<StringRef> numbers;
  plan.split(numbers, ':');
  return llvm::all_of(ArrayRef(numbers).drop_front(), [&](StringRef text) {
    auto number = parseNumber(text);
    return number && other.getNumbers() && other.getNumbers().contains(number->first) &&
           other.number(number->first) == number->second;
  });
}

LogicalResult ForcedPlans::check(ModuleOp target, ArrayRef<StringRef> names) const {
  for (const std::string &entry : entries) {
    auto [kernel, plan] = StringRef(entry).split('=');
    auto [schedule, rest] = plan.split(':');
    SmallVector<StringRef> numbers;
    if (!rest.empty())
      rest.split(numbers, ':');
    for (StringRef number : numbers)
      if (!parseNumber(number))
        return refuse(target) << "'" << entry << "': expected a number of the plan after ':', such "
                              << "as tile_m=64, got '" << number << "'";
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
    auto [name, plan] = StringRef(entry).split('=');
    if (name == kernel.getSymName())
      return {plan, true};
    if (name == "*")
      wanted.plan = plan;
  }
  return wanted;
}

bool ForcedPlans::concern(dlx::KernelOp kernel) const { return !wantedFor(kernel).plan.empty(); }

bool ForcedPlans::wants(dlx::KernelOp kernel, StringRef schedule) const {
  return wantedFor(kernel).schedule() == schedule;
}

bool ForcedPlans::wants(dlx::KernelOp kernel, dlx::PlanAttr plan) const {
  return wantedFor(kernel).is(plan);
}

bool ForcedPlans::sayNumbers(dlx::KernelOp kernel) const {
  return wantedFor(kernel).plan.contains(':');
}

FailureOr<dlx::PlanAttr> ForcedPlans::choose(dlx::KernelOp kernel, ArrayRef<dlx::PlanAttr> plans,
                                             ArrayRef<dlx::PlanAttr> calls) const {
  if (plans.empty())
    return kernel.emitOpError("of kind '")
           << stringifyEnum(kernel.getKind()) << "' has no schedule";
  const dlx::PlanAttr *best = bestOf(plans);
  Wanted wanted = wantedFor(kernel);
  auto isWanted = [&](dlx::PlanAttr plan) { return wanted.is(plan); };
  const dlx::PlanAttr *found = nullptr;
  for (const dlx::PlanAttr &plan : plans)
    if (isWanted(plan) && (!found || plan.getNs() < found->getNs()))
      found = &plan;
  if (found) {
    best = found;
  } else if (wanted.isNamed && llvm::none_of(calls, isWanted)) {
    InFlightDiagnostic error = refuse(kernel)
                               << "kernel '" << kernel.getSymName() << "' cannot run by schedule '"
                               << wanted.plan << "'; it can by ";
    // A choice with numbers is told the plans of its schedule, and each other schedule.
    bool hasNumbers = wanted.plan != wanted.schedule();
    SmallVector<std::string> names;
    for (dlx::PlanAttr plan : llvm::concat<const dlx::PlanAttr>(plans, calls))
      if (std::string name = hasNumbers && plan.getSchedule() == wanted.schedule()
                                 ? nameOf(plan)
                                 : plan.getSchedule().str();
          !llvm::is_contained(names, name))
        names.push_back(name);
    constexpr size_t kMostNames = 8;
    llvm::interleaveComma(ArrayRef(names).take_front(kMostNames), error);
    if (names.size() > kMostNames)
      error << " and " << names.size() - kMostNames << " more";
    return failure();
  }
  // Each other schedule is listed once, by the plan that comes first.
  SmallVector<Attribute> others;
  llvm::SmallDenseSet<StringRef> listed = {best->getSchedule()};
  for (dlx::PlanAttr plan : llvm::concat<const dlx::PlanAttr>(plans, calls))
    if (listed.insert(plan.getSchedule()).second)
      others.push_back(plan);
  kernel.setPlanAttr(*best);
  if (others.empty())
    kernel.removeOtherPlansAttr();
  else
    kernel.setOtherPlansAttr(ArrayAttr::get(kernel.getContext(), others));
  return *best;
}

} // namespace dlc::codegen
