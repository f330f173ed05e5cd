//===- Import.cpp - A model or IR file in a context of its own ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/source/Import.h"

#include "frontend/arrays/InputFiles.h"
#include "frontend/arrays/SafetensorsFile.h"
#include "ir/analysis/SourcePlaces.h"
#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/inspect/LongLines.h"
#include "tools/driver/source/Dialects.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace dlc {
namespace {

/// Text for the terminal that standard error may be, held back until it is whole.
struct HeldText : llvm::raw_string_ostream {
  explicit HeldText(std::string &text) : raw_string_ostream(text) { enable_colors(true); }
  bool has_colors() const override { return llvm::errs().has_colors(); }
};

struct Held {
  std::string text;
  HeldText os{text};
};

/// Prints diagnostics with the lines that they are about; of long lines, and long messages, the
/// part that matters.
class LinePrinter : Held, public SourceMgrDiagnosticHandler {
public:
  LinePrinter(llvm::SourceMgr &sources, MLIRContext *context)
      : SourceMgrDiagnosticHandler(sources, context, Held::os) {
    setHandler([this](Diagnostic &diagnostic) {
      if (hasLine(diagnostic)) {
        emitDiagnostic(diagnostic);
        llvm::errs() << cutLongLines(text);
        text.clear();
        return;
      }
      printWithoutLine(diagnostic);
      for (Diagnostic &note : diagnostic.getNotes())
        printWithoutLine(note);
    });
  }

private:
  static bool hasLine(Diagnostic &diagnostic) {
    return diagnostic.getLocation()->findInstanceOf<FileLineColLoc>() != nullptr;
  }

  /// For an ONNX model the node is named instead of the line.
  void printWithoutLine(Diagnostic &diagnostic) {
    StringRef node = describedNode(diagnostic.getLocation());
    emitDiagnostic(UnknownLoc::get(diagnostic.getLocation().getContext()),
                   node + (node.empty() ? "" : ": ") + diagnostic.str(), diagnostic.getSeverity());
    StringRef said = text;
    said.consume_front("<unknown>:0: ");
    llvm::errs() << said;
    text.clear();
  }
};

} // namespace

SourceContext::SourceContext() {
  DialectRegistry registry;
  registerDialects(registry);
  // One thread: the order of dumps and comparisons is that of the passes. The phases that make code
  // of kernels turn threads on (Compile.cpp).
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false); // users read .dl lines, not IR
}

SourceContext::~SourceContext() = default;

void SourceContext::printDiagnostics() {
  diagnostics = std::make_shared<LinePrinter>(sources, context.get());
}

ImportedModel::ImportedModel() {
  context->loadAllAvailableDialects();
  printDiagnostics();
}

int checkReadable(const std::string &path) {
  if (llvm::sys::fs::is_directory(path))
    return fail(kDevice, "cannot read '" + path + "': it is a directory");
  auto file = llvm::sys::fs::openNativeFileForRead(path);
  if (!file)
    return fail(kDevice, "cannot read '" + path + "': " + llvm::toString(file.takeError()));
  llvm::sys::fs::closeFile(*file);
  return kOk;
}

int readModelText(const std::string &path, std::unique_ptr<llvm::MemoryBuffer> &text) {
  if (path == "-") {
    auto input = llvm::MemoryBuffer::getSTDIN();
    if (!input)
      return fail(kDevice, "cannot read standard input: " + input.getError().message());
    text = std::move(*input);
    return kOk;
  }
  if (int code = checkReadable(path))
    return code;
  auto file = readSource(path, {});
  if (!file)
    return fail(kModelError, llvm::toString(file.takeError()));
  text = std::move(*file);
  return kOk;
}

