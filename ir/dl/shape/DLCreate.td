//===- DLCreate.td - Tensors made of numbers alone --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLCREATE_TD
#define DLC_IR_DL_DLCREATE_TD

include "ir/dl/base/DLBase.td"

def DL_NumberAttr : AnyAttrOf<[BoolAttr, I64Attr, F64Attr]>;

class DL_CreateOp<string mnemonic, string torchSchema> : DL_DecomposedOp<mnemonic, torchSchema> {
  let results = (outs DL_Tensor:$y);
}

def DL_ZerosOp : DL_CreateOp<"zeros", "zeros(SymInt[] size, ScalarType? dtype=None)"> {
  let summary = "A tensor of zeros";
  let description = [{
    f32 without `dtype`. Becomes `dl.full`. PyTorch: `torch.zeros`.
    ```mlir
    %y = dl.zeros {size = affine_map<() -> (4, 8)>} : () -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AffineMapAttr:$size, OptionalAttr<TypeAttr>:$dtype);
}

def DL_OnesOp : DL_CreateOp<"ones", "ones(SymInt[] size, ScalarType? dtype=None)"> {
  let summary = "A tensor of ones";
  let description = [{
    f32 without `dtype`. Becomes `dl.full`. PyTorch: `torch.ones`.
    ```mlir
    %y = dl.ones {size = affine_map<() -> (4, 8)>, dtype = i32} : () -> tensor<4x8xi32>
    ```
  }];
  let arguments = (ins AffineMapAttr:$size, OptionalAttr<TypeAttr>:$dtype);
}

def DL_FilledOp : DL_CreateOp<"filled", [{full(SymInt[] size, bool fill_value, ScalarType? dtype=None)
full(SymInt[] size, int fill_value, ScalarType? dtype=None)
full(SymInt[] size, float fill_value, ScalarType? dtype=None)}]> {
  let summary = "A tensor of one number";
  let description = [{
    Without `dtype`, i64 of an integer, f32 of a float, bool of true and false. Becomes `dl.full`.
    PyTorch: `torch.full`.
    ```mlir
    %y = dl.filled {size = affine_map<() -> (4, 8)>, fill_value = 2.5 : f64} : () -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AffineMapAttr:$size, DL_NumberAttr:$fill_value,
                       OptionalAttr<TypeAttr>:$dtype);
}

def DL_ZerosLikeOp : DL_CreateOp<"zeros_like", "zeros_like(Tensor x, ScalarType? dtype=None)"> {
  let summary = "Zeros in the dims of x";
  let description = [{
    Of the dtype of x without `dtype`. Becomes `dl.full`. PyTorch: `torch.zeros_like`.
    ```mlir
    %y = dl.zeros_like %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, OptionalAttr<TypeAttr>:$dtype);
}

def DL_OnesLikeOp : DL_CreateOp<"ones_like", "ones_like(Tensor x, ScalarType? dtype=None)"> {
  let summary = "Ones in the dims of x";
  let description = [{
    Of the dtype of x without `dtype`. Becomes `dl.full`. PyTorch: `torch.ones_like`.
    ```mlir
    %y = dl.ones_like %x {dtype = i1} : (tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, OptionalAttr<TypeAttr>:$dtype);
}

def DL_FullLikeOp : DL_CreateOp<"full_like", [{full_like(Tensor x, bool fill_value, ScalarType? dtype=None)
full_like(Tensor x, int fill_value, ScalarType? dtype=None)
full_like(Tensor x, float fill_value, ScalarType? dtype=None)}]> {
  let summary = "One number in the dims of x";
  let description = [{
    Of the dtype of x without `dtype`. Becomes `dl.full`. PyTorch: `torch.full_like`.
    ```mlir
    %y = dl.full_like %x {fill_value = 7 : i64} : (tensor<4x8xi32>) -> tensor<4x8xi32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DL_NumberAttr:$fill_value, OptionalAttr<TypeAttr>:$dtype);
}

def DL_ArangeOp : DL_LoopOp<"arange", [{arange(SymInt end, ScalarType? dtype=None)
arange(SymInt start, SymInt end, int step=1, ScalarType? dtype=None)}], ["emitResult"]> {
  let summary = "The integers from start to before end, step apart";
  let description = [{
    From 0 without `start`; i64 without `dtype`. PyTorch: `torch.arange` of integers.
    ```mlir
    %y = dl.arange {start = affine_map<() -> (1)>, end = affine_map<() -> (8)>, step = 2 : i64} :
        () -> tensor<4xi64>
    ```
  }];
  let arguments = (ins AffineMapAttr:$end, OptionalAttr<AffineMapAttr>:$start,
                       DefaultValuedAttr<I64Attr, "1">:$step,
      OptionalAttr<TypeAttr>:$dtype);
  let hasVerifier = 1;
  let results = (outs DL_NumberTensor:$y);
}

def DL_FractionsOp : DL_LoopOp<"fractions", [{arange(float end, ScalarType? dtype=None)
arange(float start, float end, float step=1.0, ScalarType? dtype=None)}], ["emitResult"]> {
  let summary = "The numbers from start to before end, step apart";
  let description = [{
    ceil((end - start) / step) of them, start + i step computed in double and rounded once. f32
    without `dtype`, which is that of floats. PyTorch: `torch.arange` of floats.
    ```mlir
    %y = dl.fractions {start = 0.5 : f64, end = 2.0 : f64, step = 0.25 : f64} : () -> tensor<6xf32>
    ```
  }];
  let arguments = (ins F64Attr:$end, DefaultValuedAttr<F64Attr, "0.0">:$start,
                       DefaultValuedAttr<F64Attr, "1.0">:$step,
      OptionalAttr<TypeAttr>:$dtype);
  let results = (outs DL_FloatTensor:$y);
}

def DL_LinspaceOp : DL_LoopOp<"linspace",
    "linspace(float start, float end, int steps, ScalarType? dtype=None)", ["emitResult"]> {
  let summary = "So many numbers from start to end, equally far apart";
  let description = [{
    Both ends are among them, and the halves mirror one another; computed in double and rounded
    once. f32 without `dtype`, which is that of floats. PyTorch: `torch.linspace`.
    ```mlir
    %y = dl.linspace {start = -1.0 : f64, end = 1.0 : f64, steps = 5 : i64} : () -> tensor<5xf32>
    ```
  }];
  let arguments = (ins F64Attr:$start, F64Attr:$end, I64Attr:$steps, OptionalAttr<TypeAttr>:$dtype);
  let results = (outs DL_FloatTensor:$y);
}

def DL_ScalarTensorOp : DL_LoopOp<"scalar_tensor",
    "scalar_tensor(SymInt s, ScalarType? dtype=None)", ["emitResult"]> {
  let summary = "A dim as a tensor without dims";
  let description = [{
    What a dim becomes that meets tensors (`x / size(x, 1)`). f32 without `dtype`. PyTorch:
    `torch.scalar_tensor`.
    ```mlir
    %y = dl.scalar_tensor {s = affine_map<() -> (8)>, dtype = i64} : () -> tensor<i64>
    ```
  }];
  let arguments = (ins AffineMapAttr:$s, OptionalAttr<TypeAttr>:$dtype);
  let results = (outs DL_NumberTensor:$y);
}

def DL_EyeOp : DL_LoopOp<"eye", "eye(SymInt n, SymInt? m=None, ScalarType? dtype=None)",
                         ["emitResult"]> {
  let summary = "Ones on the diagonal of a matrix, zeros elsewhere";
  let description = [{
    n rows and m columns, n where m is left out; f32 without `dtype`. PyTorch: `torch.eye`.
    ```mlir
    %y = dl.eye {n = affine_map<() -> (4)>} : () -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins AffineMapAttr:$n, OptionalAttr<AffineMapAttr>:$m,
                       OptionalAttr<TypeAttr>:$dtype);
  let results = (outs DL_Tensor:$y);
}

#endif // DLC_IR_DL_DLCREATE_TD
