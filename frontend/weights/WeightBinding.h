//===- WeightBinding.h - A model's parameters and the tensors of files --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_WEIGHTS_WEIGHTBINDING_H
#define DLC_FRONTEND_WEIGHTS_WEIGHTBINDING_H

#include "frontend/arrays/WeightFile.h"
#include "frontend/dl/lower/Lower.h"

namespace dlc::frontend {

/// A weights clause with its files opened.
struct OpenedClause {
  WeightsDecl rules; // without files: those below count
  llvm::SMLoc loc;
  std::vector<WeightFile> files;
};

/// Opens the files of the model's clauses, or `instead` of them (--weights). A clause may name only
/// files in the folder of `model`. Every file that cannot be used is reported, and gives nothing;
/// so does a model without weights.
std::optional<std::vector<OpenedClause>> openClauses(llvm::StringRef path, const Model &model,
                                                     llvm::ArrayRef<std::string> instead,
                                                     Diagnostics &diagnostics);

/// Finds each parameter of `model` in the files by its path. Reports all that are missing or have
/// another shape or dtype, with the nearest name, all tensors that no layer owns, and weights with
/// NaN. Reads the bytes to hash them where `withHashes`.
BoundWeights bindWeights(const Model &model, llvm::ArrayRef<OpenedClause> clauses,
                         Diagnostics &diagnostics, mlir::MLIRContext *context, bool withHashes);

/// The XXH3-128 of bytes in hex: what `dl.weight` calls its hash.
std::string hashOf(llvm::ArrayRef<uint8_t> bytes);

/// Returns kMagnitudes for the dl.weight that has these elements of type `dtype`; null if it needs
/// none.
mlir::DenseF64ArrayAttr unusualMagnitudes(mlir::Type dtype, llvm::ArrayRef<uint8_t> bytes);

/// The value of a parameter, made where it is first asked for: its dl.weight, one for each tensor
/// that is stored, in front of all other ops, and the exchange of its dims where it is stored
/// transposed.
class WeightValues {
public:
  WeightValues(mlir::OpBuilder &builder, const BoundWeights &weights, Diagnostics &diagnostics)
      : builder(builder), weights(weights), diagnostics(diagnostics) {}
  mlir::Value get(const Parameter &parameter);

private:
  mlir::OpBuilder &builder;
  const BoundWeights &weights;
  Diagnostics &diagnostics;
  llvm::StringMap<mlir::Value> values; // by the path of the weight that is stored
  mlir::Operation *last = nullptr;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_WEIGHTS_WEIGHTBINDING_H
