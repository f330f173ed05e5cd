//===- PrecisionHook.cpp - What --precision does around the phases ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/precision/PrecisionHook.h"

#include "passes/precision/LayerPatterns.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/calibrate/CpuProgram.h"
#include "tools/driver/compiler/CompileSession.h"
#include "tools/driver/precision/TargetSearch.h"

using namespace mlir;

namespace dlc {
namespace {

class PrecisionHook : public PhaseHook {
public:
  explicit PrecisionHook(CompileSession &session) : session(session), options(session.options) {}

  int before(Phase phase, ModuleOp module) override {
    if (phase == Phase::precision && isMixed(options.precision))
      return search(module);
    if (phase != Phase::compress)
      return kOk;
    if (int code = checkKeptLayers(module))
      return code;
    return session.hasTwoReports() ? compileReference(module) : int(kOk);
  }
  bool changes(Phase phase) const override {
    return phase == Phase::precision && isMixed(options.precision);
  }

private:
  /// --keep-f32 names what there is.
  int checkKeptLayers(ModuleOp module) const;
  /// Compiles what --precision mixed is held against where --quantize changes the model before it.
  int compileReference(ModuleOp module);
  int search(ModuleOp module);

  CompileSession &session;
  const CompileOptions &options;
  std::string reference; ///< a CPU program of the model in f32; empty: none is needed
};

} // namespace

int PrecisionHook::checkKeptLayers(ModuleOp module) const {
  auto patterns = LayerPatterns::create(options.keepF32);
  std::string problem =
      patterns ? patterns->unmatchedIn(module) : llvm::toString(patterns.takeError());
  return problem.empty() ? int(kOk) : fail(kUsage, "--keep-f32: " + problem);
}

int PrecisionHook::compileReference(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  auto package = compileCpuProgram(*copy);
  if (failed(package))
    return kUnsupported;
  reference = std::move(*package);
  return kOk;
}

int PrecisionHook::search(ModuleOp module) {
  auto started = std::chrono::steady_clock::now();
  PrecisionGoal goal;
  goal.dtype = narrowTypeOf(options.precision);
  goal.metric = options.errorMetric;
  goal.maxError = *options.maxError;
  goal.data = options.calibration.data;
  goal.batch = options.calibration.batch;
  goal.keepF32 = options.keepF32;
  goal.reference = std::move(reference);
  goal.bestEffort = options.bestEffort;
  TargetSearchReport found;
  int code = searchTargets(
      module, goal, std::string("--precision ") + nameOf(options.precision),
      [this](const std::string &what) { session.showProgress(what); }, found);
  session.showProgress("");
  session.trace.addStep("precision-search", started);
  if (code != kOk)
    return code;
  if (!options.quiet)
    complain(found.text);
  return session.writeReport(found.json);
}

std::unique_ptr<PhaseHook> makePrecisionHook(CompileSession &session) {
  return std::make_unique<PrecisionHook>(session);
}

} // namespace dlc
