//===- DLReduction.td - Reductions over whole dims, and softmax -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLREDUCTION_TD
#define DLC_IR_DL_DLREDUCTION_TD

include "ir/dl/base/DLBase.td"

class DL_ReductionOp<string mnemonic, string torchSchema, list<string> ownMethods>
    : DL_LoopOp<mnemonic, torchSchema, ownMethods>;

def DL_SumOp : DL_ReductionOp<"sum", 
    "sum(Tensor x, int[] dim=[], bool keepdim=False, ScalarType? dtype=None)", ["emitTerm"]> {
  let summary = "Sum over dims";
  let description = [{
    Over all dims where `dim` is empty. Integers and bools are summed as i64. With `dtype`, each
    element is converted first. PyTorch: `torch.sum`.
    ```mlir
    %y = dl.sum %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim, OptionalAttr<TypeAttr>:$dtype);
  let results = (outs DL_NumberTensor:$y);
}
def DL_MeanOp : DL_ReductionOp<"mean", 
    "mean(Tensor x, int[] dim=[], bool keepdim=False, ScalarType? dtype=None)",
    ["emitTerm", "emitResult"]> {
  let precision = "follow";
  let summary = "Mean over dims";
  let description = [{
    Over all dims where `dim` is empty; NaN over no elements. With `dtype`, each element is
    converted first; integers need it. PyTorch: `torch.mean`.
    ```mlir
    %y = dl.mean %x {dim = array<i64: 2, 3>} : (tensor<4x8x7x7xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim, OptionalAttr<TypeAttr>:$dtype);
  let results = (outs DL_FloatTensor:$y);
}
def DL_AmaxOp : DL_ReductionOp<"amax",
                               "amax(Tensor x, int[] dim=[], bool keepdim=False)\nmax(Tensor x)", ["emitTerm"]> {
  let precision = "follow";
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
def DL_ArgmaxOp : DL_ReductionOp<"argmax", "argmax(Tensor x, int? dim=None, bool keepdim=False)",
    ["emitTerm"]> {
  let precision = "follow";
  let summary = "Position of the largest value";
  let onnx = "ArgMax(x, dim=axis:0, keepdim=keepdims:1, !select_last_index=0)";
  let description = [{
    The first one where several are equal, the first NaN before all; without `dim`, the position in
    the flattened tensor. PyTorch: `torch.argmax`.
    ```mlir
    %y = dl.argmax %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, OptionalAttr<I64Attr>:$dim,
                       DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def DL_ArgminOp : DL_ReductionOp<"argmin", "argmin(Tensor x, int? dim=None, bool keepdim=False)",
    ["emitTerm"]> {
  let precision = "follow";
  let summary = "Position of the smallest value";
  let onnx = "ArgMin(x, dim=axis:0, keepdim=keepdims:1, !select_last_index=0)";
  let description = [{
    The first one where several are equal, the first NaN before all; without `dim`, the position in
    the flattened tensor. PyTorch: `torch.argmin`.
    ```mlir
    %y = dl.argmin %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, OptionalAttr<I64Attr>:$dim,
                       DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def DL_MaxDimOp : DL_DecomposedOp<"max_dim",
    "max(Tensor x, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"> {
  let summary = "Largest values along a dim and where they stand";
  let description = [{
    Becomes `dl.amax` and `dl.argmax`: of equal values the first counts, and NaN as the largest.
    PyTorch: `torch.max(x, dim)`.
    ```mlir
    %values, %indices = dl.max_dim %x {dim = 1 : i64} : (tensor<4x8xf32>) ->
        (tensor<4xf32>, tensor<4xi64>)
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim,
                       DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_NumberTensor:$values, RankedTensorOf<[I64]>:$indices);
}
def DL_MinDimOp : DL_DecomposedOp<"min_dim",
    "min(Tensor x, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"> {
  let summary = "Smallest values along a dim and where they stand";
  let description = [{
    Becomes `dl.amin` and `dl.argmin`: of equal values the first counts, and NaN before all.
    PyTorch: `torch.min(x, dim)`.
    ```mlir
    %values, %indices = dl.min_dim %x {dim = 1 : i64} : (tensor<4x8xf32>) ->
        (tensor<4xf32>, tensor<4xi64>)
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim,
                       DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_NumberTensor:$values, RankedTensorOf<[I64]>:$indices);
}
def DL_ProdOp : DL_ReductionOp<"prod",
    "prod(Tensor x, int[] dim=[], bool keepdim=False, ScalarType? dtype=None)", ["emitTerm"]> {
  let summary = "Product over dims";
  let description = [{
    Over all dims where `dim` is empty; 1 over no elements. Integers and bools are multiplied as
    i64. With `dtype`, each element is converted first. PyTorch: `torch.prod`.
    ```mlir
    %y = dl.prod %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_NumberTensor:$y);
}
def DL_AminOp : DL_ReductionOp<"amin",
    "amin(Tensor x, int[] dim=[], bool keepdim=False)\nmin(Tensor x)", ["emitTerm"]> {
  let precision = "follow";
  let summary = "Smallest value over dims";
  let description = [{
    Over all dims where `dim` is empty; NaN wins. PyTorch: `torch.amin`.
    ```mlir
    %y = dl.amin %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_NumberTensor:$y);
}
def DL_VarOp : DL_ReductionOp<"var",
    "var(Tensor x, int[] dim=[], bool unbiased=True, bool keepdim=False)\nvar(Tensor x, int[] dim=[], int? correction=None, bool keepdim=False)\nvar(Tensor x, bool unbiased)", ["emitTerm", "emitResult"]> {
  let summary = "Variance over dims";
  let description = [{
    Over all dims where `dim` is empty. The sum of squared distances from the mean, over the number
    of elements less `correction` (1, or 0 if not `unbiased`); NaN where that is not positive and
    the sum is 0. PyTorch: `torch.var`.
    ```mlir
    %y = dl.var %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "true">:$unbiased, OptionalAttr<I64Attr>:$correction,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_FloatTensor:$y);
}
def DL_StdOp : DL_ReductionOp<"std",
    "std(Tensor x, int[] dim=[], bool unbiased=True, bool keepdim=False)\nstd(Tensor x, int[] dim=[], int? correction=None, bool keepdim=False)\nstd(Tensor x, bool unbiased)", ["emitTerm", "emitResult"]> {
  let summary = "Standard deviation over dims";
  let description = [{
    The square root of the variance. Over all dims where `dim` is empty. The sum of squared
    distances from the mean, over the number of elements less `correction` (1, or 0 if not
    `unbiased`); NaN where that is not positive and the sum is 0. PyTorch: `torch.std`.
    ```mlir
    %y = dl.std %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "true">:$unbiased, OptionalAttr<I64Attr>:$correction,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_FloatTensor:$y);
}
def DL_LogSumExpOp : DL_ReductionOp<"logsumexp",
    "logsumexp(Tensor x, int[] dim, bool keepdim=False)", ["emitTerm", "emitResult"]> {
  let summary = "Logarithm of the sum of exponentials";
  let description = [{
    m + log(sum(exp(x - m))) with m the largest value, so that nothing overflows. PyTorch:
    `torch.logsumexp`.
    ```mlir
    %y = dl.logsumexp %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_FloatTensor:$y);
}
def DL_NormOp : DL_ReductionOp<"norm",
    [{norm(Tensor x, float p=2, int[] dim=[], bool keepdim=False, ScalarType? dtype=None)
norm(Tensor x, 'fro' p, int[] dim=[], bool keepdim=False, ScalarType? dtype=None)
norm(Tensor x, None p, int[] dim=[], bool keepdim=False, ScalarType? dtype=None)}],
    ["emitTerm", "emitResult"]> {
  let summary = "Vector norm over dims";
  let description = [{
    Over all dims where `dim` is empty. The p-th root of the sum of |x|^p; `p` of inf (-inf) is the
    largest (smallest) |x|, 0 counts the elements that are not 0; 'fro' and None are 2. PyTorch:
    `torch.norm`.
    ```mlir
    %y = dl.norm %x {dim = array<i64: 1>, p = 2.0 : f64} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<F64Attr, "2.0">:$p,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_FloatTensor:$y);
}
def DL_AnyOp : DL_DecomposedOp<"any",
    "any(Tensor x, int[] dim=[], bool keepdim=False)"> {
  let summary = "Some element is true";
  let description = [{
    Over all dims where `dim` is empty. Numbers are true where they differ from zero. PyTorch:
    `torch.any`.
    ```mlir
    %y = dl.any %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_BoolTensor:$y);
}
def DL_AllOp : DL_DecomposedOp<"all",
    "all(Tensor x, int[] dim=[], bool keepdim=False)"> {
  let summary = "Every element is true";
  let description = [{
    Over all dims where `dim` is empty. Numbers are true where they differ from zero. PyTorch:
    `torch.all`.
    ```mlir
    %y = dl.all %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_BoolTensor:$y);
}
def DL_CountNonzeroOp : DL_DecomposedOp<"count_nonzero",
    "count_nonzero(Tensor x, int[] dim=[])"> {
  let summary = "Number of elements that are not zero";
  let description = [{
    Over all dims where `dim` is empty. PyTorch: `torch.count_nonzero`.
    ```mlir
    %y = dl.count_nonzero %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xi64>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim);
  let results = (outs RankedTensorOf<[I64]>:$y);
}
def DL_VarMeanOp : DL_DecomposedOp<"var_mean",
    [{var_mean(Tensor x, int[] dim=[], bool unbiased=True, bool keepdim=False) -> (Tensor var, Tensor mean)
var_mean(Tensor x, int[] dim=[], int? correction=None, bool keepdim=False) -> (Tensor var, Tensor mean)
var_mean(Tensor x, bool unbiased) -> (Tensor var, Tensor mean)}]> {
  let summary = "Variance and mean over dims";
  let description = [{
    As `dl.var` and `dl.mean`, over all dims where `dim` is empty. PyTorch: `torch.var_mean`.
    ```mlir
    %v, %m = dl.var_mean %x {dim = array<i64: 1>} : (tensor<4x8xf32>) ->
        (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim,
      DefaultValuedAttr<BoolAttr, "true">:$unbiased, OptionalAttr<I64Attr>:$correction,
      DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_FloatTensor:$var, DL_FloatTensor:$mean);
}

def DL_SoftmaxOp : DL_LoopOp<"softmax", "softmax(Tensor x, int dim, ScalarType? dtype=None)",
                             ["emitTerm", "emitResult"]> {
  let precision = "follow";
  let summary = "exp(x) normalized to sum 1 along a dim";
  let onnx = "Softmax@13(x, dim=axis:-1)";
  let description = [{
    exp(x - m) / sum(exp(x - m)) with m the largest value along `dim`. With `dtype`, each element is
    converted first. PyTorch: `torch.softmax`.
    ```mlir
    %y = dl.softmax %x {dim = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, I64Attr:$dim);
  let results = (outs DL_FloatTensor:$y);
}
def DL_LogSoftmaxOp : DL_LoopOp<"log_softmax",
                                "log_softmax(Tensor x, int dim, ScalarType? dtype=None)", ["emitTerm", "emitResult"]> {
  let precision = "follow";
  let summary = "Logarithm of the softmax";
  let onnx = "LogSoftmax@13(x, dim=axis:-1)";
  let description = [{
    x - m - log(sum(exp(x - m))) with m the largest value along `dim`. With `dtype`, each element is
    converted first. PyTorch: `torch.log_softmax`.
    ```mlir
    %y = dl.log_softmax %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, I64Attr:$dim);
  let results = (outs DL_FloatTensor:$y);
}

#endif // DLC_IR_DL_DLREDUCTION_TD
