//===- Listener.h - What the frontend reports, as text ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TEST_UNIT_FRONTEND_LISTENER_H
#define DLC_TEST_UNIT_FRONTEND_LISTENER_H

#include "frontend/dl/syntax/Diagnostics.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

namespace dlc::frontend {

/// Collects diagnostics as lines "line:col: error: text".
class Listener {
public:
  explicit Listener(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          add(diagnostic);
          return mlir::success();
        }) {}

  std::string text;

private:
  void add(mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream os(text);
    if (auto loc = mlir::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation()))
      os << loc.getLine() << ':' << loc.getColumn() << ": ";
    switch (diagnostic.getSeverity()) {
    case mlir::DiagnosticSeverity::Error:
      os << "error: ";
      break;
    case mlir::DiagnosticSeverity::Warning:
      os << "warning: ";
      break;
    default:
      os << "note: ";
    }
    os << diagnostic.str() << '\n';
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      add(note);
  }

  mlir::ScopedDiagnosticHandler handler;
};

} // namespace dlc::frontend

#endif // DLC_TEST_UNIT_FRONTEND_LISTENER_H
