//===- DLNorm.td - Normalizations -------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLNORM_TD
#define DLC_IR_DL_DLNORM_TD

include "ir/dl/base/DLBase.td"

def DL_BatchNormOp : DL_LoopOp<"batch_norm",
    [{batch_norm(Tensor x, Tensor running_mean, Tensor running_var, Tensor? weight=None, Tensor? bias=None, False training=False, float momentum=0.1, float eps=1e-05, bool biased=False)
instance_norm(Tensor x, Tensor running_mean, Tensor running_var, Tensor? weight=None, Tensor? bias=None, False use_input_stats, float momentum=0.1, float eps=1e-05)}],
    ["emitResult"]> {
  let summary = "Normalization of each channel by stored statistics";
  let onnx = "BatchNormalization(x, weight, bias, running_mean, running_var, eps=epsilon, !momentum, !spatial=1, !training_mode=0)";
  let description = [{
    (x - running_mean) / sqrt(running_var + eps) * weight + bias, statistics indexed by dim 1 of x;
    weight and bias are given together or not at all. `momentum` and `biased` are for training:
    how much of the statistics of a batch goes into the stored ones, and whether their variance is
    that of the batch, as Keras keeps it, or is corrected, as PyTorch does. A negative momentum
    means that dlc cannot train with them. PyTorch:
    `torch.nn.functional.batch_norm(training=False)`.
    ```mlir
    %y = dl.batch_norm %x, %mean, %var, %w, %b :
        (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>,
        tensor<16xf32>, tensor<16xf32>) -> tensor<8x16x4x4xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$running_mean, DL_FloatTensor:$running_var,
      Variadic<DL_FloatTensor>:$affine, DefaultValuedAttr<F64Attr, "0.1">:$momentum,
      DefaultValuedAttr<F64Attr, "1e-05">:$eps, DefaultValuedAttr<BoolAttr, "false">:$biased);
  let results = (outs DL_FloatTensor:$y);
}
def DL_StandardizeOp : DL_LoopOp<"standardize",
    "", ["emitTerm", "emitResult"]> {
  let precision = "follow";
  let summary = "Mean 0 and variance 1 over dims, then weight and bias";
  let description = [{
    (x - mean) / sqrt(var + eps) * weight + bias, mean and variance over `dims`, the variance around
    the mean: two passes, so that nothing cancels. `affine` is nothing, weight, or weight and bias,
    whose dims are the `affine_dims` of x. What layer_norm, group_norm and instance_norm become.
    ```mlir
    %y = dl.standardize %x, %w, %b {dims = array<i64: 1>, affine_dims = array<i64: 1>}
        : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, Variadic<DL_FloatTensor>:$affine, DenseI64ArrayAttr:$dims,
      DenseI64ArrayAttr:$affine_dims, DefaultValuedAttr<F64Attr, "1e-05">:$eps);
  let results = (outs DL_FloatTensor:$y);
}
def DL_RmsNormOp : DL_LoopOp<"rms_norm",
    "rms_norm(Tensor x, int[] normalized_shape, Tensor? weight=None, float? eps=None)",
    ["emitTerm", "emitResult"]> {
  let precision = "follow";
  let summary = "Division by the root mean square of the last dims";
  let description = [{
    x / sqrt(mean(x^2) + eps) * weight; without `eps`, the distance from 1 to the next number of the
    dtype. PyTorch: `torch.nn.functional.rms_norm`.
    ```mlir
    %y = dl.rms_norm %x, %w {normalized_shape = array<i64: 8>} :
        (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, Variadic<DL_FloatTensor>:$affine,
                       DenseI64ArrayAttr:$normalized_shape,
      OptionalAttr<F64Attr>:$eps);
  let results = (outs DL_FloatTensor:$y);
}
def DL_LayerNormOp : DL_DecomposedOp<"layer_norm",
    "layer_norm(Tensor x, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)"> {
  let summary = "Normalization over the last dims";
  let description = [{
    (x - mean) / sqrt(var + eps) * weight + bias over the dims of `normalized_shape`; a bias needs a
    weight. PyTorch: `torch.nn.functional.layer_norm`.
    ```mlir
    %y = dl.layer_norm %x, %w, %b {normalized_shape = array<i64: 8>}
        : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, Variadic<DL_FloatTensor>:$affine,
                       DenseI64ArrayAttr:$normalized_shape,
      DefaultValuedAttr<F64Attr, "1e-05">:$eps);
  let results = (outs DL_FloatTensor:$y);
}
def DL_GroupNormOp : DL_DecomposedOp<"group_norm",
    "group_norm(Tensor x, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)"> {
  let summary = "Normalization over groups of channels";
  let description = [{
    The channels, dim 1, in `num_groups` groups: (x - mean) / sqrt(var + eps) over each group, then
    weight and bias of each channel; a bias needs a weight. PyTorch:
    `torch.nn.functional.group_norm`.
    ```mlir
    %y = dl.group_norm %x, %w, %b {num_groups = 2 : i64}
        : (tensor<4x8x5xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8x5xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, Variadic<DL_FloatTensor>:$affine, I64Attr:$num_groups,
                       DefaultValuedAttr<F64Attr, "1e-05">:$eps);
  let results = (outs DL_FloatTensor:$y);
}
def DL_InstanceNormOp : DL_DecomposedOp<"instance_norm",
    "instance_norm(Tensor x, None running_mean=None, None running_var=None, Tensor? weight=None, Tensor? bias=None, True use_input_stats=True, float momentum=0.1, float eps=1e-05)"> {
  let summary = "Normalization of each channel of each sample";
  let onnx = "InstanceNormalization(x, weight, bias, eps=epsilon)";
  let description = [{
    By its own mean and variance; by stored ones (`use_input_stats=false`) it is `dl.batch_norm`. A
    bias needs a weight. PyTorch: `torch.nn.functional.instance_norm`.
    ```mlir
    %y = dl.instance_norm %x {eps = 1.0e-3 : f64} : (tensor<4x8x5xf32>) -> tensor<4x8x5xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, Variadic<DL_FloatTensor>:$affine,
                       DefaultValuedAttr<F64Attr, "1e-05">:$eps);
  let results = (outs DL_FloatTensor:$y);
}
def DL_NormalizeOp : DL_DecomposedOp<"normalize",
    "normalize(Tensor x, float p=2, int dim=1, float eps=1e-12)"> {
  let summary = "Division by the norm along a dim";
  let description = [{
    x / max(norm(x), eps). PyTorch: `torch.nn.functional.normalize`.
    ```mlir
    %y = dl.normalize %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<F64Attr, "2.0">:$p,
                       DefaultValuedAttr<I64Attr, "1">:$dim,
      DefaultValuedAttr<F64Attr, "1e-12">:$eps);
  let results = (outs DL_FloatTensor:$y);
}

#endif // DLC_IR_DL_DLNORM_TD
