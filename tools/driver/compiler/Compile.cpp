//===- Compile.cpp - The whole pipeline, from a model to model.bin ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cpu/image/CpuCode.h"
#include "codegen/cuda/print/CudaText.h"
#include "codegen/package/Package.h"
#include "codegen/plan/PlanChoice.h"
#include "frontend/arrays/InputFiles.h"
#include "ir/analysis/SettledCounts.h"
#include "ir/dl/base/DimNeeds.h"
#include "ir/dl/control/Flow.h"
#include "ir/dl/control/NamedSymbols.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "passes/precision/LayerPatterns.h"
#include "tools/driver/calibrate/Calibration.h"
#include "tools/driver/calibrate/CpuProgram.h"
#include "tools/driver/calibrate/QuantizationGrids.h"
#include "tools/driver/calibrate/WeightFit.h"
#include "tools/driver/cli/Compiler.h"
#include "tools/driver/cli/Output.h"
#include "tools/driver/compiler/Check.h"
#include "tools/driver/compiler/CompileUsage.h"
#include "tools/driver/compiler/CrashGuard.h"
#include "tools/driver/compiler/CudaBinaries.h"
#include "tools/driver/compiler/Format.h"
#include "tools/driver/compiler/Import.h"
#include "tools/driver/compiler/ImportAsText.h"
#include "tools/driver/compiler/ValidatePasses.h"
#include "tools/driver/compress/Quantize.h"
#include "tools/driver/compress/StoredWeights.h"
#include "tools/driver/compress/WeightReader.h"
#include "tools/driver/compress/prune/Prune.h"
#include "tools/driver/compress/sparse/BlockStorage.h"
#include "tools/driver/compress/sparse/TwoOfFourStorage.h"
#include "tools/driver/inspect/FusionRemarks.h"
#include "tools/driver/inspect/InspectSource.h"
#include "tools/driver/inspect/List.h"
#include "tools/driver/inspect/PassTrace.h"
#include "tools/driver/inspect/Plan.h"
#include "tools/driver/inspect/SourceLines.h"
#include "tools/driver/precision/Bisect.h"
#include "tools/driver/precision/TargetSearch.h"
#include "tools/driver/tune/MeasuredPlans.h"
#include "tools/driver/tune/Tune.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <set>
#include <unistd.h>

using namespace mlir;
using Clock = std::chrono::steady_clock;

namespace dlc {
namespace {

/// One compile: what it has been asked for, and where it stands.
class Compilation {
public:
  explicit Compilation(const CompileOptions &options) : options(options), trace(options.dumpDir) {
    plans.found = options.kernelPlans;
  }
  int run();

private:
  int prepare();
  int checkOutputs() const;
  PipelineOptions pipelineOptions() const {
    return {options.targets,
            options.explain,
            narrowTypeOf(options.precision),
            options.keepF32,
            options.quantize,
            weightFormatOf(options.quantize, options.grids),
            hasSymmetricActivations(options.grids),
            hasPerTensorWeights(options.grids),
            options.sparse,
            options.io,
            binaries.onlyGpu()};
  }
  /// --keep-f32 names what there is.
  int checkKeptLayers() const;
  bool hasShapes() const { return !givenShapes(options.shapes).empty(); }
  /// Narrows the symbolic dims of IR by --shapes and its like; the frontends do so themselves.
  LogicalResult specializeShapes();
  /// Does what --quantize needs to know of the data and of the weights.
  int prepareQuantization();
  /// Says which products run on integers, and writes the ranges of their activations on --calib to
  /// them.
  int calibrate();
  /// Fits the few bits that weights are to be stored in.
  int fitWeights();
  /// Counts the zeros of weights, for the pass that leaves them out.
  int countZeros();
  /// Says what that pass did, and keeps other weights out of the file if it did anything.
  void finishZeros();
  /// Whether the integers that the phase `compress` makes of weights take their place in the file.
  bool storesIntegers() const {
    return options.noRefit && (options.quantize == "int8" || options.quantize == "dynamic");
  }
  /// Compiles what --precision mixed is held against where --quantize changes the model before it.
  int compileReference();
  int writeReport(const std::string &json);
  /// Marks the ops that --precision mixed keeps in f32.
  int searchPrecision();
  LogicalResult runPhase(Phase phase, bool isRepeated = false);
  int selectTargets();
  std::vector<std::string> forcedPlansOf(StringRef target) const;
  LogicalResult schedule(ModuleOp target, bool isRepeated);
  LogicalResult generate();
  int compileBinaries();
  /// The phases from the one after `first` to `last`, of `model.module`.
  int runPhases();
  /// Runs them on each segment of a model that is cut, and writes what they give.
  int compileSegments();
  int checkSegmentOptions() const;
  LogicalResult cutSegments();
  int printModule();
  int writeModel();
  int finishDump(int code);
  /// Saves what the phase got, and says how to see the failure again.
  int phaseFailed(Phase phase, bool isCrash = false);
  std::string textBefore(Phase phase);
  void showProgress(StringRef what);
  std::string outputPath() const;

