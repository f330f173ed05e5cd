//===- Compile.cpp - The whole pipeline, from a model to model.bin ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/Compile.h"

#include "frontend/arrays/InputFiles.h"
#include "ir/analysis/SettledCounts.h"
#include "ir/dl/control/Flow.h"
#include "ir/dl/control/NamedSymbols.h"
#include "passes/Passes.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/compiler/CompileUsage.h"
#include "tools/driver/compiler/CrashGuard.h"
#include "tools/driver/compiler/CudaBinaries.h"
#include "tools/driver/compiler/PhaseRun.h"
#include "tools/driver/source/Import.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dlc {
namespace {

/// One compile, from the files to the file. Each function that gives an int gives an ExitCode.
class Compilation {
public:
  Compilation(const CompileOptions &options, ArrayRef<MakePhaseHook> makers)
      : session(options), last(*phaseNamed(options.compileTo)),
        first(options.compileFrom.empty() ? Phase::import : *phaseNamed(options.compileFrom)),
        output(session, last) {
    for (const MakePhaseHook &make : makers)
      hooks.push_back(make(session));
  }
  int run();

private:
  int prepare();
  int import();
  int compile();
  /// Narrows the symbolic dims of IR by --shapes and its like; the frontends do so themselves.
  LogicalResult specializeShapes();
  /// Runs the phases, and makes machine code for the architectures that --target names.
  int runPhases(CompiledModule &compiled);
  /// Runs them on each segment of a model that is cut, and writes what they give.
  int compileSegments();

  CompileSession session;
  const Phase last, first;
  ModelOutput output;
  std::vector<std::unique_ptr<PhaseHook>> hooks;
  CudaBinaries binaries;
  ImportedModel model;
  codegen::GeneratedCode code;
  std::vector<CompiledModule> segments; ///< of a model that is cut; `model` is then the flow
};

} // namespace

int Compilation::prepare() {
  if (int code = checkUsage(session.options))
    return code;
  if (int code = binaries.choose(session.options.targets))
    return code;
  session.onlyGpu = binaries.onlyGpu();
  for (const auto &hook : hooks)
    if (int code = hook->begin())
      return code;
  frontend::noteInputFile(session.options.input);
  int code = output.check();
  return code ? code : output.makeDumpFolder();
}

int Compilation::import() {
  const CompileOptions &options = session.options;
  session.showProgress("import");
  session.trace.beginPhase("import");
  auto started = std::chrono::steady_clock::now();
  int code = kInternal;
  bool isAlive = outlives([&] {
    code = importModel({options.input, options.weights, false, !options.compileFrom.empty(),
                        options.model, options.constInputs, options.states, options.shapes},
                       model);
  });
  session.showProgress("");
  if (!isAlive)
    endNow(fail(kInternal, "internal error while '" + options.input +
                               "' was read: a crash; this is a bug of dlc: please report it, with "
                               "the file"));
  if (code == kOk)
    session.trace.addStep("import", started);
  return code;
}

LogicalResult Compilation::specializeShapes() {
  if (!session.hasShapes() || session.options.compileFrom.empty())
    return success();
  const ShapeOptions &shapes = session.options.shapes;
  return session.runPasses(*model.module, [&](PassManager &manager) {
    manager.addPass(createSpecializeShapes(
        {shapes.shapes, shapes.minShapes, shapes.maxShapes, shapes.optShapes}));
    addPhaseVerifier(manager, Phase::import);
  });
}

int Compilation::runPhases(CompiledModule &compiled) {
  PhaseRun phases(session, hooks, first, last);
  if (int status = phases.run(compiled))
    return status;
  return last == Phase::package ? binaries.compile(compiled.code, session) : int(kOk);
}

static void addCutSegments(PassManager &manager) {
  manager.addPass(createRaiseCaches()); // of the whole model: the parts know no states
  manager.addPass(createCutSegments());
}

/// Whether `module` is a flow beside its segments (cut-segments).
static bool isCut(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  return !functions.empty() && !module.getOps<ModuleOp>().empty();
}

/// What the import gave, to the file.
int Compilation::compile() {
  if (isCut(*model.module)) // by --compile-from
    return compileSegments();
  // The contract of the phase that made the input is the user's to keep: a hand-written file may
  // break it.
  const bool isImported = first == Phase::import;
  PassManager verifier(model.context.get(), ModuleOp::getOperationName());
  verifier.enableVerifier(false);
  addPhaseVerifier(verifier, first);
  CompiledModule compiled;
  if (failed(verifier.run(*model.module))) {
    if (!isImported || !session.options.compileFrom.empty())
      return kModelError;
    compiled.module = std::move(model.module);
    return PhaseRun(session, hooks, first, last).reportFailure(compiled, first);
  }
  if (failed(specializeShapes()))
    return kUsage;
  if (isImported)
    dropUnreadSteps(*model.module);
  if (isImported && failed(settleCounts(*model.module)))
    return kModelError;
  if (isImported && last > Phase::import && dl::runsInSegments(*model.module))
    return failed(session.runPasses(*model.module, addCutSegments)) ? int(kUnsupported)
                                                                    : compileSegments();
  compiled.module = std::move(model.module);
  int status = runPhases(compiled);
  if (status == kOk)
    status = last == Phase::package ? output.write(ModuleOp(), compiled)
                                    : output.print(*compiled.module);
  model.module = std::move(compiled.module);
  code = std::move(compiled.code);
  return status;
}

int Compilation::run() {
  if (int status = prepare())
    return status;
  int status = import();
  if (status == kOk) { // the import knows what the model names
    if (int code = output.check())
      return code;
    session.trace.dump(*model.module, "import");
    status = compile();
  }
  return output.finishDump(status, model.module ? *model.module : ModuleOp(), code);
}

//===- Segments -------------------------------------------------------------------------------===//

int Compilation::compileSegments() {
  if (int status = checkSegmentUsage(session.options))
    return status;
  for (auto segment : llvm::to_vector(model.module->getOps<ModuleOp>())) {
    segment->remove();
    segments.emplace_back().module = segment;
    if (int status = runPhases(segments.back()))
      return status;
  }
  if (last == Phase::package)
    return output.write(*model.module, segments);
  for (CompiledModule &segment : segments)
    model.module->push_back(segment.module.release());
  return output.print(*model.module);
}

int compileModel(const CompileOptions &options, ArrayRef<MakePhaseHook> hooks) {
  // The last one is kept to the end of the process, which is near: to take a large module apart
  // takes 4 % of the time.
  static auto &last = *new std::unique_ptr<Compilation>;
  last = nullptr;
  last = std::make_unique<Compilation>(options, hooks);
  return last->run();
}

} // namespace dlc
