//===- MeasuredPlansHook.cpp - What --plans and dlc tune do around phase schedule ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/tune/MeasuredPlansHook.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/compiler/CompileSession.h"
#include "tools/driver/tune/MeasuredPlans.h"

using namespace mlir;

namespace dlc {
namespace {

class MeasuredPlansHook : public PhaseHook {
public:
  explicit MeasuredPlansHook(const CompileOptions &options) : options(options) {
    plans.found = options.kernelPlans;
  }

  int begin() override { return plans.read(options.plans); }
  std::vector<std::string> plansFor(ModuleOp target) override { return plans.entriesFor(target); }
  void scheduled(ModuleOp target) override { plans.takeCandidates(target); }
  int after(Phase phase, ModuleOp module) override {
    if (phase == Phase::schedule)
      if (std::string warning = plans.unusedIn(module); !warning.empty())
        complain(warning);
    return kOk;
  }
  std::string noteOnRefusedPlan() const override {
    return plans.empty() ? std::string()
                         : "note: where the plan is one of " + options.plans +
                               ", 'dlc tune' writes that anew for this version of dlc";
  }

private:
  const CompileOptions &options;
  MeasuredPlans plans;
};

} // namespace

std::unique_ptr<PhaseHook> makeMeasuredPlansHook(CompileSession &session) {
  return std::make_unique<MeasuredPlansHook>(session.options);
}

} // namespace dlc