  CompileOptions options;
  CudaBinaries binaries;
  PassTrace trace;
  PassValidator validator;
  ImportedModel model;
  bool isPlanRefused = false; // an entry of --force-plan, with an error that says why
  MeasuredPlans plans;
  OwningOpRef<ModuleOp> imported; // a copy of what the first phase gets
  std::string reference;          // a CPU program of the model in f32, before --quantize
  int64_t productWeights = 0;     // that --sparse looked at
  std::string report;             // what --quantize did, for --report
  codegen::GeneratedCode code;
  OwningOpRef<ModuleOp>
      flow; // of a model that is cut into segments, each of which is the model in its turn
  std::vector<std::pair<OwningOpRef<ModuleOp>, codegen::GeneratedCode>> segments; // compiled
  Phase first = Phase::import, last = Phase::package;
  Clock::time_point begin = Clock::now();
};

} // namespace

void Compilation::showProgress(StringRef what) {
  if (options.quiet || !isatty(STDERR_FILENO))
    return;
  std::string line = what.empty() ? "\r\033[K" : ("\r\033[Kdlc: " + what + " ...").str();
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

std::string Compilation::outputPath() const {
  if (!options.output.empty())
    return options.output == "/dev/stdout" ? "-" : options.output;
  return last == Phase::package ? "model.bin" : "-";
}

int Compilation::prepare() {
  last = *phaseNamed(options.compileTo);
  if (!options.compileFrom.empty())
    first = *phaseNamed(options.compileFrom);
  if (int code = checkUsage(options))
    return code;
  if (int code = binaries.choose(options.targets))
    return code;
  if (int code = plans.read(options.plans))
    return code;
  frontend::noteInputFile(options.input);
  if (int code = checkOutputs())
    return code;
  if (!options.dumpDir.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(options.dumpDir))
      return fail(kDevice, "cannot make the folder '" + options.dumpDir + "': " + error.message());
  return kOk;
}

int Compilation::checkKeptLayers() const {
  auto patterns = LayerPatterns::create(options.keepF32);
  std::string problem =
      patterns ? patterns->unmatchedIn(*model.module) : llvm::toString(patterns.takeError());
  return problem.empty() ? int(kOk) : fail(kUsage, "--keep-f32: " + problem);
}

/// Whether --dump-dir may write a file of this name.
static bool isNameOfDump(StringRef name) {
  return (name.ends_with(".mlir") && llvm::isDigit(name[0])) ||
         (name.ends_with(".cu") && name.starts_with("kernel-")) || name == "plan.txt" ||
         name == "timing.json" || name == "repro.sh";
}

/// Whether -o and --dump-dir may be written, as far as the inputs are known.
int Compilation::checkOutputs() const {
  for (const std::string &path : {outputPath(), options.report})
    if (int code = path.empty() ? 0 : checkOutput(path))
      return code;
  std::error_code error; // a folder that is not there yet holds no input
  for (llvm::sys::fs::directory_iterator entry(options.dumpDir, error), end;
       !options.dumpDir.empty() && !error && entry != end; entry.increment(error))
    if (isNameOfDump(llvm::sys::path::filename(entry->path())))
      if (int code = checkOutput(entry->path()))
        return code;
  return kOk;
}

LogicalResult Compilation::specializeShapes() {
  if (!hasShapes() || options.compileFrom.empty())
    return success();
  PassManager manager(model.context.get(), ModuleOp::getOperationName());
  manager.enableVerifier(options.validatePasses);
  manager.addInstrumentation(trace.makeInstrumentation());
  const ShapeOptions &shapes = options.shapes;
  manager.addPass(createSpecializeShapes(
      {shapes.shapes, shapes.minShapes, shapes.maxShapes, shapes.optShapes}));
  addPhaseVerifier(manager, Phase::import);
  return manager.run(*model.module);
}

int Compilation::prepareQuantization() {
  if (options.quantize == "none")
    return kOk;
  return pipelineOptions().quantizesWeights() ? fitWeights() : calibrate();
}

int Compilation::fitWeights() {
  Clock::time_point started = Clock::now();
  WeightFit fit(options, [this](const std::string &what) { showProgress(what); });
  int code = fit.run(*model.module);
  showProgress("");
  trace.addStep("fit-weights", started);
  if (code != kOk)
    return code;
  model.module->getOperation()->setAttr("dl.fitted_by",
                                        StringAttr::get(model.context.get(), fit.commandText()));
  if (!options.quiet)
    complain(fit.asText());
  return writeReport(fit.asJson());
}

int Compilation::calibrate() {
  Clock::time_point started = Clock::now();
  Calibration calibration(options, [this](const std::string &what) { showProgress(what); });
  int code = calibration.run(*model.module);
  showProgress("");
  trace.addStep("calibration", started);
  if (code != kOk)
    return code;
  if (std::string command = calibration.commandText(); !command.empty())
    model.module->getOperation()->setAttr("dl.fitted_by",
                                          StringAttr::get(model.context.get(), command));
  if (!options.quiet)
    complain(calibration.asText());
  return writeReport(calibration.asJson());
}

int Compilation::countZeros() {
  if (options.sparse == "none")
    return kOk;
  Clock::time_point started = Clock::now();
  int code = options.sparse == "block" ? countBlocks(*model.module, productWeights)
                                       : countFullGroups(*model.module, productWeights);
  trace.addStep("count-zeros", started);
  return code;
}

void Compilation::finishZeros() {
  auto finish = [&](const SparseStorage &storage, const char *command) {
    if (storage.stored > 0)
      model.module->getOperation()->setAttr("dl.fitted_by",
                                            StringAttr::get(model.context.get(), command));
    if (!options.quiet)
      complain(storage.text());
  };
  if (options.sparse == "block")
    finish(blockStorageOf(*model.module, productWeights), kBlockSparseCommand);
  else if (options.sparse == "2:4")
    finish(twoOfFourStorageOf(*model.module, productWeights), kTwoOfFourCommand);
}

int Compilation::compileReference() {
  if (!isMixed(options.precision) || options.quantize == "none")
    return kOk;
  OwningOpRef<ModuleOp> copy = model.module->clone();
  auto package = compileCpuProgram(*copy);
  if (failed(package))
    return kUnsupported;
  reference = std::move(*package);
  return kOk;
}

/// Writes the report at once where one step has something to tell, and as an object with a member
/// for each where two have.
int Compilation::writeReport(const std::string &json) {
  if (options.report.empty())
    return kOk;
  bool isMixedToo = isMixed(options.precision) && options.quantize != "none";
  if (!isMixedToo)
    return writeFile(options.report, json);
  if (report.empty()) {
    report = json;
    return kOk;
  }
  return writeFile(options.report,
                   "{\n\"quantize\": " + report + ",\n\"precision\": " + json + "}\n");
}

int Compilation::searchPrecision() {
  if (!isMixed(options.precision))
    return kOk;
  Clock::time_point started = Clock::now();
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
      *model.module, goal, "--precision " + options.precision,
      [this](const std::string &what) { showProgress(what); }, found);
  showProgress("");
  trace.addStep("precision-search", started);
  if (code != kOk)
    return code;
  if (!options.quiet)
    complain(found.text);
  return writeReport(found.json);
}

/// Erases the modules of targets that are not asked for.
int Compilation::selectTargets() {
  for (auto target : llvm::make_early_inc_range(model.module->getOps<ModuleOp>()))
    if (!llvm::is_contained(options.targets, target.getName()->str()))
      target.erase();
  if (!model.module->getOps<ModuleOp>().empty())
    return kOk;
  return fail(kUsage, "'" + options.input + "' has no module for target '" +
                          llvm::join(options.targets, "' or '") +
                          "'; expected one of those that it was made for");
}

/// The entries of --force-plan for `target`: of schedules that it has, and of those that no target
/// has, which are errors.
std::vector<std::string> Compilation::forcedPlansOf(StringRef target) const {
  std::vector<std::string> plans;
  for (const std::string &entry : options.forcePlan) {
    StringRef schedule = StringRef(entry).split('=').second.split(':').first;
    bool isOfOther = llvm::any_of(options.targets, [&](const std::string &other) {
      return other != target && codegen::hasSchedule(other, schedule);
    });
    if (codegen::hasSchedule(target, schedule) || !isOfOther)
      plans.push_back(entry);
  }
  return plans;
}

/// Runs the schedule that codegen has for the target.
LogicalResult Compilation::schedule(ModuleOp target, bool isRepeated) {
  PassManager manager(target->getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(options.validatePasses);
  if (!isRepeated)
    manager.addInstrumentation(trace.makeInstrumentation());
  // The first entry for a kernel counts: the user's own comes before those of the file.
  std::vector<std::string> forced = forcedPlansOf(*target.getName());
  llvm::append_range(forced, plans.entriesFor(target));
  codegen::addSchedule(manager, *target.getName(),
                       {forced, /*candidates=*/options.kernelPlans != nullptr, options.chains});
  ScopedDiagnosticHandler handler(target->getContext(), [&](Diagnostic &diagnostic) {
    isPlanRefused |= codegen::isAboutForcedPlans(diagnostic);
    return failure(); // the next handler prints it
  });
  if (failed(manager.run(target)))
    return failure();
  plans.takeCandidates(target);
  return success();
}

/// A repeated phase leaves no trace of itself but the module. The module is verified at the end of
/// the phase; with --validate-passes, which looks for the pass that is wrong, after each of them
/// too.
LogicalResult Compilation::runPhase(Phase phase, bool isRepeated) {
  ModuleOp module = *model.module;
  // These phases work on many kernels at a time. The passes before them change one module that
  // --dump-dir writes and --validate-passes runs after each of them.
  model.context->enableMultithreading(phase >= Phase::schedule);
  if (phase == Phase::schedule)
    for (auto target : module.getOps<ModuleOp>())
      if (failed(schedule(target, isRepeated)))
        return failure();
  if (phase == Phase::package)
    return generate();
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(options.validatePasses);
  if (!isRepeated)
    manager.addInstrumentation(trace.makeInstrumentation());
  if (!isRepeated && options.validatePasses && phase < Phase::outline)
    manager.addInstrumentation(validator.makeInstrumentation());
  addPhase(manager, phase, pipelineOptions());
  if (failed(manager.run(module)))
    return failure();
  if (phase != Phase::compress || !storesIntegers())
    return success();
  Clock::time_point started = Clock::now();
  int code = kOk;
  for (auto target : module.getOps<ModuleOp>())
    if (code == kOk)
      code = storeQuantizedWeights(*target.getOps<func::FuncOp>().begin());
  trace.addStep("store-integers", started);
  return success(code == kOk);
}

LogicalResult Compilation::generate() {
  for (auto target : model.module->getOps<ModuleOp>()) {
    Clock::time_point started = Clock::now();
    if (target.getName() == "cpu") {
      auto variants = codegen::compileCpuVariants(target);
      if (failed(variants))
        return failure();
      code.cpu = std::move(*variants);
      trace.addStep("cpu-code", started);
      continue;
    }
    quoteSourceLines(target);
    code.cudaHeaders = codegen::cudaHeaders();
    WalkResult printed = target.walk([&](gpu::GPUFuncOp kernel) -> WalkResult {
      auto text = codegen::printKernel(kernel);
      if (failed(text))
        return failure();
      code.cuda[kernel.getName().str()] = std::move(*text);
      return success();
    });
    if (printed.wasInterrupted())
      return failure();
    std::set<std::string> included;
    for (const auto &[name, text] : code.cuda)
      included.insert(text.headers.begin(), text.headers.end());
    std::erase_if(code.cudaHeaders,
                  [&](const auto &header) { return !included.contains(header.first); });
    trace.addStep("cuda-text", started);
  }
  return success();
}

/// Machine code for the architectures that --target names.
int Compilation::compileBinaries() {
  Clock::time_point started = Clock::now();
  int status = binaries.compile(code, [this](size_t done, size_t total) {
    showProgress(done == total ? "" : llvm::formatv("kernels, {0} of {1}", done, total).str());
  });
  trace.addStep("cuda-binaries", started);
  return status;
}

/// The module that `phase` got, empty where that was the import. The phases before it are repeated:
/// they do the same each time, and to keep each module would cost every compile what only one that
/// fails needs.
std::string Compilation::textBefore(Phase phase) {
  if (!imported)
    return "";
  ScopedDiagnosticHandler quiet(model.context.get(), [](Diagnostic &) { return success(); });
  model.module = std::move(imported);
  for (int index = static_cast<int>(first) + 1; index < static_cast<int>(phase); ++index)
    if (failed(runPhase(static_cast<Phase>(index), /*isRepeated=*/true)))
      return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  model.module->getOperation()->print(os, OpPrintingFlags().enableDebugInfo());
  return text;
}

int Compilation::phaseFailed(Phase phase, bool isCrash) {
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
  std::string before;
  if (!outlives([&] { before = textBefore(phase); }))
    return fail(status, what + "; no reproducer could be written");
  std::string text =
      "// " + std::string("dlc compile --compile-from=") +
      nameOf(phase == Phase::import ? phase : static_cast<Phase>(static_cast<int>(phase) - 1)) +
      " --compile-to=" + nameOf(phase) + " THIS_FILE\n" + before;
  if (llvm::sys::fs::createTemporaryFile("dlc-reproducer", "mlir", file, path))
    return fail(status, what + "; no reproducer could be written");
  close(file);
  bool isKept = writeFile(path.str().str(), text) == kOk;
  return fail(status, what + (isKept ? "; what it worked on is in " + path.str().str()
                                     : "; no reproducer could be written"));
}

int Compilation::printModule() {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(options.locations);
  model.module->getOperation()->print(os, flags);
  os << '\n';
  return writeFile(outputPath(), text);
}

int Compilation::writeModel() {
  Clock::time_point started = Clock::now();
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  std::vector<codegen::CompiledSegment> compiled;
  for (auto &[segment, made] : segments)
    compiled.push_back({*segment, &made});
  if (failed(flow ? codegen::writePackage(*flow, compiled, readPackedWeight, os)
                  : codegen::writePackage(*model.module, code, readPackedWeight, os)))
    return kModelError; // a weight that is not bound or has changed: reported at its line
  int status = writeFile(outputPath(), bytes);
  trace.addStep("write", started);
  if (status == kOk && outputPath() != "-" && !options.quiet && isatty(STDERR_FILENO))
    complain(llvm::formatv("{0}: {1:N} bytes, {2:F2} s", outputPath(), bytes.size(),
                           std::chrono::duration<double>(Clock::now() - begin).count())
                 .str());
  return status;
}

/// Writes what --dump-dir promises beside the IR. A failure there never hides the result of the
/// compile.
int Compilation::finishDump(int status) {
  if (options.dumpDir.empty())
    return status;
  int dumped = trace.getStatus();
  auto put = [&](const std::string &name, const std::string &text) {
    if (dumped == kOk)
      dumped = writeFile(options.dumpDir + "/" + name, text);
  };
  for (const auto &[name, kernel] : code.cuda)
    put("kernel-" + name + ".cu", kernel.text);
  if (model.module && last >= Phase::buffers && status == kOk)
    put("plan.txt", describePlan(*model.module));
  put("timing.json", trace.timesAsJson());
  put("repro.sh", reproduction(options.commandLine));
  return status == kOk ? dumped : status;
}

/// Whether `module` is a flow beside its segments (cut-segments).
static bool isCut(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  return !functions.empty() && !module.getOps<ModuleOp>().empty();
}

int Compilation::run() {
  if (int code = prepare())
    return code;
  showProgress("import");
  trace.beginPhase("import");
  Clock::time_point started = Clock::now();
  int code = kInternal;
  if (!outlives([&] {
        code = importModel({options.input, options.weights, false, !options.compileFrom.empty(),
                            options.model, options.constInputs, options.states, options.shapes},
                           model);
      })) {
    showProgress("");
    endNow(fail(kInternal, "internal error while '" + options.input +
                               "' was read: a crash; this is a bug of dlc: please report it, with "
                               "the file"));
  }
  if (code != kOk) {
    showProgress("");
    return finishDump(code);
  }
  trace.addStep("import", started);
  if (int code = checkOutputs()) { // the import knows what the model names
    showProgress("");
    return code;
  }
  trace.dump(*model.module, "import");

  if (isCut(*model.module)) // by --compile-from
    return finishDump(compileSegments());
  // The contract of the phase that made the input is the user's to keep: a hand-written file may
  // break it.
  PassManager verifier(model.context.get(), ModuleOp::getOperationName());
  verifier.enableVerifier(false);
  addPhaseVerifier(verifier, first);
  if (failed(verifier.run(*model.module)))
    return finishDump(first == Phase::import && options.compileFrom.empty() ? phaseFailed(first)
                                                                            : kModelError);
  if (failed(specializeShapes()))
    return finishDump(kUsage);
  if (first == Phase::import)
    dropUnreadSteps(*model.module);
  if (first == Phase::import && failed(settleCounts(*model.module)))
    return finishDump(kModelError);
  if (first == Phase::import && last > Phase::import && dl::runsInSegments(*model.module)) {
    if (failed(cutSegments()))
      return finishDump(kUnsupported);
    return finishDump(compileSegments());
  }
  int status = runPhases();
  if (status == kOk)
    status = last == Phase::package ? writeModel() : printModule();
  return finishDump(status);
}

int Compilation::runPhases() {
  if (first >= Phase::compress)
    if (int code = selectTargets())
      return code;
  if (first == Phase::import && last > Phase::import)
    dl::recordNeeds(*model.module);
  validator = PassValidator();
  if (options.validatePasses && failed(validator.begin(*model.module)))
    return kModelError;

  imported = model.module->clone();
  for (int index = static_cast<int>(first) + 1; index <= static_cast<int>(last); ++index) {
    Phase phase = static_cast<Phase>(index);
    showProgress(nameOf(phase));
    trace.beginPhase(nameOf(phase));
    if (phase == Phase::compress) {
      if (int code = checkKeptLayers())
        return code;
      if (int code = compileReference())
        return code;
      if (int code = prepareQuantization())
        return code;
      if (int code = countZeros())
        return code;
    }
    if (phase == Phase::precision)
      if (int code = searchPrecision())
        return code;
    LogicalResult result = failure();
    if (!outlives([&] { result = runPhase(phase); })) {
      showProgress("");
      endNow(phaseFailed(phase, /*isCrash=*/true));
    }
    if (failed(result)) {
      showProgress("");
      if (isPlanRefused && !plans.empty())
        complain("note: where the plan is one of " + options.plans +
                 ", 'dlc tune' writes that anew for this version of dlc");
      return isPlanRefused ? int(kUsage) : phaseFailed(phase);
    }
    if (phase == Phase::schedule)
      if (std::string warning = plans.unusedIn(*model.module); !warning.empty())
        complain(warning);
    if (phase == Phase::fuse)
      finishZeros();
    if (phase == Phase::outline && options.explain)
      remarkOnFusions(*model.module);
    if (options.validatePasses && phase == Phase::fuse && !validator.runsEachPass())
      for (auto target : model.module->getOps<ModuleOp>())
        if (validator.getFinding().empty())
          (void)validator.compare(target, "simplify ... fuse", boundOfAll(pipelineOptions()));
    if (!validator.getFinding().empty()) {
      showProgress("");
      return fail(kAccuracy, validator.getFinding());
    }
  }
  showProgress("");
  return last == Phase::package ? compileBinaries() : int(kOk);
}

//===- Segments -------------------------------------------------------------------------------===//

int Compilation::checkSegmentOptions() const {
  auto refuse = [&](StringRef option, StringRef reason) {
    return fail(kUnsupported,
                (option + " " + reason +
                 " while the model runs, and this model is cut into segments where its "
                 "data decide what runs (docs/sizes.md); leave the option out")
                    .str());
  };
  if (pipelineOptions().quantizesProducts() && options.quantize != "dynamic")
    return refuse("--quantize " + options.quantize, "measures the ranges of activations");
  if (pipelineOptions().quantizesWeights() && !options.calibration.data.empty())
    return refuse("--calib", "measures activations");
  if (isMixed(options.precision))
    return refuse("--precision " + options.precision, "measures the error of each layer");
  return kOk;
}

LogicalResult Compilation::cutSegments() {
  PassManager manager(model.context.get(), ModuleOp::getOperationName());
  manager.enableVerifier(options.validatePasses);
  manager.addInstrumentation(trace.makeInstrumentation());
  manager.addPass(createRaiseCaches()); // of the whole model: the parts know no states
  manager.addPass(createCutSegments());
  return manager.run(*model.module);
}

int Compilation::compileSegments() {
  if (int code = checkSegmentOptions())
    return code;
  flow = std::move(model.module);
  for (auto segment : llvm::to_vector(flow->getOps<ModuleOp>())) {
    segment->remove();
    model.module = segment;
    code = {};
    if (int status = runPhases())
      return status;
    segments.emplace_back(std::move(model.module), std::move(code));
    code = {};
  }
  if (last == Phase::package)
    return writeModel();
  model.module = std::move(flow);
  for (auto &[segment, made] : segments)
    model.module->push_back(segment.release());
  return printModule();
}

static int compileModel(const CompileOptions &options) {
  // The last one is kept to the end of the process, which is near: to take a large module apart
  // takes 4 % of the time.
  static auto &last = *new std::unique_ptr<Compilation>;
  last = nullptr;
  last = std::make_unique<Compilation>(options);
  return last->run();
}

const Compiler kLinkedCompiler = {compileModel, checkModel,  formatFiles,   inspectSource,
                                  importAsText, pruneModel,  quantizeModel, bisectModel,
                                  tuneModel,    listLanguage};

} // namespace dlc
