//===- DifferentiatePasses.td - Derivatives ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_DIFFERENTIATE_DIFFERENTIATEPASSES_TD
#define DLC_PASSES_DIFFERENTIATE_DIFFERENTIATEPASSES_TD

include "passes/PassRecord.td"

def Differentiate : Pass<"differentiate", "::mlir::func::FuncOp"> {
  let summary = "Replace what a function returns by the derivatives of its first result";
  let description = [{
    The derivatives of the sum of the first result's elements by each argument of floats, in the
    order of the arguments, in reverse mode by the rules beside the ops (ir/dl/gradient). An
    argument that the result does not depend on has zeros. An op on the way without a rule is an
    error at its line. Example: test/passes/differentiate/differentiate.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numOps", "ops", "Ops that were differentiated">];
}

#endif // DLC_PASSES_DIFFERENTIATE_DIFFERENTIATEPASSES_TD
