//===- Import.cpp - A model or IR file in a context of its own -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/Import.h"

#include "frontend/Frontend.h"
#include "tools/driver/Dialects.h"
#include "tools/driver/LongLines.h"
#include "tools/driver/Output.h"

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

/// Prints diagnostics with the lines that they are about; of long lines, and long messages, the part that matters.
class LinePrinter : Held, public SourceMgrDiagnosticHandler {
public:
  LinePrinter(llvm::SourceMgr &sources, MLIRContext *context)
      : SourceMgrDiagnosticHandler(sources, context, Held::os) {
    setHandler([this](Diagnostic &diagnostic) {
      emitDiagnostic(diagnostic);
      // What is about no line, of an ONNX model for one, needs no place that says so.
      StringRef said = text;
      said.consume_front("<unknown>:0: ");
      llvm::errs() << (isa<UnknownLoc>(diagnostic.getLocation()) ? said.str() : cutLongLines(text));
      text.clear();
    });
  }
};

} // namespace

SourceContext::SourceContext() {
  DialectRegistry registry;
  registerDialects(registry);
  // One thread: the order of diagnostics, dumps and comparisons is that of the passes.
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

int checkModelName(const std::string &path, ArrayRef<std::string> weights,
                   const std::string &model) {
  if (!isOnnx(path))
    return StringRef(path).ends_with(".dl")
               ? kOk
               : fail(kUsage,
                      "'" + path + "' is no .dl or .onnx file; IR needs --compile-from=PHASE");
  if (!weights.empty())
    return fail(kUsage, "--weights belongs to a .dl model; '" + path +
                            "' holds or names its weights itself");
  if (!model.empty())
    return fail(kUsage, "--model chooses among the models of a .dl file; '" + path + "' is one");
  return kOk;
}

int checkStates(const std::string &path, ArrayRef<std::string> states) {
  return states.empty() || isOnnx(path)
             ? kOk
             : fail(kUsage, "--state belongs to an ONNX model; a .dl model declares its states");
}

int importModel(const ImportRequest &request, ImportedModel &model) {
  if (int code = checkReadable(request.path))
    return code;
  if (int code = checkStates(request.path, request.states))
    return code;
  if (request.isIR) {
    model.module = parseSourceFile<ModuleOp>(request.path, model.sources, model.context.get());
  } else {
    if (int code = checkModelName(request.path, request.weights, request.model))
      return code;
    ImportOptions options{request.weights, request.withoutWeights};
    options.model = request.model;
    options.constInputs = request.constInputs;
    options.states = request.states;
    options.shapes = request.shapes;
    bool isUnsupported = false;
    options.isUnsupported = &isUnsupported;
    model.module = importFile(request.path, options, *model.context);
    if (isUnsupported)
      return kUnsupported;
  }
  return model.module ? kOk : kModelError;
}

} // namespace dlc
