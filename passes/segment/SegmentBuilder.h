//===- SegmentBuilder.h - Ops of a model as a module of their own -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_SEGMENT_SEGMENTBUILDER_H
#define DLC_PASSES_SEGMENT_SEGMENTBUILDER_H

#include "ir/dl/DLDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace dlc {

/// Moves ops of a model into segments, modules inside the model's.
class SegmentBuilder {
public:
  /// `module` is the model's.
  explicit SegmentBuilder(mlir::ModuleOp module);

  /// Whether `value` depends on weights and numbers alone. Each segment that reads it computes it.
  bool isConstant(mlir::Value value);

  /// Makes a segment of `ops`, which are of one block, and a call of it at `builder`. Its results
  /// are what other ops read of `ops`, and the tensors of `constants`, which `made` gets.
  mlir::LogicalResult build(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops,
                            llvm::ArrayRef<mlir::Value> constants,
                            llvm::DenseMap<mlir::Value, mlir::Value> &made);
  /// How many symbols a segment of `ops` has.
  unsigned countSymbols(llvm::ArrayRef<mlir::Operation *> ops);
  /// Erases the ops of `block` that segments compute now.
  void eraseOriginals(mlir::Block &block);
  unsigned count() const { return number; }

private:
  mlir::LogicalResult declareSymbols(mlir::ModuleOp segment, mlir::Location loc,
                                     llvm::SmallVectorImpl<int64_t> &numbers);

  mlir::ModuleOp module;
  llvm::SmallVector<dl::SymbolAttr> symbols;
  llvm::DenseMap<mlir::Value, bool> constants;
  unsigned number = 0; // of segments
};

} // namespace dlc

#endif // DLC_PASSES_SEGMENT_SEGMENTBUILDER_H
