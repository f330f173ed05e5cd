//===- DLStructure.td - Weights, constants, and what passes insert ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLSTRUCTURE_TD
#define DLC_IR_DL_DLSTRUCTURE_TD

include "ir/dl/base/DLBase.td"

def DL_WeightOp : DL_Op<"weight", "", [Pure]> {
  let summary = "A parameter of the model, bound to bytes of a file";
  let description = [{
    `name` is the parameter's path in the state_dict, kept to the end. The bytes never enter the IR:
    `file` holds them row-major from `offset` on, and `hash` is the XXH3-128 of them in hex. The
    offset -1 says that they are packed there (npz), to be found by name alone. `source` is the name
    in the file where that is not `name`. Without `file` the model is not bound to weights.
    ```mlir
    %w = dl.weight "conv1.weight" {file = "mnist.safetensors", offset = 4096 :
        i64, hash = "00"} : tensor<32x1x3x3xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<StrAttr>:$file,
                       DefaultValuedAttr<I64Attr, "0">:$offset,
      DefaultValuedStrAttr<StrAttr, "">:$hash, OptionalAttr<StrAttr>:$source);
  let results = (outs DL_AnyTensor:$y);
  let assemblyFormat = "$name attr-dict `:` type($y)";
}

def DL_FullOp : DL_Op<"full", "",
                      [Pure, ConstantLike,
                       DeclareOpInterfaceMethods<LoopNestOpInterface, ["emitResult"]>]> {
  let summary = "A tensor of one repeated number";
  let description = [{
    What the numbers of the language become. `fill` has the compute type of the elements. PyTorch:
    `torch.full`.
    ```mlir
    %y = dl.full 5.000000e-01 : f32 -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$fill);
  let results = (outs DL_AnyTensor:$y);
  let assemblyFormat = "$fill attr-dict `->` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def DL_ConvertLayoutOp : DL_Op<"convert_layout", "",
    [Pure, DeclareOpInterfaceMethods<LoopNestOpInterface, ["emitResult"]>]> {
  let summary = "The same tensor in another physical layout";
  let description = [{
    Inserted by the layout phase, which says `why`, and by schedules that want packed weights; users
    never write it.
    ```mlir
    %y = dl.convert_layout %x : (tensor<8x3x4x4xf32>) ->
        tensor<8x3x4x4xf32, #dl.t<[8, 3, 4, 4], order = [0, 2, 3, 1]>>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, OptionalAttr<DL_ConvertedAttr>:$why);
  let results = (outs DL_AnyTensor:$y);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$x),
                            [{ build($_builder, $_state, type, x, /*why=*/{}); }]>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def DL_FusionOp : DL_Op<"fusion", "", [IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">,
                                       RecursiveMemoryEffects]> {
  let summary = "Ops that become one kernel";
  let description = [{
    Made by the fuse phase. At most one op of the body, its root, has stages (LoopNest.h): the ops
    before it are read through, the ops after it are applied to each of its results. A dl.attention
    is a root as well. Two ops with stages are allowed where they are a product and the pooling of
    its results (ir/analysis/PooledProduct.h), which gives one result, and any number where they
    reduce the same `rows` (ir/analysis/RowKernel.h). A recurrent op and one that
    works line by line are in a fusion of their own, with their own results. Several recurrent ops
    share one where they run side by side (ir/analysis/SideBySide.h), or are the layers of a stack
    with the linear products between them (ir/analysis/StackedLayers.h).

    A fusion with several results stores each of them at one index: they have the same dims and the
    same layout. The first one is what the last op computes, the others are what ops before it read
    too. A fusion with `rows` stores elements of rows and values of which there is one a row.

    With `in_place` the only result is a dl.update_slice of an input, which is a state and is read
    by nothing else in the body: the kernel writes what src reaches to where the state lies.
    Whatever else reads the old value comes before. `copied` says of a dl.update_slice of a state
    why it is not done in place.

    `edges` has an entry for each input that another fusion writes.
    ```mlir
    %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%a: tensor<4x8xf32>):
      %0 = dl.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %1 = dl.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
      dl.yield %1 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<DL_AnyTensor>:$inputs, OptionalAttr<DL_FusionEdges>:$edges,
      UnitAttr:$in_place, OptionalAttr<StrAttr>:$copied, UnitAttr:$rows);
  let results = (outs Variadic<DL_AnyTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
  let extraClassDeclaration = schemaDeclaration # [{
    /// The first op with stages; null where the fusion is a map.
    ::dlc::LoopNestOpInterface getRoot();
    /// The input that a fusion `in_place` updates.
    ::mlir::Value getUpdatedInput();
    ::mlir::Block &getBodyBlock() { return getBody().front(); }
  }];
  let hasVerifier = 1;
}

def DL_YieldOp : DL_Op<"yield", "",
                       [Pure, Terminator,
                        ParentOneOf<["AttentionOp", "FusionOp", "IfOp", "WhileOp",
                                     "::dlc::dlx::KernelOp"]>]> {
  let summary = "The results of a region: of an attention, a fusion, a branch, a step of a loop or a kernel's meaning";
  let description = [{
    ```mlir
    dl.yield %1 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<DL_AnyTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

#endif // DLC_IR_DL_DLSTRUCTURE_TD
