//===- Lines.td - What an op computes line by line along one dim ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_INTERFACES_LINES_TD
#define DLC_IR_INTERFACES_LINES_TD

include "mlir/IR/OpBase.td"

def LineOpInterface : OpInterface<"LineOpInterface"> {
  let cppNamespace = "::dlc";
  let description = [{
    An op of one result that is computed by an algorithm over each line, the elements along one dim,
    as Lines.h says: what loops over terms (LoopNest.h) would do in the square of the time, or not
    at all.
  }];
  let methods = [InterfaceMethod<"Which algorithm, along which dim.", "::dlc::LineWork",
                                 "getLineWork">];
}

#endif // DLC_IR_INTERFACES_LINES_TD
