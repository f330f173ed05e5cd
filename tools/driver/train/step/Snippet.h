//===- Snippet.h - Parts of a training step that are written in the language --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The user gives the loss, the metrics and the optimizer as calls of the language. Each becomes the
// text of a small model, which is imported, and whose ops are copied into the step.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_TRAIN_STEP_SNIPPET_H
#define DLC_TOOLS_DRIVER_TRAIN_STEP_SNIPPET_H

#include "tools/driver/source/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc {

/// A name and its type as the language declares inputs, outputs and states: "f32[N,10]".
struct Declared {
  std::string name, type;
};

class Snippet {
public:
  /// The model is to have the dims of `step`, whose context it shares.
  Snippet(ImportedModel &step, std::string title) : step(step), title(std::move(title)) {}

  std::vector<Declared> states, inputs, outputs;
  /// Lines of `forward`.
  std::vector<std::string> statements;

  /// Imports it. Errors name it by its title. An ExitCode, reported unless it is kOk.
  int import();
  /// Builds its ops at the builder's place, with `values` in the place of the inputs and then the
  /// states. Returns the outputs, then the next values of the states.
  llvm::SmallVector<mlir::Value> build(mlir::OpBuilder &builder, mlir::ValueRange values);
  /// The module of the model. The snippet cannot be used any more.
  mlir::OwningOpRef<mlir::ModuleOp> take() { return std::move(module); }
  /// The types of the inputs and then the states.
  mlir::TypeRange types() { return function().getArgumentTypes(); }

private:
  std::string text() const;
  mlir::func::FuncOp function() { return *module->getOps<mlir::func::FuncOp>().begin(); }

  ImportedModel &step;
  std::string title;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Returns the symbols that snippets do not have: those that the data decide, and all behind them.
llvm::SmallBitVector symbolsOfData(mlir::ModuleOp module);

/// Returns the number as text of the language, with all digits.
std::string numberText(double number);

/// Whether the language can call a value so.
bool isIdentifier(llvm::StringRef name);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_STEP_SNIPPET_H
