//===- PhaseRun.cpp - The phases of one module, with the hooks around them ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/PhaseRun.h"

#include "codegen/Passes.h"
#include "codegen/plan/PlanChoice.h"
#include "ir/dl/base/DimNeeds.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/compiler/CodeGeneration.h"
#include "tools/driver/compiler/CrashGuard.h"
#include "tools/driver/inspect/FusionRemarks.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <unistd.h>

using namespace mlir;

namespace dlc {

static Phase before(Phase phase) { return static_cast<Phase>(static_cast<int>(phase) - 1); }
static Phase next(Phase phase) { return static_cast<Phase>(static_cast<int>(phase) + 1); }

/// Erases the modules of targets that are not asked for.
int PhaseRun::selectTargets(ModuleOp module) const {
  const CompileOptions &options = session.options;
  for (auto target : llvm::make_early_inc_range(module.getOps<ModuleOp>()))
    if (!llvm::is_contained(options.targets, target.getName()->str()))
      target.erase();
  if (!module.getOps<ModuleOp>().empty())
    return kOk;
  return fail(kUsage, "'" + options.input + "' has no module for target '" +
                          llvm::join(options.targets, "' or '") +
                          "'; expected one of those that it was made for");
}

/// The entries of --force-plan for `target`: of schedules that it has, and of those that no target
/// has, which are errors.
std::vector<std::string> PhaseRun::forcedPlansOf(StringRef target) const {
  std::vector<std::string> plans;
  for (const std::string &entry : session.options.forcePlan) {
    StringRef schedule = StringRef(entry).split('=').second.split(':').first;
    bool isOfOther = llvm::any_of(session.options.targets, [&](const std::string &other) {
      return other != target && codegen::hasSchedule(other, schedule);
    });
    if (codegen::hasSchedule(target, schedule) || !isOfOther)
      plans.push_back(entry);
  }
  return plans;
}

/// Runs the schedule that codegen has for the target.
LogicalResult PhaseRun::schedule(ModuleOp target, bool isRepeated) {
  const CompileOptions &options = session.options;
  PassManager manager(target->getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(options.validatePasses);
  if (!isRepeated)
    manager.addInstrumentation(session.trace.makeInstrumentation());
  std::vector<std::string> forced = forcedPlansOf(*target.getName());
  for (const auto &hook : hooks)
    llvm::append_range(forced, hook->plansFor(target));
  codegen::addSchedule(manager, *target.getName(),
                       {forced, /*candidates=*/options.kernelPlans != nullptr, options.chains});
  ScopedDiagnosticHandler handler(target->getContext(), [&](Diagnostic &diagnostic) {
    isPlanRefused |= codegen::isAboutForcedPlans(diagnostic);
    return failure(); // the next handler prints it
  });
  if (failed(manager.run(target)))
    return failure();
  for (const auto &hook : hooks)
    hook->scheduled(target);
  return success();
}

/// A repeated phase leaves no trace of itself but the module. The module is verified at the end of
/// the phase; with --validate-passes, which looks for the pass that is wrong, after each of them
/// too.
LogicalResult PhaseRun::runPasses(CompiledModule &compiled, Phase phase, bool isRepeated) {
  ModuleOp module = *compiled.module;
  // These phases work on many kernels at a time. The passes before them change one module that
  // --dump-dir writes and --validate-passes runs after each of them.
  module.getContext()->enableMultithreading(phase >= Phase::schedule);
  if (phase == Phase::schedule)
    for (auto target : module.getOps<ModuleOp>())
      if (failed(schedule(target, isRepeated)))
        return failure();
  if (phase == Phase::package)
    return generateCode(module, session.trace, compiled.code);
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(session.options.validatePasses);
  if (!isRepeated)
    manager.addInstrumentation(session.trace.makeInstrumentation());
  if (!isRepeated && session.options.validatePasses && phase < Phase::outline)
    manager.addInstrumentation(validator.makeInstrumentation());
  addPhase(manager, phase, session.pipelineOptions());
  return manager.run(module);
}

/// Asks each hook at the same `moment` of `phase`. Where one may have changed the module, which is
/// then as after phase `done`, that is kept.
int PhaseRun::tellHooks(ModuleOp module, Phase phase, int (PhaseHook::*moment)(Phase, ModuleOp),
                        Phase done) {
  bool isChanged = false;
  for (const auto &hook : hooks) {
    if (int code = (hook.get()->*moment)(phase, module))
      return code;
    isChanged |= hook->changes(phase);
  }
  if (isChanged) {
    saved = module.clone();
    savedAfter = done;
  }
  return kOk;
}

/// What is said and checked once the passes of `phase` are done.
int PhaseRun::finishPhase(ModuleOp module, Phase phase) {
  const CompileOptions &options = session.options;
  if (phase == Phase::outline && options.explain)
    remarkOnFusions(module);
  if (options.validatePasses && phase == Phase::fuse && !validator.runsEachPass())
    for (auto target : module.getOps<ModuleOp>())
      if (validator.getFinding().empty())
        (void)validator.compareAll(target);
  return validator.getFinding().empty() ? int(kOk) : fail(kAccuracy, validator.getFinding());
}

int PhaseRun::runWithHooks(CompiledModule &compiled, Phase phase) {
  session.showProgress(nameOf(phase));
  session.trace.beginPhase(nameOf(phase));
  if (int code = tellHooks(*compiled.module, phase, &PhaseHook::before, before(phase)))
    return code;
  LogicalResult result = failure();
  if (!outlives([&] { result = runPasses(compiled, phase); })) {
    session.showProgress("");
    endNow(reportFailure(compiled, phase, /*isCrash=*/true));
  }
  if (failed(result) && !isPlanRefused) {
    session.showProgress("");
    return reportFailure(compiled, phase);
  }
  if (failed(result)) {
    session.showProgress("");
    for (const auto &hook : hooks)
      if (std::string note = hook->noteOnRefusedPlan(); !note.empty())
        complain(note);
    return kUsage;
  }
  if (int code = tellHooks(*compiled.module, phase, &PhaseHook::after, phase))
    return code;
  return finishPhase(*compiled.module, phase);
}

int PhaseRun::run(CompiledModule &compiled) {
  if (first >= Phase::compress)
    if (int code = selectTargets(*compiled.module))
      return code;
  if (first == Phase::import && last > Phase::import)
    dl::recordNeeds(*compiled.module);
  if (session.options.validatePasses && failed(validator.begin(*compiled.module)))
    return kModelError;
  saved = compiled.module->clone();
  savedAfter = first;
  int code = kOk;
  for (Phase phase = first; phase != last && code == kOk;) {
    phase = next(phase);
    code = runWithHooks(compiled, phase);
  }
  session.showProgress("");
  return code;
}

LogicalResult PhaseRun::repeat(CompiledModule &compiled, Phase from, Phase to) {
  for (Phase done = from; done < to;) {
    done = next(done);
    if (failed(runPasses(compiled, done, /*isRepeated=*/true)))
      return failure();
  }
  return success();
}

/// The module that `phase` got, empty where that was the import. The phases since a copy was kept
/// are repeated: they do the same each time, and to keep each module would cost every compile what
/// only one that fails needs.
std::string PhaseRun::textBefore(CompiledModule &compiled, Phase phase) {
  if (!saved)
    return "";
  ScopedDiagnosticHandler quiet(saved->getContext(), [](Diagnostic &) { return success(); });
  compiled.module = std::move(saved);
  if (failed(repeat(compiled, savedAfter, before(phase))))
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  compiled.module->getOperation()->print(os, OpPrintingFlags().enableDebugInfo());
  return text;
}

int PhaseRun::reportFailure(CompiledModule &compiled, Phase phase, bool isCrash) {
  // The schedules and the code generators say above what they cannot do yet; no other phase may
  // refuse a checked model.
  bool isLimit = !isCrash && (phase == Phase::schedule || phase == Phase::package);
  int status = isLimit ? kUnsupported : kInternal;
  std::string what =
      isLimit ? std::string("phase '") + nameOf(phase) + "' cannot compile this model"
              : std::string("internal error in phase '") + nameOf(phase) + "'" +
                    (isCrash ? ": a crash" : "") + "; this is a bug of dlc: please report it";
  int file = -1;
  SmallString<128> path;
  std::string text;
  if (!outlives([&] { text = textBefore(compiled, phase); }))
    return fail(status, what + "; no reproducer could be written");
  text = std::string("// dlc compile --compile-from=") +
         nameOf(phase == Phase::import ? phase : before(phase)) + " --compile-to=" + nameOf(phase) +
         " THIS_FILE\n" + text;
  if (llvm::sys::fs::createTemporaryFile("dlc-reproducer", "mlir", file, path))
    return fail(status, what + "; no reproducer could be written");
  close(file);
  bool isKept = writeFile(path.str().str(), text) == kOk;
  return fail(status, what + (isKept ? "; what it worked on is in " + path.str().str()
                                     : "; no reproducer could be written"));
}

} // namespace dlc
