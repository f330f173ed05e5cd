//===- Snippet.cpp - Parts of a training step that are written in the language ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/step/Snippet.h"

#include "frontend/dl/write/WriteDl.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "tools/driver/base/Output.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"

#include <charconv>

using namespace mlir;

namespace dlc {

std::string numberText(double number) {
  char digits[32];
  char *end = std::to_chars(digits, std::end(digits), number, std::chars_format::scientific).ptr;
  return {digits, end};
}

bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

llvm::SmallBitVector symbolsOfData(ModuleOp module) {
  llvm::SmallBitVector found = onnx::symbolsOfData(module);
  if (int first = found.find_first(); first >= 0)
    found.set(first, found.size()); // a snippet has the first symbols of the step
  return found;
}

/// The declarations of the symbols that inputs bind.
static std::string dimsOfModule(ModuleOp module) {
  llvm::SmallBitVector ofData = symbolsOfData(module);
  std::string text;
  for (auto [position, symbol] : llvm::enumerate(dl::symbolsOf(module)))
    if (!ofData.test(position))
      text += onnx::dimDeclaration(symbol, module);
  return text;
}

static std::string listOf(ArrayRef<Declared> values) {
  return llvm::join(
      llvm::map_range(values, [](const Declared &value) { return value.name + ": " + value.type; }),
      ", ");
}

std::string Snippet::text() const {
  std::string text = "dl 1\n" + dimsOfModule(*step.module) + "model Step {\n";
  for (const Declared &state : states)
    text += "  state " + state.name + ": " + state.type + "\n";
  text += "  forward(" + listOf(inputs) + ") -> (" + listOf(outputs) + ") {\n";
  for (const std::string &statement : statements)
    text += "    " + statement + "\n";
  return text + "  }\n}\n";
}

int Snippet::import() {
  llvm::StringMap<std::string> texts;
  texts[title] = text();
  step.sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(texts[title], title), {});
  ImportOptions options;
  options.unsaved = &texts;
  {
    // A snippet may leave inputs of the model unused.
    ScopedDiagnosticHandler ignoreWarnings(step.context.get(), [](Diagnostic &diagnostic) {
      return success(diagnostic.getSeverity() == DiagnosticSeverity::Warning);
    });
    module = importFile(title, options, *step.context);
  }
  if (!module)
    return kUsage;
  assert(dl::symbolsOf(*step.module).size() >= dl::symbolsOf(*module).size() &&
         "its symbols are the first ones of the step");
  return kOk;
}

SmallVector<Value> Snippet::build(OpBuilder &builder, ValueRange values) {
  Block &body = function().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), values);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value result) { return mapping.lookup(result); });
}

} // namespace dlc
