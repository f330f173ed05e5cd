//===- Sema.h - What the declarations of a file mean -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_SEMA_H
#define DLC_FRONTEND_DL_SEMA_H

#include "frontend/dl/AST.h"
#include "frontend/dl/Evaluator.h"
#include "frontend/dl/Layers.h"

namespace dlc::frontend {

/// The range of a dim without one: `dim N`.
inline constexpr int64_t kDefaultDimMin = 1, kDefaultDimMax = 65536;

/// A symbolic dim of the module.
struct Symbol {
  llvm::StringRef name;
  llvm::SMLoc loc;
  int64_t min, max;
};

/// A weight that the model needs.
struct Parameter {
  std::string path; // "layer1.0.conv1.weight"
  llvm::StringRef leaf;
  llvm::SmallVector<int64_t> shape;
  llvm::SMLoc loc; // of its layer
};

/// A declared layer.
struct Layer {
  const LayerDecl *decl = nullptr;
  const LayerKind *kind = nullptr; // null: an error has been reported
  std::vector<Param> params;
  BoundArguments arguments;
  std::vector<Parameter> weights;
  bool isCalled = false;
};

/// A model whose declarations have been checked. Strings point into the source.
struct Model {
  const ModelDecl *decl = nullptr;
  const WeightsDecl *weights = nullptr; // may be absent
  std::vector<Symbol> symbols;
  Scope scope;
  llvm::MapVector<llvm::StringRef, Layer> layers;
  llvm::SmallVector<mlir::RankedTensorType> inputs,
      outputs; // null where an error has been reported
  /// Tensors that checkpoints may hold beside the parameters.
  std::vector<std::string> trainingState;
};

/// Checks the declarations of `file`; every error is reported. Nothing where there is no model to go on with.
std::optional<Model> analyze(const SourceFile &file, Diagnostics &diagnostics,
                             mlir::MLIRContext *context);

/// Whether a tensor of the type is small enough at the upper end of its symbols' ranges; reports at `loc` if not.
bool checkSize(mlir::RankedTensorType type, llvm::ArrayRef<Symbol> symbols, mlir::Location loc);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_SEMA_H
