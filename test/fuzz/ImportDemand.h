//===- ImportDemand.h - What fuzz targets check of an import ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TEST_FUZZ_IMPORTDEMAND_H
#define DLC_TEST_FUZZ_IMPORTDEMAND_H

#include "test/fuzz/Demand.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace dlc::fuzz {

/// A context costs milliseconds to make and keeps every type and attribute that it has seen: one
/// serves many inputs, and is then replaced.
inline mlir::MLIRContext &contextForInput() {
  constexpr unsigned kInputsPerContext = 500;
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (!context || uses++ % kInputsPerContext == 0)
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  return *context;
}

/// Imports, and demands a module or errors that say why there is none. Returns whether there is
/// one.
inline bool demandModuleOrErrors(mlir::MLIRContext &context,
                                 llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>()> import) {
  unsigned errors = 0;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    demand(diagnostic.str().size() > 10, "a message that says what is wrong");
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = import();
  demand(!module == (errors > 0), "a module, or an error that says why there is none");
  return static_cast<bool>(module);
}

} // namespace dlc::fuzz

#endif // DLC_TEST_FUZZ_IMPORTDEMAND_H