/// Advice about a file that is not a model, by its name's end.
static StringRef adviceFor(StringRef path) {
  static const struct {
    std::vector<StringRef> ends;
    StringRef advice;
  } kKinds[] = {
      {{".pt", ".pth", ".pt2", ".ckpt", ".pkl"},
       "tools/scripts/export_torch.py writes a .dl file and its weights from a PyTorch module"},
      {{".h5", ".hdf5", ".keras"},
       "tools/scripts/import_keras.py writes a .dl file and its weights from a Keras model"},
      {{".tflite", ".pb"}, "convert it to ONNX, with tf2onnx for one"},
      {{".safetensors", ".npz", ".npy"},
       "it holds arrays alone: a .dl file names its weights by 'weights'"},
      {{".bin"},
       "'dlc run' runs a compiled model and 'dlc inspect' shows it; weights of PyTorch come by "
       "tools/scripts/export_torch.py"}};
  for (const auto &kind : kKinds)
    if (llvm::any_of(kind.ends, [&](StringRef end) { return path.ends_with_insensitive(end); }))
      return kind.advice;
  return "IR needs 'dlc compile --compile-from=PHASE'";
}

int checkModelName(const std::string &path, ArrayRef<std::string> weights,
                   const std::string &model) {
  if (!isOnnx(path))
    return StringRef(path).ends_with(".dl")
               ? static_cast<int>(kOk)
               : fail(kUsage, "'" + path + "' is no .dl or .onnx file; " + adviceFor(path).str());
  if (!weights.empty())
    return fail(kUsage, "--weights belongs to a .dl model; '" + path +
                            "' holds or names its weights itself");
  if (!model.empty())
    return fail(kUsage, "--model chooses among the models of a .dl file; '" + path + "' is one");
  return kOk;
}

int checkWeights(ArrayRef<std::string> weights) {
  for (const std::string &path : weights)
    if (auto file = frontend::mapFile(path); !file)
      return fail(kDevice, llvm::toString(file.takeError()));
  return kOk;
}

int exitCodeOf(ImportFault fault) {
  switch (fault) {
  case ImportFault::ofModel:
    return kModelError;
  case ImportFault::ofCall:
    return kUsage;
  case ImportFault::unsupported:
    return kUnsupported;
  case ImportFault::unreadable:
    return kDevice;
  case ImportFault::damaged:
    return kIncompatible;
  }
  llvm_unreachable("all faults are listed");
}

int checkStates(const std::string &path, ArrayRef<std::string> states) {
  return states.empty() || isOnnx(path)
             ? kOk
             : fail(kUsage, "--state belongs to an ONNX model; a .dl model declares its states");
}

/// The files that IR names: those of its weights, and the texts that its kernels quote.
static void noteFilesOf(ModuleOp module) {
  llvm::DenseSet<StringAttr> noted;
  auto note = [&](StringAttr file) {
    if (file && noted.insert(file).second)
      frontend::noteInputFile(file.getValue());
  };
  module.walk([&](Operation *op) {
    if (isa<dl::WeightOp, dlx::WeightOp>(op))
      note(op->getAttrOfType<StringAttr>("file"));
    op->getLoc()->walk([&](Location loc) {
      if (auto place = dyn_cast<FileLineColLoc>(loc))
        note(place.getFilename());
      return WalkResult::advance();
    });
  });
}

GivenShapes givenShapes(const ShapeOptions &options) {
  return {options.shapes, options.minShapes, options.maxShapes, options.optShapes};
}

int importModel(const ImportRequest &request, ImportedModel &model) {
  if (int code = checkReadable(request.path))
    return code;
  if (int code = checkStates(request.path, request.states))
    return code;
  if (request.isIR) {
    frontend::noteInputFile(request.path);
    model.module = parseSourceFile<ModuleOp>(request.path, model.sources, model.context.get());
    if (model.module)
      noteFilesOf(*model.module);
  } else {
    if (int code = checkModelName(request.path, request.weights, request.model))
      return code;
    if (int code = checkWeights(request.weights))
      return code;
    ImportOptions options{request.weights, request.withoutWeights};
    options.mayLackWeights = request.mayLackWeights;
    options.model = request.model;
    options.constInputs = request.constInputs;
    options.states = request.states;
    options.shapes = givenShapes(request.shapes);
    ImportFault fault = ImportFault::ofModel;
    options.fault = &fault;
    model.module = importFile(request.path, options, *model.context);
    if (!model.module)
      return exitCodeOf(fault);
  }
  return model.module ? kOk : kModelError;
}

} // namespace dlc
