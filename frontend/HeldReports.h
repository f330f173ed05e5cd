//===- HeldReports.h - What an attempt to import says -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_HELDREPORTS_H
#define DLC_FRONTEND_HELDREPORTS_H

#include "frontend/Frontend.h"

#include "mlir/IR/Diagnostics.h"

#include <optional>
#include <vector>

namespace dlc {

/// What an attempt to import a model says, held back until it is known whether it counts.
class HeldReports {
public:
  HeldReports(mlir::MLIRContext &context, ImportFault *fault) : context(context), fault(fault) {
    if (fault)
      faultBefore = faultAfter = *fault;
    handler.emplace(&context, [this](mlir::Diagnostic &diagnostic) {
      held.push_back(std::move(diagnostic));
      return mlir::success();
    });
  }
  /// The attempt is over.
  void stop() {
    handler.reset();
    if (fault) {
      faultAfter = *fault;
      *fault = faultBefore;
    }
  }
  size_t errorCount() const {
    return llvm::count_if(held, [](const mlir::Diagnostic &diagnostic) {
      return diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    });
  }
  void say() {
    for (mlir::Diagnostic &diagnostic : held)
      context.getDiagEngine().emit(std::move(diagnostic));
    if (fault)
      *fault = faultAfter;
  }

private:
  mlir::MLIRContext &context;
  ImportFault *fault;
  ImportFault faultBefore = ImportFault::ofModel, faultAfter = ImportFault::ofModel;
  std::vector<mlir::Diagnostic> held;
  std::optional<mlir::ScopedDiagnosticHandler> handler;
};

} // namespace dlc

#endif // DLC_FRONTEND_HELDREPORTS_H
