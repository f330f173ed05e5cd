//===- PhaseErrors.cpp - What the passes before precision do to outputs, on data ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/precision/PhaseErrors.h"

#include "passes/Pipelines.h"
#include "tools/driver/base/Output.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassInstrumentation.h"

using namespace mlir;

namespace dlc {
namespace {

/// Calls `keep` with the module after each pass that has a flag.
class AfterPasses final : public PassInstrumentation {
public:
  explicit AfterPasses(std::function<void(StringRef, ModuleOp)> keep) : keep(std::move(keep)) {}
  void runAfterPass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (!pass->getArgument().empty())
      keep(pass->getArgument(), module ? module : op->getParentOfType<ModuleOp>());
  }

private:
  std::function<void(StringRef, ModuleOp)> keep;
};

} // namespace

int PhaseErrors::measure(Stage &stage, double &found) {
  progress(stage.pass);
  OwningOpRef<ModuleOp> copy = stage.module->clone();
  auto package = compileCpuProgram(*copy);
  if (failed(package))
    return kUnsupported;
  CpuProgram program;
  if (int code = program.open(*package))
    return code;
  SampleFeed feed;
  feed.setBatch(goal.batch);
  if (int code = feed.open(goal.data, program.getModule()))
    return code;
  OutputErrors errors;
  std::vector<dlc_tensor> inputs;
  for (SampleRange range = {0, 0}; feed.next(inputs); range.first += range.rows) {
    range.rows = feed.rows();
    if (int code = reference.run(inputs))
      return code;
    if (int code = program.run(inputs))
      return code;
    errors.add(program.outputs, reference.outputs, range);
  }
  found = errors.largest(goal.metric);
  return kOk;
}

int PhaseErrors::run(ModuleOp module) {
  std::vector<Stage> stages;
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.addInstrumentation(std::make_unique<AfterPasses>(
      [&](StringRef pass, ModuleOp after) { stages.push_back({pass.str(), after.clone()}); }));
  addPhase(manager, Phase::simplify, {});
  if (failed(manager.run(module)))
    return kInternal;
  FailureOr<std::string> package = failure();
  auto first = stages.begin();
  for (; failed(package) && first != std::prev(stages.end()); ++first) {
    // Schedules take what has been simplified, and less of what has not.
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> copy = first->module->clone();
    package = compileCpuProgram(*copy);
  }
  if (failed(package)) {
    OwningOpRef<ModuleOp> copy = first->module->clone();
    package = compileCpuProgram(*copy);
    if (failed(package))
      return kUnsupported;
  }
  if (int code = reference.open(*package))
    return code;
  if (int code = measure(stages.back(), error))
    return code;
  for (; error > goal.maxError && guilty.empty() && first != stages.end(); ++first) {
    double found = 0;
    if (int code = measure(*first, found))
      return code;
    if (found > goal.maxError)
      guilty = first->pass;
  }
  return kOk;
}

} // namespace dlc
