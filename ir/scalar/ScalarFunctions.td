//===- ScalarFunctions.td - Functions of one number that upstream's math dialect lacks --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function is here, and not a formula of others, where one expansion (MathExpansion.cpp) is
// shorter or more exact than the formula. The interpreter computes it in double precision by the
// formula.
#ifndef DLC_IR_SCALAR_SCALARFUNCTIONS_TD
#define DLC_IR_SCALAR_SCALARFUNCTIONS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def DLS_Dialect : Dialect {
  let name = "dls";
  let cppNamespace = "::dlc::dls";
  let summary = "Functions of one number that upstream's math dialect lacks";
  let description = [{
    Bodies of dl ops build them beside arith and math ops. ScalarOps.def lists all three.
  }];
}

class DLS_UnaryOp<string mnemonic, Type type>
    : Op<DLS_Dialect, mnemonic, [Pure, SameOperandsAndResultType]> {
  let arguments = (ins type:$x);
  let results = (outs type:$y);
  let assemblyFormat = "$x attr-dict `:` type($y)";
}
def DLS_Float : AnyTypeOf<[F32, F64, VectorOfAnyRankOf<[F32, F64]>]>;
def DLS_Single : AnyTypeOf<[F32, VectorOfAnyRankOf<[F32]>]>;

def DLS_GeluOp : DLS_UnaryOp<"gelu", DLS_Float> {
  let summary = "A number times the normal distribution function of it";
  let description = [{
    x / 2 erfc(-x / sqrt(2)). Infinity stays, and minus infinity gives 0, the limit.
    ```mlir
    %y = dls.gelu %x : f32
    ```
  }];
}
def DLS_SigmoidOp : DLS_UnaryOp<"sigmoid", DLS_Float> {
  let summary = "Logistic function";
  let description = [{
    1 / (1 + exp(-x)).
    ```mlir
    %y = dls.sigmoid %x : f32
    ```
  }];
}
def DLS_ReciprocalOp : DLS_UnaryOp<"reciprocal", DLS_Single> {
  let summary = "1 / x for 1 <= x <= 2^126";
  let description = [{
    Rounded as the division; NaN stays. Expansions build it: a GPU divides numbers of this range
    without the tests and the branch for others.
    ```mlir
    %y = dls.reciprocal %x : f32
    ```
  }];
}

#endif // DLC_IR_SCALAR_SCALARFUNCTIONS_TD
