//===- DLShape.td - Ops that move elements without computing on them --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLSHAPE_TD
#define DLC_IR_DL_DLSHAPE_TD

include "ir/dl/base/DLBase.td"

/// An op whose result at an index is one element of its operand.
class DL_MoveOp<string mnemonic, string torchSchema, list<Trait> traits = []>
    : DL_LoopOp<mnemonic, torchSchema, ["emitResult"], traits> {
  let precision = "follow";
  let results = (outs DL_AnyTensor:$y);
  let extraClassDefinition = compatibleDefinition # [{
    ::mlir::Value $cppClass::emitResult(::dlc::BodyContext &, ::mlir::ValueRange args,
                                        ::mlir::ValueRange) {
      return args.front();
    }
  }];
}

def DL_BroadcastOp : DL_Op<"broadcast", "",
                           [Pure, DeclareOpInterfaceMethods<LoopNestOpInterface, ["emitResult"]>]> {
  let summary = "Repetition along dims of size 1 and new leading dims";
  let precision = "follow";
  let description = [{
    The language and the importers insert it, so that elementwise ops see equal shapes. PyTorch:
    `Tensor.expand`.
    ```mlir
    %y = dl.broadcast %x : (tensor<8x1xf32>) -> tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x);
  let results = (outs DL_AnyTensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def DL_ReshapeOp : DL_MoveOp<"reshape",
                             "reshape(Tensor x, SymInt[] shape)\nview(Tensor x, SymInt[] shape)"> {
  let summary = "The same elements in row-major order under other dims";
  let description = [{
    One dim of `shape` may be -1: it takes what is left. Where the number of elements agrees for
    some sizes only, it is checked when shapes are bound. PyTorch: `torch.reshape`.
    ```mlir
    %y = dl.reshape %x {shape = affine_map<() -> (4, -1)>} : (tensor<4x8x2xf32>) -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, AffineMapAttr:$shape);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def DL_ExpectDimsOp : DL_MoveOp<"expect_dims", "expect_dims(Tensor x, SymInt[] dims)"> {
  let summary = "x under dims that its own are expected to equal";
  let description = [{
    -1 keeps a dim. Dims that differ in form, such as N and M, are compared when shapes are bound:
    the runtime refuses sizes for which they differ. Dims that differ for all sizes are an error.
    ```mlir
    %y = dl.expect_dims %x {dims = affine_map<() -> (-1, 8)>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, AffineMapAttr:$dims);
  let hasFolder = 1;
}

def DL_FlattenOp : DL_MoveOp<"flatten", "flatten(Tensor x, int start_dim=0, int end_dim=-1)"> {
  let summary = "Dims start_dim to end_dim merged into one";
  let description = [{
    Becomes `dl.reshape`. PyTorch: `torch.flatten`.
    ```mlir
    %y = dl.flatten %x {start_dim = 1 : i64} : (tensor<4x8x2xf32>) -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DefaultValuedAttr<I64Attr, "0">:$start_dim,
      DefaultValuedAttr<I64Attr, "-1">:$end_dim);
  let hasCanonicalizer = 1;
}

def DL_PermuteOp : DL_MoveOp<"permute", "permute(Tensor x, int[] dims)"> {
  let summary = "Dims in another order";
  let description = [{
    Dim i of the result is dim dims[i] of x. PyTorch: `torch.permute`.
    ```mlir
    %y = dl.permute %x {dims = array<i64: 0, 2, 1>} : (tensor<4x8x2xf32>) -> tensor<4x2x8xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DenseI64ArrayAttr:$dims);
  let hasFolder = 1;
}

def DL_TransposeOp : DL_MoveOp<"transpose", [{transpose(Tensor x, int dim0, int dim1)
swapaxes(Tensor x, int dim0, int dim1)
swapdims(Tensor x, int dim0, int dim1)}]> {
  let summary = "Two dims exchanged";
  let description = [{
    Becomes `dl.permute`. PyTorch: `torch.transpose`, `torch.swapaxes`, `torch.swapdims`.
    ```mlir
    %y = dl.transpose %x {dim0 = 0 : i64, dim1 = -1 : i64} : (tensor<4x8x2xf32>) ->
        tensor<2x8x4xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$dim0, I64Attr:$dim1);
  let hasCanonicalizer = 1;
}

def DL_DropoutOp : DL_MoveOp<"dropout",
    "dropout(Tensor x, float p=0.5, False training=False, bool inplace=False, str function='dropout')"> {
  let summary = "Nothing, at inference";
  let description = [{
    Folds to its operand. `function` names what it is in training, with the argument p: a function
    of the language that draws random numbers, or a layer that dlc does not train. PyTorch:
    `torch.nn.functional.dropout(training=False)`.
    ```mlir
    %y = dl.dropout %x {p = 0.25 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DefaultValuedAttr<F64Attr, "0.5">:$p,
                       DefaultValuedStrAttr<StrAttr, "dropout">:$function);
  let hasFolder = 1;
}

#endif // DLC_IR_DL_DLSHAPE_TD
