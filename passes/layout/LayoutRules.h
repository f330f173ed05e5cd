//===- LayoutRules.h - In which layout an op wants what it reads --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These rules tell assign-layouts how ops read their operands. They follow from the loops of the
// ops: no rule names an op except the two that are views (ir/analysis/view/ViewLayout.h).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_LAYOUT_LAYOUTRULES_H
#define DLC_PASSES_LAYOUT_LAYOUTRULES_H

#include "ir/interfaces/ScheduleOracle.h"

#include "llvm/ADT/SmallVector.h"

namespace dlc {

/// How an op reads one of its operands.
struct OperandRule {
  enum Kind {
    anything,   // in whatever layout, equally fast
    fixed,      // in `layout`; a convert comes before the op where it lies otherwise
    likeResult, // faster where it lies as the result does
    viewed,     // as layoutOfOperand says: then the result has its bytes
  };
  Kind kind = anything;
  dl::Layout layout = {};
};

struct LayoutRule {
  llvm::SmallVector<OperandRule, 2> operands;
  /// Where the results have to lie; nullopt: in any layout.
  std::optional<dl::Layout> result;
  /// The result may be row-major as well. Operands `likeResult` then have to lie as it does.
  bool mayBeRowMajor = false;
  /// A map, which may write any layout that a reader wants.
  bool isMap = false;

  /// The canonical layout in which `op`, which has this rule, wants its operand `number` where its
  /// result lies in `result`; nullopt if any will do.
  std::optional<dl::Layout> wanted(mlir::Operation *op, unsigned number,
                                   const dl::Layout &result) const;
  /// The canonical layout of the result of `op` that its operand `number`, in `operand`, asks for;
  /// nullopt if it asks for none.
  std::optional<dl::Layout> carried(mlir::Operation *op, unsigned number,
                                    const dl::Layout &operand) const;
};

/// The rule of `op`, which computes something of the model's inputs.
LayoutRule layoutRuleOf(mlir::Operation *op, const ScheduleOracle &oracle);

} // namespace dlc

#endif // DLC_PASSES_LAYOUT_LAYOUTRULES_H
