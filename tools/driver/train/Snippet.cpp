//===- Snippet.cpp - Parts of a training step that are written in the language ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/Snippet.h"

#include "ir/dl/DLOps.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "tools/driver/base/Output.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {

bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

llvm::SmallBitVector symbolsOfData(ModuleOp module) {
  llvm::SmallBitVector counted = dl::countedSymbols(module), found = dl::computedSymbols(module);
  found.resize(std::max(found.size(), counted.size()));
  return found |= counted;
}

/// "dim N = 1..64", for each symbol that inputs bind.
static std::string dimsOfModule(ModuleOp module) {
  std::string text;
  llvm::SmallBitVector ofData = symbolsOfData(module);
  for (auto [position, symbol] : llvm::enumerate(dl::symbolsOf(module))) {
    if (position < ofData.size() && ofData.test(position))
      continue;
    text += "dim " + symbol.getName().str() + " = ";
    if (symbol.isDerived())
      text += dl::text(symbol.getDerived(), module) + "\n";
    else
      text += std::to_string(symbol.sizeAt(symbol.getMin())) + ".." +
              std::to_string(symbol.sizeAt(symbol.getMax())) +
              (symbol.getStep() == 1 ? "" : " step " + std::to_string(symbol.getStep())) + "\n";
  }
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
