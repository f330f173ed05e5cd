//===- Compile.cpp - The whole pipeline, from a model to model.bin ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cpu/CpuCode.h"
#include "codegen/cuda/CudaText.h"
#include "codegen/package/Package.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "tools/driver/Check.h"
#include "tools/driver/Compiler.h"
#include "tools/driver/CudaBinaries.h"
#include "tools/driver/Format.h"
#include "tools/driver/Import.h"
#include "tools/driver/ImportAsText.h"
#include "tools/driver/InspectSource.h"
#include "tools/driver/Output.h"
#include "tools/driver/PassTrace.h"
#include "tools/driver/Plan.h"
#include "tools/driver/SourceLines.h"
#include "tools/driver/ValidatePasses.h"
#include "tools/driver/WeightReader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>
#include <unistd.h>

using namespace mlir;
using Clock = std::chrono::steady_clock;

namespace dlc {
namespace {

/// One compile: what it has been asked for, and where it stands.
class Compilation {
public:
  explicit Compilation(const CompileOptions &options) : options(options), trace(options.dumpDir) {}
  int run();

private:
  int prepare();
  /// Narrows symbolic dims by --shapes and its like.
  bool hasShapes() const {
    return !(options.shapes + options.minShapes + options.maxShapes + options.optShapes).empty();
  }
  std::string shapesOfInputs();
  LogicalResult specializeShapes();
  LogicalResult runPhase(Phase phase);
  LogicalResult schedule(ModuleOp target);
  LogicalResult generate();
  int compileBinaries();
  int printModule();
  int writeModel();
  int finishDump(int code);
  /// Saves what the phase got, and says how to see the failure again.
  int phaseFailed(Phase phase, const std::string &before);
  void showProgress(StringRef what);
  std::string outputPath() const;

  CompileOptions options;
  CudaBinaries binaries;
  PassTrace trace;
  PassValidator validator;
  ImportedModel model;
  codegen::GeneratedCode code;
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
  for (const std::string &target : options.targets)
    if (llvm::count(options.targets, target) > 1)
      return fail(kUsage, "--target names '" + target + "' twice; name each target once");
  last = *phaseNamed(options.compileTo);
  if (!options.compileFrom.empty()) {
    first = *phaseNamed(options.compileFrom);
    if (first >= last)
      return fail(
          kUsage,
          llvm::formatv(
              "--compile-from={0} --compile-to={1}: nothing is left to do; expected a later "
              "phase to stop at",
              options.compileFrom, options.compileTo)
              .str());
    if (first != Phase::import && hasShapes())
      return fail(kUsage, "--shapes, --min-shapes, --max-shapes and --opt-shapes belong before "
                          "phase 'simplify'");
    if (!options.weights.empty())
      return fail(kUsage, "--weights belongs to a .dl model; the IR given to --compile-from names "
                          "its weights itself");
  }
  if (int code = binaries.choose(options.targets))
    return code;
  if (std::string why = whyNotWritable(outputPath()); !why.empty())
    return fail(kDevice, why);
  if (!options.dumpDir.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(options.dumpDir))
      return fail(kDevice, "cannot make the folder '" + options.dumpDir + "': " + error.message());
  return kOk;
}

/// --shapes without those of an ONNX model's states, whose dims the import has made numbers.
std::string Compilation::shapesOfInputs() {
  auto functions = model.module->getOps<func::FuncOp>();
  if (options.states.empty() || functions.empty())
    return options.shapes;
  func::FuncOp function = *functions.begin();
  llvm::StringSet<> states;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, "dl.state"))
      states.insert(function.getArgAttrOfType<StringAttr>(i, "dl.name").getValue());
  std::string left;
  for (StringRef entry : llvm::split(options.shapes, ','))
    if (!states.contains(entry.rsplit(':').first))
      left += (left.empty() ? "" : ",") + entry.str();
  return left;
}

LogicalResult Compilation::specializeShapes() {
  if (!hasShapes())
    return success();
  PassManager manager(model.context.get(), ModuleOp::getOperationName());
  manager.addInstrumentation(trace.makeInstrumentation());
  manager.addPass(createSpecializeShapes(
      {shapesOfInputs(), options.minShapes, options.maxShapes, options.optShapes}));
  addPhaseVerifier(manager, Phase::import);
  return manager.run(*model.module);
}

/// Runs the schedule that codegen has for the target.
LogicalResult Compilation::schedule(ModuleOp target) {
  std::string flag = ("dl-schedule-" + *target.getName()).str();
  const PassInfo *info = PassInfo::lookup(flag);
  assert(info && "the outline phase's verifier knows the targets");
  PassManager manager(target->getContext(), ModuleOp::getOperationName());
  manager.addInstrumentation(trace.makeInstrumentation());
  std::string passOptions = target.getName() == "cuda" ? "precision=" + options.precision : "";
  if (failed(info->addToPipeline(manager, passOptions, [&](const Twine &text) {
        return target.emitError(text), failure();
      })))
    return failure();
  return manager.run(target);
}

