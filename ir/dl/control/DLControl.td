//===- DLControl.td - Branches, loops, and sizes that data say --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model with one of these ops is cut into segments before any other pass works on it
// (passes/segment): a branch, a loop and a read are steps of the flow between segments.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_DLCONTROL_TD
#define DLC_IR_DL_DLCONTROL_TD

include "ir/dl/base/DLBase.td"

def DL_ReadOp : DL_Op<"read", ""> {
  let summary = "A symbol that an element of a tensor says";
  let description = [{
    `x` has one element, an integer or a bool. From this op on, the symbol `size` has its value. The
    symbol is declared with `read`.
    ```mlir
    module attributes {dl.symbols = [#dl.symbol<"k", 0, 32 read true>]} {
      func.func @positive(%n: tensor<i64>) {
        dl.read %n as affine_map<()[s0] -> (s0)> : tensor<i64>
        return
      }
    }
    ```
  }];
  let arguments = (ins DL_BitsTensor:$x, AffineMapAttr:$size);
  let assemblyFormat = "$x `as` $size attr-dict `:` type($x)";
  let hasVerifier = 1;
  let extraClassDeclaration = schemaDeclaration # [{
    /// The position of the symbol in `dl.symbols`.
    unsigned getSymbol() {
      return ::mlir::cast<::mlir::AffineSymbolExpr>(getSize().getResult(0)).getPosition();
    }
  }];
}

def DL_IfOp : DL_Op<"if", "", [SingleBlock, NoRegionArguments, RecursiveMemoryEffects]> {
  let summary = "The results of one of two branches, of which the other does not run";
  let description = [{
    `condition` has one element. A branch may use values that are defined before the op. A dim in
    which the branches differ is a symbol with `read` in the type of the result, which says what it
    is.
    ```mlir
    func.func @either(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %y = dl.if %c : (tensor<i1>) -> tensor<4xf32> {
        %0 = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
        dl.yield %0 : tensor<4xf32>
      } else {
        dl.yield %x : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins DL_BoolTensor:$condition);
  let results = (outs Variadic<DL_AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$then_branch, SizedRegion<1>:$else_branch);
  let assemblyFormat = "$condition attr-dict `:` functional-type($condition, $results) $then_branch `else` $else_branch";
  let hasVerifier = 1;
}

def DL_WhileOp : DL_Op<"while", "",
                       [SingleBlock, AttrSizedOperandSegments, RecursiveMemoryEffects]> {
  let summary = "Steps that are repeated";
  let description = [{
    The body runs while fewer than `trips` steps were done and `condition` is true; without one of
    them, the other decides. Each is one element. The body gets the number of steps done, a
    tensor<i64>, and the carried tensors, which are `initial` in the first step. It yields whether
    the loop goes on (where there is a `condition`), the carried tensors of the next step, and the
    values that are gathered. The results are the carried tensors after the last step, then the
    gathered values of all steps along a new first dim. The body may use values that are defined
    before the op. A dim of a carried tensor that changes is a symbol with `read` in the type of the
    body's argument, and another one in that of the result.
    ```mlir
    func.func @repeated(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %y = dl.while trips(%n : tensor<i64>) (%x) : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%step: tensor<i64>, %a: tensor<4xf32>):
        %0 = dl.relu %a : (tensor<4xf32>) -> tensor<4xf32>
        dl.yield %0 : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Optional<DL_IndexTensor>:$trips, Optional<DL_BoolTensor>:$condition,
                       Variadic<DL_AnyTensor>:$initial);
  let results = (outs Variadic<DL_AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`trips` `(` $trips^ `:` type($trips) `)`)?
    (`condition` `(` $condition^ `:` type($condition) `)`)?
    `(` $initial `)` attr-dict `:` functional-type($initial, $results) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = schemaDeclaration # [{
    ::mlir::Block &getBodyBlock() { return getBody().front(); }
    ::mlir::BlockArgument getStep() { return getBodyBlock().getArgument(0); }
    /// The carried tensors in the body.
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getCarried() {
      return getBodyBlock().getArguments().drop_front();
    }
    /// What the body yields: whether it goes on, null without a condition; the next carried
    /// tensors; what is gathered.
    ::mlir::Value getGoesOn();
    ::mlir::ValueRange getNext();
    ::mlir::ValueRange getGathered();
  }];
}

def DL_CallOp : DL_Op<"call", ""> {
  let summary = "A segment of the model, on tensors of the flow";
  let description = [{
    `callee` is a module beside the flow whose function takes and returns these tensors. `numbers`
    are the symbols of the flow that give the values of those of the segment, in order.
    ```mlir
    %y = dl.call @segment0(%x) numbers [0] : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<DL_AnyTensor>:$inputs,
                       DenseI64ArrayAttr:$numbers);
  let results = (outs Variadic<DL_AnyTensor>:$results);
  let assemblyFormat = "$callee `(` $inputs `)` `numbers` $numbers attr-dict `:` functional-type($inputs, $results)";
}

#endif // DLC_IR_DL_DLCONTROL_TD
