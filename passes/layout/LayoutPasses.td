//===- LayoutPasses.td - Passes that lay tensors out in memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_LAYOUT_LAYOUTPASSES_TD
#define DLC_PASSES_LAYOUT_LAYOUTPASSES_TD

include "passes/PassRecord.td"

def AssignLayouts : Pass<"assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Choose where each tensor lies in memory, so that the fewest bytes are moved";
  let description = [{
    Windows over images (convolutions, poolings) read and write channels last, where their channels
    make vectors; products, recurrences, attentions and results of the function are row-major. Every
    other op has a choice, and what it reads in another layout than it wants costs what a kernel
    takes to move it (ScheduleOracle::microsecondsToMove). An elementwise op wants its operands to
    lie as its result does; a dl.permute and a dl.reshape want them so that they are views
    (ir/analysis/view/ViewLayout.h). The choices of all values are made at once, as a partitioned
    boolean quadratic problem (passes/layout/AssignmentProblem.h). dl.convert_layout is added where
    an op must have another layout than its operand has; of equal costs, it comes late. A tensor
    whose bytes would be the same either way (one channel, or 1x1 pixels) stays row-major. Weights
    stay as stored: a target packs them as it likes. Example:
    test/passes/layout/assign-layouts.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numConverts", "converts", "Converts inserted">];
}

def SinkPermutations : Pass<"sink-permutations", "::mlir::func::FuncOp"> {
  let summary = "Move permutations that move no byte after the elementwise ops that read them";
  let description = [{
    A product, window or reduction ends with the elementwise ops that read its results at their own
    index. A dl.permute in between, as of the channels of a norm or a linear layer in a
    convolutional network, keeps them apart, although it is a view in the layouts that
    assign-layouts has chosen: f(permute(x), y) becomes permute(f(x, inverse(y))), where both
    permutations are views. Example: test/passes/layout/sink-permutations.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numSunk", "sunk", "Permutations moved after an op">];
}

#endif // DLC_PASSES_LAYOUT_LAYOUTPASSES_TD