LogicalResult Compilation::runPhase(Phase phase) {
  ModuleOp module = *model.module;
  if (phase == Phase::schedule)
    for (auto target : module.getOps<ModuleOp>())
      if (failed(schedule(target)))
        return failure();
  if (phase == Phase::package)
    return generate();
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.addInstrumentation(trace.makeInstrumentation());
  if (options.validatePasses && phase < Phase::outline)
    manager.addInstrumentation(validator.makeInstrumentation());
  addPhase(manager, phase, PipelineOptions{options.targets, options.explain});
  return manager.run(module);
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

int Compilation::phaseFailed(Phase phase, const std::string &before) {
  // The schedules and the code generators say above what they cannot do yet; no other phase may refuse a checked model.
  bool isLimit = phase == Phase::schedule || phase == Phase::package;
  int status = isLimit ? kUnsupported : kInternal;
  std::string what = isLimit
                         ? std::string("phase '") + nameOf(phase) + "' cannot compile this model"
                         : std::string("internal error in phase '") + nameOf(phase) +
                               "'; this is a bug of dlc: please report it";
  int file = -1;
  SmallString<128> path;
  std::string text =
      "// " + std::string("dlc compile --compile-from=") +
      nameOf(phase == Phase::import ? phase : static_cast<Phase>(static_cast<int>(phase) - 1)) +
      " --compile-to=" + nameOf(phase) + " THIS_FILE\n" + before;
  if (llvm::sys::fs::createTemporaryFile("dlc-reproducer", "mlir", file, path))
    return fail(status, what + "; no reproducer could be written");
  close(file);
  std::string why = writeFile(path.str().str(), text);
  return fail(status, what + (why.empty() ? "; what it worked on is in " + path.str().str()
                                          : "; no reproducer: " + why));
}

int Compilation::printModule() {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(options.locations);
  model.module->getOperation()->print(os, flags);
  os << '\n';
  if (outputPath() == "-")
    return finishOutput(text);
  std::string why = writeFile(outputPath(), text);
  return why.empty() ? kOk : fail(kDevice, why);
}

int Compilation::writeModel() {
  Clock::time_point started = Clock::now();
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (failed(codegen::writePackage(*model.module, code, readPackedWeight, os)))
    return kModelError; // a weight that is not bound or has changed: reported at its line
  std::string why = outputPath() == "-" ? "" : writeFile(outputPath(), bytes);
  trace.addStep("write", started);
  if (!why.empty())
    return fail(kDevice, why);
  if (outputPath() == "-")
    return finishOutput(bytes);
  if (!options.quiet && isatty(STDERR_FILENO))
    complain(llvm::formatv("{0}: {1:N} bytes, {2:F2} s", outputPath(), bytes.size(),
                           std::chrono::duration<double>(Clock::now() - begin).count())
                 .str());
  return kOk;
}

/// Writes what --dump-dir promises beside the IR. A failure there never hides the result of the compile.
int Compilation::finishDump(int status) {
  if (options.dumpDir.empty())
    return status;
  std::string problem = trace.getProblem();
  auto put = [&](const std::string &name, const std::string &text) {
    std::string why = writeFile(options.dumpDir + "/" + name, text);
    if (problem.empty())
      problem = why;
  };
  for (const auto &[name, kernel] : code.cuda)
    put("kernel-" + name + ".cu", kernel.text);
  if (model.module && last >= Phase::buffers && status == kOk)
    put("plan.txt", describePlan(*model.module));
  put("timing.json", trace.timesAsJson());
  put("repro.sh", reproduction(options.commandLine));
  if (problem.empty())
    return status;
  complain("error: " + problem);
  return status == kOk ? kDevice : status;
}

int Compilation::run() {
  if (int code = prepare())
    return code;
  codegen::registerDLCCodegenPasses();
  showProgress("import");
  trace.beginPhase("import");
  Clock::time_point started = Clock::now();
  if (int code = importModel({options.input, options.weights, false, !options.compileFrom.empty(),
                              options.model, options.constInputs, options.states, options.shapes},
                             model)) {
    showProgress("");
    return finishDump(code);
  }
  trace.addStep("import", started);
  trace.dump(*model.module, "import");

  // The contract of the phase that made the input is the user's to keep: a hand-written file may break it.
  PassManager verifier(model.context.get(), ModuleOp::getOperationName());
  addPhaseVerifier(verifier, first);
  if (failed(verifier.run(*model.module)))
    return finishDump(first == Phase::import && options.compileFrom.empty() ? phaseFailed(first, "")
                                                                            : kModelError);
  if (failed(specializeShapes()))
    return finishDump(kUsage);
  if (options.validatePasses && failed(validator.begin(*model.module)))
    return finishDump(kModelError);

  for (int index = static_cast<int>(first) + 1; index <= static_cast<int>(last); ++index) {
    Phase phase = static_cast<Phase>(index);
    showProgress(nameOf(phase));
    trace.beginPhase(nameOf(phase));
    std::string before;
    llvm::raw_string_ostream os(before);
    model.module->getOperation()->print(os, OpPrintingFlags().enableDebugInfo());
    if (failed(runPhase(phase))) {
      showProgress("");
      return finishDump(phaseFailed(phase, before));
    }
    if (options.validatePasses && phase == Phase::fuse && !validator.runsEachPass())
      (void)validator.compare(*model.module, "simplify ... fuse", boundOfAll());
    if (!validator.getFinding().empty()) {
      showProgress("");
      return finishDump(fail(kAccuracy, validator.getFinding()));
    }
  }
  showProgress("");
  if (last != Phase::package)
    return finishDump(printModule());
  int status = compileBinaries();
  return finishDump(status == kOk ? writeModel() : status);
}

static int compileModel(const CompileOptions &options) { return Compilation(options).run(); }

const Compiler kLinkedCompiler = {compileModel, checkModel, formatFiles, inspectSource,
                                  importAsText};

} // namespace dlc
