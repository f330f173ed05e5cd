//===- OpDiagnostics.h - Errors of ops in the words of the language -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_LOWER_OPDIAGNOSTICS_H
#define DLC_FRONTEND_DL_LOWER_OPDIAGNOSTICS_H

#include "ir/dl/base/DimNeeds.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/ValueRange.h"

#include <vector>

namespace dlc::frontend {

/// Holds back what the making of an op reports, and reports it at the end of its life: 'conv2d' for
/// 'dl.conv2d', and where a tensor has a dtype that the op does not take, the name of the argument
/// and the dtypes of the language.
class OpDiagnostics {
public:
  /// `names` are those of the parameters behind the operands; they may be fewer.
  OpDiagnostics(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Value> operands,
                llvm::ArrayRef<llvm::StringRef> names);
  ~OpDiagnostics();

  /// The need that narrower ranges would meet (dl::adviseRange), of the first error that has one.
  std::optional<dl::RangeNeed> need();
  /// Forgets what has been reported.
  void drop() { held.clear(); }

private:
  std::string spelled(llvm::StringRef text) const;

  llvm::ArrayRef<mlir::Value> operands;
  llvm::ArrayRef<llvm::StringRef> names;
  std::vector<mlir::Diagnostic> held;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> handler;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LOWER_OPDIAGNOSTICS_H
