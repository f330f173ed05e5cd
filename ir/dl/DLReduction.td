//===- DLReduction.td - Reductions over whole dims, and what normalizes by them ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLREDUCTION_TD
#define DLC_IR_DL_DLREDUCTION_TD

include "ir/dl/DLBase.td"

class DL_ReductionOp<string mnemonic, string torchSchema, list<string> ownMethods>
    : DL_LoopOp<mnemonic, torchSchema, ownMethods>;

def DL_SumOp : DL_ReductionOp<"sum", "sum(Tensor x, int[] dim=[], bool keepdim=False)", ["emitTerm"]> {
  let summary = "Sum over dims";
  let description = [{
    Over all dims where `dim` is empty. Integers and bools are summed as i64. PyTorch: `torch.sum`.
    ```mlir
    %y = dl.sum %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_NumberTensor:$y);
}
def DL_MeanOp : DL_ReductionOp<"mean", "mean(Tensor x, int[] dim=[], bool keepdim=False)", ["emitTerm", "emitResult"]> {
  let summary = "Mean over dims";
  let description = [{
    Over all dims where `dim` is empty; NaN over no elements. PyTorch: `torch.mean`.
    ```mlir
    %y = dl.mean %x {dim = array<i64: 2, 3>} : (tensor<4x8x7x7xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_FloatTensor:$y);
}
def DL_AmaxOp : DL_ReductionOp<"amax", "amax(Tensor x, int[] dim=[], bool keepdim=False)\nmax(Tensor x)", ["emitTerm"]> {
  let summary = "Largest value over dims";
  let description = [{
    Over all dims where `dim` is empty; NaN wins. PyTorch: `torch.amax`, `torch.max` of one tensor.
    ```mlir
    %y = dl.amax %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_NumberTensor:$y);
}
def DL_ArgmaxOp : DL_ReductionOp<"argmax", "argmax(Tensor x, int? dim=None, bool keepdim=False)", ["emitTerm"]> {
  let summary = "Position of the largest value";
  let description = [{
    The first one where several are equal, the first NaN before all; without `dim`, the position in the flattened tensor.
    PyTorch: `torch.argmax`.
    ```mlir
    %y = dl.argmax %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, OptionalAttr<I64Attr>:$dim, DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def DL_MaxDimOp : DL_DecomposedOp<"max_dim", "max(Tensor x, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"> {
  let summary = "Largest values along a dim and where they stand";
  let description = [{
    Becomes `dl.amax` and `dl.argmax`: of equal values the first counts, and NaN as the largest. PyTorch: `torch.max(x, dim)`.
    ```mlir
    %values, %indices = dl.max_dim %x {dim = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>)
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim, DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_NumberTensor:$values, RankedTensorOf<[I64]>:$indices);
}

def DL_SoftmaxOp : DL_LoopOp<"softmax", "softmax(Tensor x, int dim)", ["emitTerm", "emitResult"]> {
  let summary = "exp(x) normalized to sum 1 along a dim";
  let description = [{
    exp(x - m) / sum(exp(x - m)) with m the largest value along `dim`. PyTorch: `torch.softmax`.
    ```mlir
    %y = dl.softmax %x {dim = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, I64Attr:$dim);
  let results = (outs DL_FloatTensor:$y);
}
def DL_LogSoftmaxOp : DL_LoopOp<"log_softmax", "log_softmax(Tensor x, int dim)", ["emitTerm", "emitResult"]> {
  let summary = "Logarithm of the softmax";
  let description = [{
    x - m - log(sum(exp(x - m))) with m the largest value along `dim`. PyTorch: `torch.log_softmax`.
    ```mlir
    %y = dl.log_softmax %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, I64Attr:$dim);
  let results = (outs DL_FloatTensor:$y);
}

def DL_BatchNormOp : DL_LoopOp<"batch_norm",
    "batch_norm(Tensor x, Tensor running_mean, Tensor running_var, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)",
    ["emitResult"]> {
  let summary = "Normalization of each channel by stored statistics";
  let description = [{
    (x - running_mean) / sqrt(running_var + eps) * weight + bias, statistics indexed by dim 1 of x; weight and bias are
    given together or not at all. Inference only. PyTorch: `torch.nn.functional.batch_norm(training=False)`.
    ```mlir
    %y = dl.batch_norm %x, %mean, %var, %w, %b : (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>,
        tensor<16xf32>, tensor<16xf32>) -> tensor<8x16x4x4xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$running_mean, DL_FloatTensor:$running_var,
      Variadic<DL_FloatTensor>:$affine, DefaultValuedAttr<F64Attr, "1e-05">:$eps);
  let results = (outs DL_FloatTensor:$y);
}

#endif // DLC_IR_DL_DLREDUCTION_TD
