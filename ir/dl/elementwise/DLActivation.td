//===- DLActivation.td - Activation functions -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLACTIVATION_TD
#define DLC_IR_DL_DLACTIVATION_TD

include "ir/dl/elementwise/DLElementwiseBase.td"

def DL_SigmoidOp : DL_UnaryOp<"sigmoid", "sigmoid(Tensor x)", DL_FloatTensor, [{
    Scalar(builder, loc, dls::SigmoidOp::create(builder, loc, x.value()), x.getKind()) }]> {
  let summary = "Logistic function";
  let onnx = "Sigmoid(x)";
  let description = [{
    1 / (1 + exp(-x)). PyTorch: `torch.sigmoid`.
    ```mlir
    %y = dl.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_ReluOp : DL_UnaryOp<"relu", "relu(Tensor x, bool inplace=False)", DL_NumberTensor,
                           "max(x, 0.0)"> {
  let summary = "Rectifier, max(x, 0)";
  let onnx = "Relu(x)";
  let description = [{
    NaN stays NaN. PyTorch: `torch.relu`.
    ```mlir
    %y = dl.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_GeluOp : DL_UnaryOp<"gelu", "gelu(Tensor x, str approximate='none')", DL_FloatTensor, [{
    // Both forms avoid the cancellation of 1 + erf and 1 + tanh where x is negative. By erf minus
    // infinity gives 0, the limit, where PyTorch has infinity times 0.
    [&] {
      if (getApproximate() == "tanh")
        return x / (1.0 + exp(-1.59576912160573071176 * (x + 0.044715 * x * x * x)));
      return Scalar(builder, loc, dls::GeluOp::create(builder, loc, x.value()), x.getKind());
    }() }]> {
  let summary = "Gaussian error linear unit";
  let onnx = "Gelu@20(x, approximate=approximate)";
  let description = [{
    x times the normal distribution function of x, by erf or, with `approximate = "tanh"`, by tanh.
    PyTorch: `torch.nn.functional.gelu`.
    ```mlir
    %y = dl.gelu %x {approximate = "tanh"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedStrAttr<StrAttr, "none">:$approximate);
  let hasVerifier = 1;
}
def DL_SiluOp : DL_UnaryOp<"silu", "silu(Tensor x, bool inplace=False)", DL_FloatTensor,
                           "x / (1.0 + exp(-x))"> {
  let summary = "Sigmoid linear unit, x * sigmoid(x)";
  let description = [{
    Also known as swish. NaN at -inf. PyTorch: `torch.nn.functional.silu`.
    ```mlir
    %y = dl.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_Relu6Op : DL_UnaryOp<"relu6", "relu6(Tensor x, bool inplace=False)", DL_NumberTensor,
                            "min(max(x, 0.0), 6.0)"> {
  let summary = "Rectifier bounded by 6";
  let description = [{
    PyTorch: `torch.nn.functional.relu6`.
    ```mlir
    %y = dl.relu6 %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_LeakyReluOp : DL_UnaryOp<"leaky_relu",
    "leaky_relu(Tensor x, float negative_slope=0.01, bool inplace=False)",
    DL_FloatTensor, "select(x > 0.0, x, x * getNegativeSlope().convertToDouble())"> {
  let summary = "Rectifier with a slope below 0";
  let onnx = "LeakyRelu(x, negative_slope=alpha)";
  let description = [{
    x above 0, else negative_slope x. PyTorch: `torch.nn.functional.leaky_relu`.
    ```mlir
    %y = dl.leaky_relu %x {negative_slope = 0.01 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<F64Attr, "0.01">:$negative_slope);
}
def DL_MishOp : DL_UnaryOp<"mish", "mish(Tensor x, bool inplace=False)",
    DL_FloatTensor, [{
    [&] {
      // tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2) with e = exp(x); from 20 on that is 1.
      Scalar e = exp(min(x, 20.0)), n = e * (e + 2.0);
      return select(x > 20.0, x, x * (n / (n + 2.0)));
    }() }]> {
  let summary = "x * tanh(softplus(x))";
  let onnx = "Mish(x)";
  let description = [{
    PyTorch: `torch.nn.functional.mish`.
    ```mlir
    %y = dl.mish %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_SoftsignOp : DL_UnaryOp<"softsign", "softsign(Tensor x)", DL_FloatTensor,
                               "x / (1.0 + abs(x))"> {
  let summary = "x / (1 + |x|)";
  let onnx = "Softsign(x)";
  let description = [{
    PyTorch: `torch.nn.functional.softsign`.
    ```mlir
    %y = dl.softsign %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_HardswishOp : DL_UnaryOp<"hardswish", "hardswish(Tensor x, bool inplace=False)",
    DL_FloatTensor, "x * min(max(x + 3.0, 0.0), 6.0) / 6.0"> {
  let summary = "x * relu6(x + 3) / 6";
  let onnx = "HardSwish(x)";
  let description = [{
    PyTorch: `torch.nn.functional.hardswish`.
    ```mlir
    %y = dl.hardswish %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_HardsigmoidOp : DL_UnaryOp<"hardsigmoid", "hardsigmoid(Tensor x, bool inplace=False)",
    DL_FloatTensor, "min(max(x + 3.0, 0.0), 6.0) / 6.0"> {
  let summary = "relu6(x + 3) / 6";
  let description = [{
    PyTorch: `torch.nn.functional.hardsigmoid`.
    ```mlir
    %y = dl.hardsigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_HardtanhOp : DL_UnaryOp<"hardtanh",
    "hardtanh(Tensor x, float min_val=-1.0, float max_val=1.0, bool inplace=False)",
    DL_NumberTensor, [{
    [&] {
      double low = getMinVal().convertToDouble(), high = getMaxVal().convertToDouble();
      if (x.getKind() != ::dlc::ScalarKind::floating)
        low = std::trunc(low), high = std::trunc(high);
      return min(max(x, low), high);
    }() }]> {
  let summary = "The nearest value between two numbers";
  let description = [{
    min(max(x, min_val), max_val). For integers the bounds lose their fractions. PyTorch:
    `torch.nn.functional.hardtanh`.
    ```mlir
    %y = dl.hardtanh %x {max_val = 1.0 : f64, min_val = -1.0 : f64} : (tensor<4x8xf32>) ->
        tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x,
      DefaultValuedAttr<F64Attr, "-1.0">:$min_val, DefaultValuedAttr<F64Attr, "1.0">:$max_val);
}
def DL_SoftshrinkOp : DL_UnaryOp<"softshrink", "softshrink(Tensor x, float lambd=0.5)",
    DL_FloatTensor, [{
    [&] {
      double lambd = getLambd().convertToDouble();
      return select(x > lambd, x - lambd, select(x < -lambd, x + lambd,
                                                    select(isNan(x), x, x.constant(0.0))));
    }() }]> {
  let summary = "x moved towards 0 by lambd, at most to 0";
  let description = [{
    NaN stays NaN. PyTorch: `torch.nn.functional.softshrink`.
    ```mlir
    %y = dl.softshrink %x {lambd = 0.5 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<F64Attr, "0.5">:$lambd);
  let hasVerifier = 1;
}
def DL_HardshrinkOp : DL_UnaryOp<"hardshrink", "hardshrink(Tensor x, float lambd=0.5)",
    DL_FloatTensor, "select(abs(x) <= getLambd().convertToDouble(), 0.0, x)"> {
  let summary = "0 between -lambd and lambd, else x";
  let description = [{
    PyTorch: `torch.nn.functional.hardshrink`.
    ```mlir
    %y = dl.hardshrink %x {lambd = 0.5 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<F64Attr, "0.5">:$lambd);
}
def DL_ThresholdOp : DL_NumbersOp<"threshold",
    "threshold(Tensor x, float threshold, float value, bool inplace=False)",
    DL_NumberTensor, "select(x <= getThreshold().convertToDouble(), getValue().convertToDouble(), x)",
    "adaptor.getThreshold(), adaptor.getValue()"> {
  let summary = "x above a threshold, else a number";
  let description = [{
    PyTorch: `torch.nn.functional.threshold`.
    ```mlir
    %y = dl.threshold %x {threshold = 0.1 : f64, value = 20.0 : f64} : (tensor<4x8xf32>) ->
        tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, F64Attr:$threshold, F64Attr:$value);
}
def DL_PreluOp : DL_LoopOp<"prelu", "prelu(Tensor x, Tensor weight)", ["emitResult"]> {
  let precision = "follow";
  let summary = "Rectifier with learned slopes below 0";
  let description = [{
    x above 0, else weight x; weight has one element, or one for each index of dim 1. PyTorch:
    `torch.nn.functional.prelu`.
    ```mlir
    %y = dl.prelu %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$weight);
  let results = (outs DL_FloatTensor:$y);
}
def DL_GluOp : DL_LoopOp<"glu", "glu(Tensor x, int dim=-1)", ["emitResult"]> {
  let precision = "follow";
  let summary = "First half times the sigmoid of the second";
  let description = [{
    The halves of `dim`, whose size is even. PyTorch: `torch.nn.functional.glu`.
    ```mlir
    %y = dl.glu %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<I64Attr, "-1">:$dim);
  let results = (outs DL_FloatTensor:$y);
}
def DL_EluOp : DL_UnaryOp<"elu", "elu(Tensor x, float alpha=1.0, bool inplace=False)",
    DL_FloatTensor, [{
    select(x > 0.0, x, getAlpha().convertToDouble() * expm1(x)) }]> {
  let summary = "x above 0, else alpha (exp(x) - 1)";
  let onnx = "Elu(x, alpha=alpha)";
  let description = [{
    PyTorch: `torch.nn.functional.elu`.
    ```mlir
    %y = dl.elu %x {alpha = 1.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<F64Attr, "1.0">:$alpha);
}
def DL_SeluOp : DL_UnaryOp<"selu", "selu(Tensor x, bool inplace=False)",
    DL_FloatTensor, [{
    1.0507009873554804934193349852946 *
        select(x > 0.0, x, 1.6732632423543772848170429916717 * expm1(x)) }]> {
  let summary = "elu of a fixed alpha, scaled";
  let description = [{
    PyTorch: `torch.nn.functional.selu`.
    ```mlir
    %y = dl.selu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_CeluOp : DL_UnaryOp<"celu", "celu(Tensor x, float alpha=1.0, bool inplace=False)",
    DL_FloatTensor, [{
    select(x > 0.0, x, getAlpha().convertToDouble() * expm1(x / getAlpha().convertToDouble())) }]> {
  let summary = "x above 0, else alpha (exp(x / alpha) - 1)";
  let onnx = "Celu(x, alpha=alpha)";
  let description = [{
    PyTorch: `torch.nn.functional.celu`.
    ```mlir
    %y = dl.celu %x {alpha = 1.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DefaultValuedAttr<F64Attr, "1.0">:$alpha);
}
def DL_SoftplusOp : DL_UnaryOp<"softplus",
                               "softplus(Tensor x, float beta=1.0, float threshold=20.0)",
    DL_FloatTensor, [{
    [&] {
      Scalar z = x * getBeta().convertToDouble();
      return select(z > getThreshold().convertToDouble(), x,
      log1p(exp(z)) / getBeta().convertToDouble());
    }() }]> {
  let summary = "log(1 + exp(beta x)) / beta";
  let onnx = "Softplus(x)";
  let description = [{
    x itself where beta x is above the threshold. PyTorch: `torch.nn.functional.softplus`.
    ```mlir
    %y = dl.softplus %x {beta = 1.0 : f64, threshold = 20.0 : f64} : (tensor<4x8xf32>) ->
        tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x,
      DefaultValuedAttr<F64Attr, "1.0">:$beta, DefaultValuedAttr<F64Attr, "20.0">:$threshold);
}
def DL_LogSigmoidOp : DL_UnaryOp<"logsigmoid", "logsigmoid(Tensor x)",
    DL_FloatTensor, [{
    min(x, 0.0) - log1p(exp(-abs(x))) }]> {
  let summary = "Logarithm of the sigmoid";
  let description = [{
    PyTorch: `torch.nn.functional.logsigmoid`.
    ```mlir
    %y = dl.logsigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_TanhshrinkOp : DL_UnaryOp<"tanhshrink", "tanhshrink(Tensor x)", DL_FloatTensor,
                                 "x - tanh(x)"> {
  let summary = "x - tanh(x)";
  let description = [{
    Exact to a few units in the last place of x. PyTorch: `torch.nn.functional.tanhshrink`.
    ```mlir
    %y = dl.tanhshrink %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

#endif // DLC_IR_DL_DLACTIVATION_TD
