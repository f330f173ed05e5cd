//===- Check.cpp - All errors of a model, without compiling it ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/source/Check.h"

#include "tools/driver/base/Json.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/inspect/ModelSummary.h"
#include "tools/driver/source/Import.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace dlc {
namespace {

/// Counts what is reported; as JSON, it takes it over.
class Findings {
public:
  Findings(MLIRContext &context, Json *json)
      : handler(&context, [this, json](Diagnostic &diagnostic) {
          errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
          warnings += diagnostic.getSeverity() == DiagnosticSeverity::Warning;
          if (json)
            write(*json, diagnostic);
          return success(json != nullptr);
        }) {}

  /// "no errors, 1 warning"
  std::string text() const {
    auto count = [](unsigned number, const char *what) {
      return (number ? std::to_string(number) : "no") + " " + what + (number == 1 ? "" : "s");
    };
    return count(errors, "error") + (warnings ? ", " + count(warnings, "warning") : "");
  }

  unsigned errors = 0, warnings = 0;

private:
  static void writePlace(Json &json, const Diagnostic &diagnostic) {
    if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
      json.string("file", place.getFilename().strref())
          .integer("line", place.getLine())
          .integer("column", place.getColumn());
    json.string("message", diagnostic.str());
  }

  static void write(Json &json, Diagnostic &diagnostic) {
    DiagnosticSeverity severity = diagnostic.getSeverity();
    json.beginObject().string("severity", severity == DiagnosticSeverity::Error     ? "error"
                                          : severity == DiagnosticSeverity::Warning ? "warning"
                                                                                    : "remark");
    writePlace(json, diagnostic);
    json.beginArray("notes");
    for (const Diagnostic &note : diagnostic.getNotes()) {
      json.beginObject();
      writePlace(json, note);
      json.endObject();
    }
    json.endArray().endObject();
  }

  ScopedDiagnosticHandler handler;
};

} // namespace

int checkModel(const CheckOptions &options) {
  SourceIndex index;
  ImportOptions import{options.weights, options.withoutWeights};
  import.withoutHashes = true;
  import.index = &index;
  import.model = options.model;
  import.constInputs = options.constInputs;
  import.states = options.states;
  import.shapes = givenShapes(options.shapes);
  import.mayLackModel = true;
  llvm::StringMap<std::string> unsaved;
  std::string path = options.input;
  SourceContext context;
  if (path == "-") {
    std::unique_ptr<llvm::MemoryBuffer> text;
    if (int code = readModelText(path, text))
      return code;
    path = text->getBufferIdentifier().str();
    unsaved[path] = text->getBuffer().str();
    import.unsaved = &unsaved;
    context.sources.AddNewSourceBuffer(std::move(text), {});
  } else if (int code = checkReadable(path)) {
    return code;
  } else if (int code = checkModelName(path, options.weights, options.model)) {
    return code;
  }
  if (int code = checkWeights(options.weights))
    return code;
  if (int code = checkStates(path, options.states))
    return code;
  ImportFault fault = ImportFault::ofModel;
  import.fault = &fault;
  Json json;
  if (options.json)
    json.beginObject().string("file", path).beginArray("diagnostics");
  else
    context.printDiagnostics();
  Findings findings(*context.context, options.json ? &json : nullptr);
  auto module = importFile(path, import, *context.context);
  int code = module ? static_cast<int>(kOk) : exitCodeOf(fault);
  if (options.json) {
    json.endArray().integer("errors", findings.errors).integer("warnings", findings.warnings);
    if (module)
      ModelSummary(*module, index).write(json);
    return finishOutput(json.endObject().take(), code);
  }
  if (options.quiet)
    return code;
  std::string line = path + ": " + findings.text();
  if (!module) {
    complain(line);
    return code;
  }
  return finishOutput(line + ": " + ModelSummary(*module, index).line() + "\n");
}

} // namespace dlc
