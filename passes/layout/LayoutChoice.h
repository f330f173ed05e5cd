//===- LayoutChoice.h - The layouts that move the fewest bytes ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_LAYOUT_LAYOUTCHOICE_H
#define DLC_PASSES_LAYOUT_LAYOUTCHOICE_H

#include "ir/analysis/FusionLegality.h"
#include "passes/layout/AssignmentProblem.h"
#include "passes/layout/LayoutRules.h"

#include "llvm/ADT/MapVector.h"

namespace dlc {

/// Chooses a layout for each value of a function that is computed of its arguments. An op that
/// reads an operand in another layout than it wants (LayoutRules.h) pays what a kernel would take
/// that writes the operand so. All values are decided at once.
class LayoutChoice {
public:
  LayoutChoice(mlir::Block &block, const ScheduleOracle &oracle);

  /// Row-major where nothing was chosen.
  dl::Layout layoutOf(mlir::Value value) const { return chosen.lookup(value); }
  /// The rule of an op of the block; null if it computes something of weights alone.
  const LayoutRule *ruleOf(mlir::Operation *op) const;

private:
  using Layouts = llvm::SmallVector<dl::Layout, 4>;

  void findRules(mlir::Block &block);
  void collectForward();
  void collectBackward();
  void decide();
  void addRead(mlir::OpOperand &operand, const LayoutRule &rule);
  /// Adds what a reader or an operand wants to the candidates of `value`, which is free.
  void add(mlir::Value value, const dl::Layout &layout);
  llvm::ArrayRef<dl::Layout> candidatesOf(mlir::Value value) const;
  double microsecondsToMove(mlir::Value value) const;

  const ScheduleOracle &oracle;
  llvm::SmallVector<dl::Range> symbols;
  llvm::MapVector<mlir::Operation *, LayoutRule> rules;
  llvm::DenseMap<mlir::Value, Layouts> candidates; // the preferred one first
  llvm::DenseMap<mlir::Value, unsigned> variables; // of values with several candidates
  llvm::DenseMap<mlir::Value, dl::Layout> chosen;
  AssignmentProblem problem;
};

} // namespace dlc

#endif // DLC_PASSES_LAYOUT_LAYOUTCHOICE_H
