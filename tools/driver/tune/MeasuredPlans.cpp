//===- MeasuredPlans.cpp - The plans of --plans, for the kernels of a model ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/tune/MeasuredPlans.h"

#include "codegen/plan/PlanChoice.h"
#include "tools/driver/base/ExitCode.h"
#include "tools/driver/tune/KernelDigest.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {

int MeasuredPlans::read(const std::string &file) {
  if (file.empty())
    return kOk;
  path = file;
  int code = kOk;
  if (auto read = readPlanFile(path, code))
    plans = std::move(*read);
  return code;
}

std::vector<std::string> MeasuredPlans::entriesFor(ModuleOp target) {
  std::vector<std::string> entries;
  if (plans.empty() && !found)
    return entries;
  for (auto kernel : target.getOps<dlx::KernelOp>()) {
    std::string name = kernel.getSymName().str(), digest = digestOf(kernel);
    if (found)
      (*found)[name].digest = digest;
    auto plan = llvm::find_if(plans, [&](const MeasuredPlan &one) {
      return one.target == *target.getName() && one.digest == digest;
    });
    if (plan == plans.end())
      continue;
    used.insert(static_cast<size_t>(plan - plans.begin()));
    entries.push_back(name + "=" + plan->plan);
  }
  return entries;
}

void MeasuredPlans::takeCandidates(ModuleOp target) {
  if (!found)
    return;
  for (auto kernel : target.getOps<dlx::KernelOp>())
    if (auto candidates = kernel->getAttrOfType<ArrayAttr>(codegen::kCandidatesAttr))
      for (auto plan : candidates.getAsRange<dlx::PlanAttr>())
        (*found)[kernel.getSymName().str()].plans.emplace_back(codegen::nameOf(plan), plan.getNs());
}

std::string MeasuredPlans::unusedIn(ModuleOp module) const {
  auto hasTarget = [&](const MeasuredPlan &plan) {
    return llvm::any_of(module.getOps<ModuleOp>(),
                        [&](ModuleOp target) { return *target.getName() == plan.target; });
  };
  size_t all = static_cast<size_t>(llvm::count_if(plans, hasTarget));
  if (used.size() == all)
    return "";
  return llvm::formatv("warning: {0} of {1} plans in {2} are for no kernel of this model as it is "
                       "compiled now; expected the model and the options that 'dlc tune' got",
                       all - used.size(), all, path)
      .str();
}

} // namespace dlc
