//===- SegmentPasses.td - Cutting a model where its data decide what runs ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_SEGMENT_SEGMENTPASSES_TD
#define DLC_PASSES_SEGMENT_SEGMENTPASSES_TD

include "passes/PassRecord.td"

def CutSegments : Pass<"cut-segments", "::mlir::ModuleOp"> {
  let summary = "Cut a model with branches, loops and reads into segments";
  let description = [{
    Ops that no branch, loop or read separates become the function of a module of their own, a
    segment, and the model's function keeps calls of segments and these steps. An op belongs to the
    first segment that can compute it. What depends on weights and constants alone is computed by
    each segment that reads it. A segment has the symbols that its dims name. A model without steps
    stays as it is. Example: test/passes/segment/cut-segments.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect", "::mlir::func::FuncDialect"];
  let statistics = [Statistic<"numSegments", "segments", "Segments made">];
}

#endif // DLC_PASSES_SEGMENT_SEGMENTPASSES_TD
