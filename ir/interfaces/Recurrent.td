//===- Recurrent.td - What an op computes step by step along time -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_INTERFACES_RECURRENT_TD
#define DLC_IR_INTERFACES_RECURRENT_TD

include "mlir/IR/OpBase.td"

def RecurrentOpInterface : OpInterface<"RecurrentOpInterface"> {
  let cppNamespace = "::dlc";
  let description = [{
    An op that is computed by the steps of Recurrent.h. Its body builds arith and math ops on
    scalars or on vectors of equal length: the values that it gets decide.
  }];
  let methods = [InterfaceMethod<"The operands by their parts, the extents and the direction.",
                                 "::dlc::Recurrence", "getRecurrence">,
                 InterfaceMethod<[{
        One step of one hidden unit: `x` and `h` are the gates' pre-activations, `states` the unit's
        states before the step, all of compute type. Gives the states after it, the first being the
        unit's output (before a projection).
      }],
                                 "::llvm::SmallVector<::mlir::Value>", "emitStep",
                                 (ins "::dlc::BodyContext &":$context, "::mlir::ValueRange":$x,
                                     "::mlir::ValueRange":$h, "::mlir::ValueRange":$states)>,
  ];
}

#endif // DLC_IR_INTERFACES_RECURRENT_TD
