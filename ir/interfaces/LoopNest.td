//===- LoopNest.td - What an op computes, as loops over its result ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_INTERFACES_LOOPNEST_TD
#define DLC_IR_INTERFACES_LOOPNEST_TD

include "mlir/IR/OpBase.td"

def LoopNestOpInterface : OpInterface<"LoopNestOpInterface"> {
  let cppNamespace = "::dlc";
  let description = [{
    An op with one result that is computed by the loops of LoopNest.h. The bodies build arith and
    math ops on scalars or on vectors of equal length: the values that they get decide.
  }];
  let methods = [InterfaceMethod<"The loops, over the logical dims of the operands and the result.",
                                 "::dlc::LoopNest", "getLoopNest">,
                 InterfaceMethod<[{
        The term of `stage`: `args` are the values read by LoopNest::terms, `accs` the finished
        accumulators of the stages before, all of compute type. Maps have none.
      }],
                                 "::mlir::Value", "emitTerm",
                                 (ins "::dlc::BodyContext &":$context, "unsigned":$stage,
                                     "::mlir::ValueRange":$args, "::mlir::ValueRange":$accs),
                                 [{}],
                                 [{ llvm_unreachable("an op with stages defines emitTerm"); }]>,
                 InterfaceMethod<[{
        The result: `args` are the values read by LoopNest::results, `accs` the finished
        accumulators. By default the only accumulator.
      }],
                                 "::mlir::Value", "emitResult",
                                 (ins "::dlc::BodyContext &":$context, "::mlir::ValueRange":$args,
                                     "::mlir::ValueRange":$accs),
                                 [{}], [{ return accs.front(); }]>,
                 InterfaceMethod<[{
        The index, of type index, in `dim` (one of Access::computed) at which access number `access`
        of LoopNest::terms or ::results reads. `earlier` are the values of the accesses before it:
        scalars.
      }],
                                 "::mlir::Value", "emitCoordinate",
                                 (ins "::dlc::BodyContext &":$context, "bool":$isTerm,
                                      "unsigned":$access,
                                     "unsigned":$dim, "::mlir::ValueRange":$earlier),
                                 [{}],
                                 [{ llvm_unreachable("an op with computed indices defines emitCoordinate"); }]>,
                 InterfaceMethod<[{
        The indices of reduction loop `loop` (one of LoopNest::spanned) outside of which the terms
        of every stage are neutral, all within the loop; `args` are the scalars read by
        LoopNest::spanReads. A schedule may run all of the loop as well.
      }],
                                 "::dlc::Span", "emitSpan",
                                 (ins "::dlc::BodyContext &":$context, "unsigned":$loop,
                                     "::mlir::ValueRange":$args),
                                 [{}],
                                 [{ llvm_unreachable("an op with spans defines emitSpan"); }]>,
  ];
}

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::dlc";
  let description = "An op whose result at an index is a scalar function of its operands there.";
  let methods = [InterfaceMethod<[{
        Builds the function on `args`, scalars or vectors of the operands' compute types.
      }],
                                 "::mlir::Value", "emitScalar",
                                 (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
                                     "::mlir::ValueRange":$args)>,
  ];
}

#endif // DLC_IR_INTERFACES_LOOPNEST_TD
