//===- Lower.h - A model's forward to a dl function ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_LOWER_LOWER_H
#define DLC_FRONTEND_DL_LOWER_LOWER_H

#include "frontend/dl/evaluate/Sema.h"

#include "mlir/IR/BuiltinOps.h"

namespace dlc::frontend {

/// What is known of a weight's bytes.
struct BoundWeight {
  std::string path; // of the weight whose bytes these are: another one's where it is tied
  mlir::Type dtype;
  llvm::SmallVector<int64_t> shape; // as stored
  bool isTransposed = false;        // its two dims are to be exchanged
  std::string file;                 // empty: not bound to bytes
  std::string source;               // its name there
  uint64_t offset = 0;              // ~0: packed in the file
  std::string hash;
  mlir::DenseF64ArrayAttr magnitudes; // kMagnitudes of its dl.weight; null where it has none
};
/// By path. Weights that are absent have been reported, and are f32.
using BoundWeights = llvm::StringMap<BoundWeight>;

/// How sizes that the data say enter a model.
struct CountedSizes {
  bool areRead = false; // as the model runs, in place of counted symbols (OpEmitter::readsCounts)
  bool exist = false;   // set by lowerForward: the model has counted symbols
};

/// Adds `func.func @forward` to `module` and sets its symbols. Every error is reported; the module
/// is of use where there was none. Marks the layers that are called.
void lowerForward(Model &model, const BoundWeights &weights, Diagnostics &diagnostics,
                  mlir::ModuleOp module, CountedSizes &counted);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LOWER_LOWER_H
