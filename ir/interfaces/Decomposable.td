//===- Decomposable.td - Ops that other ops compute -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_INTERFACES_DECOMPOSABLE_TD
#define DLC_IR_INTERFACES_DECOMPOSABLE_TD

include "mlir/IR/OpBase.td"

def DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::dlc";
  let description = [{
    An op that is defined by other ops of the dialect: it may have any number of results and has no
    loops of its own. The pass decompose-ops replaces it, and the interpreter runs what it becomes.
  }];
  let methods = [InterfaceMethod<[{
        Builds the ops that compute the op's results, and returns one value for each result, of its
        very type. The op has been verified and no operand has a physical layout; `builder` stands
        before the op. Among the new ops there may be decomposable ones, but no endless chain of
        them.
      }],
                                 "::llvm::SmallVector<::mlir::Value>", "decompose",
                                 (ins "::dlc::dl::Builder &":$builder)>];
}

#endif // DLC_IR_INTERFACES_DECOMPOSABLE_TD
