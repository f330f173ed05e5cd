//===- DLMath.td - Powers, logarithms, angles and remainders at each index --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLMATH_TD
#define DLC_IR_DL_DLMATH_TD

include "ir/dl/elementwise/DLElementwiseBase.td"

def DL_ExpOp : DL_UnaryOp<"exp", "exp(Tensor x)", DL_FloatTensor, "exp(x)"> {
  let precision = "wide";
  let summary = "Exponential";
  let onnx = "Exp(x)";
  let description = [{
    PyTorch: `torch.exp`.
    ```mlir
    %y = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_Exp2Op : DL_UnaryOp<"exp2", "exp2(Tensor x)", DL_FloatTensor, "exp2(x)"> {
  let precision = "wide";
  let summary = "2 to the power of x";
  let description = [{
    PyTorch: `torch.exp2`.
    ```mlir
    %y = dl.exp2 %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_Expm1Op : DL_UnaryOp<"expm1", "expm1(Tensor x)", DL_FloatTensor, "expm1(x)"> {
  let precision = "wide";
  let summary = "exp(x) - 1";
  let description = [{
    Without the cancellation around 0. PyTorch: `torch.expm1`.
    ```mlir
    %y = dl.expm1 %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_LogOp : DL_UnaryOp<"log", "log(Tensor x)", DL_FloatTensor, "log(x)"> {
  let precision = "wide";
  let summary = "Natural logarithm";
  let onnx = "Log(x)";
  let description = [{
    -inf at 0, NaN below. PyTorch: `torch.log`.
    ```mlir
    %y = dl.log %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_Log2Op : DL_UnaryOp<"log2", "log2(Tensor x)", DL_FloatTensor, "log2(x)"> {
  let precision = "wide";
  let summary = "Logarithm to base 2";
  let description = [{
    PyTorch: `torch.log2`.
    ```mlir
    %y = dl.log2 %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_Log10Op : DL_UnaryOp<"log10", "log10(Tensor x)", DL_FloatTensor, "log10(x)"> {
  let precision = "wide";
  let summary = "Logarithm to base 10";
  let description = [{
    PyTorch: `torch.log10`.
    ```mlir
    %y = dl.log10 %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_Log1pOp : DL_UnaryOp<"log1p", "log1p(Tensor x)", DL_FloatTensor, "log1p(x)"> {
  let precision = "wide";
  let summary = "log(1 + x)";
  let description = [{
    Without the cancellation around 0. PyTorch: `torch.log1p`.
    ```mlir
    %y = dl.log1p %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_SqrtOp : DL_UnaryOp<"sqrt", "sqrt(Tensor x)", DL_FloatTensor, "sqrt(x)"> {
  let precision = "wide";
  let summary = "Square root, correctly rounded";
  let onnx = "Sqrt(x)";
  let description = [{
    NaN below 0. PyTorch: `torch.sqrt`.
    ```mlir
    %y = dl.sqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_RsqrtOp : DL_UnaryOp<"rsqrt", "rsqrt(Tensor x)", DL_FloatTensor, "1.0 / sqrt(x)"> {
  let precision = "wide";
  let summary = "Reciprocal of the square root";
  let description = [{
    inf at 0, NaN below. PyTorch: `torch.rsqrt`.
    ```mlir
    %y = dl.rsqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_SinOp : DL_UnaryOp<"sin", "sin(Tensor x)", DL_FloatTensor, "sin(x)"> {
  let precision = "wide";
  let summary = "Sine";
  let onnx = "Sin(x)";
  let description = [{
    Right for large x too. PyTorch: `torch.sin`.
    ```mlir
    %y = dl.sin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_CosOp : DL_UnaryOp<"cos", "cos(Tensor x)", DL_FloatTensor, "cos(x)"> {
  let precision = "wide";
  let summary = "Cosine";
  let onnx = "Cos(x)";
  let description = [{
    Right for large x too. PyTorch: `torch.cos`.
    ```mlir
    %y = dl.cos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_TanOp : DL_UnaryOp<"tan", "tan(Tensor x)", DL_FloatTensor, "tan(x)"> {
  let precision = "wide";
  let summary = "Tangent";
  let onnx = "Tan(x)";
  let description = [{
    Right for large x too. PyTorch: `torch.tan`.
    ```mlir
    %y = dl.tan %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_AsinOp : DL_UnaryOp<"asin", "asin(Tensor x)\narcsin(Tensor x)", DL_FloatTensor, "asin(x)"> {
  let precision = "wide";
  let summary = "Inverse sine";
  let onnx = "Asin(x)";
  let description = [{
    NaN outside -1 to 1. PyTorch: `torch.asin`.
    ```mlir
    %y = dl.asin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_AcosOp : DL_UnaryOp<"acos", "acos(Tensor x)\narccos(Tensor x)", DL_FloatTensor, "acos(x)"> {
  let precision = "wide";
  let summary = "Inverse cosine";
  let onnx = "Acos(x)";
  let description = [{
    NaN outside -1 to 1. PyTorch: `torch.acos`.
    ```mlir
    %y = dl.acos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_AtanOp : DL_UnaryOp<"atan", "atan(Tensor x)\narctan(Tensor x)", DL_FloatTensor, "atan(x)"> {
  let summary = "Inverse tangent";
  let onnx = "Atan(x)";
  let description = [{
    PyTorch: `torch.atan`.
    ```mlir
    %y = dl.atan %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_Atan2Op : DL_BinaryOp<"atan2",
                             "atan2(Tensor x, Tensor other)\narctan2(Tensor x, Tensor other)", DL_FloatTensor, "atan2(x, other)"> {
  let precision = "wide";
  let summary = "Angle of the point (other, x)";
  let description = [{
    From -pi to pi. PyTorch: `torch.atan2`.
    ```mlir
    %y = dl.atan2 %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_SinhOp : DL_UnaryOp<"sinh", "sinh(Tensor x)", DL_FloatTensor, [{
    [&] {
      // From 40 on e^-x does not count, and e^x goes in by two factors, so that it overflows no
      // sooner than the result.
      Scalar a = abs(x), t = expm1(min(a, 80.0)), e = exp(a * 0.5);
      Scalar y = select(a > 40.0, (0.5 * e) * e, (t + t / (t + 1.0)) * 0.5);
      return select(a < 1e-9, x, select(x < 0.0, -y, y));
    }() }]> {
  let precision = "wide";
  let summary = "Hyperbolic sine";
  let onnx = "Sinh(x)";
  let description = [{
    PyTorch: `torch.sinh`.
    ```mlir
    %y = dl.sinh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_CoshOp : DL_UnaryOp<"cosh", "cosh(Tensor x)", DL_FloatTensor, [{
    [&] {
      Scalar a = abs(x), near = exp(min(a, 80.0)), e = exp(a * 0.5);
      return select(a > 40.0, (0.5 * e) * e, 0.5 * near + 0.5 / near);
    }() }]> {
  let precision = "wide";
  let summary = "Hyperbolic cosine";
  let onnx = "Cosh(x)";
  let description = [{
    PyTorch: `torch.cosh`.
    ```mlir
    %y = dl.cosh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_TanhOp : DL_UnaryOp<"tanh", "tanh(Tensor x)", DL_FloatTensor, "tanh(x)"> {
  let summary = "Hyperbolic tangent";
  let onnx = "Tanh(x)";
  let description = [{
    PyTorch: `torch.tanh`.
    ```mlir
    %y = dl.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_AsinhOp : DL_UnaryOp<"asinh", "asinh(Tensor x)\narcsinh(Tensor x)", DL_FloatTensor, [{
    [&] {
      // From 1e15 on it is log(2 |x|).
      Scalar a = abs(x), isLarge = a > 1e15, square = a * a;
      Scalar y = log1p(select(isLarge, a, a + square / (1.0 + sqrt(square + 1.0))));
      y = select(isLarge, y + 0.69314718055994530942, y);
      return select(a < 1e-9, x, select(x < 0.0, -y, y));
    }() }]> {
  let precision = "wide";
  let summary = "Inverse hyperbolic sine";
  let onnx = "Asinh(x)";
  let description = [{
    PyTorch: `torch.asinh`.
    ```mlir
    %y = dl.asinh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_AcoshOp : DL_UnaryOp<"acosh", "acosh(Tensor x)\narccosh(Tensor x)", DL_FloatTensor, [{
    [&] {
      Scalar t = x - 1.0, isLarge = x > 1e15;
      Scalar y = log1p(select(isLarge, x, t + sqrt(t * (t + 2.0))));
      y = select(isLarge, y + 0.69314718055994530942, y);
      return select(x < 1.0, x.constant(std::numeric_limits<double>::quiet_NaN()), y);
    }() }]> {
  let precision = "wide";
  let summary = "Inverse hyperbolic cosine";
  let onnx = "Acosh(x)";
  let description = [{
    NaN below 1. PyTorch: `torch.acosh`.
    ```mlir
    %y = dl.acosh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_AtanhOp : DL_UnaryOp<"atanh", "atanh(Tensor x)\narctanh(Tensor x)", DL_FloatTensor, [{
    [&] {
      Scalar a = abs(x), twice = a + a;
      Scalar y = 0.5 * log1p(select(a < 0.5, twice + twice * a / (1.0 - a), twice / (1.0 - a)));
      return select(a < 1e-9, x, select(x < 0.0, -y, y));
    }() }]> {
  let precision = "wide";
  let summary = "Inverse hyperbolic tangent";
  let onnx = "Atanh(x)";
  let description = [{
    NaN outside -1 to 1. PyTorch: `torch.atanh`.
    ```mlir
    %y = dl.atanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_ErfOp : DL_UnaryOp<"erf", "erf(Tensor x)", DL_FloatTensor, "erf(x)"> {
  let summary = "Error function";
  let onnx = "Erf(x)";
  let description = [{
    PyTorch: `torch.erf`.
    ```mlir
    %y = dl.erf %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_ErfcOp : DL_UnaryOp<"erfc", "erfc(Tensor x)", DL_FloatTensor, "erfc(x)"> {
  let summary = "Complement of the error function, 1 - erf(x)";
  let description = [{
    Without the cancellation. PyTorch: `torch.erfc`.
    ```mlir
    %y = dl.erfc %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_PowNumberOp : DL_NumbersOp<"pow_number", "pow(Tensor x, float exponent)", DL_NumberTensor,
    "pow(x, getExponent().convertToDouble())", "adaptor.getExponent()"> {
  let precision = "wide";
  let summary = "x to the power of a number";
  let description = [{
    Powers of 2, 3, 4, 1/2, -1/2, -1 and -2 are products, roots and reciprocals. Integers wrap and
    take whole exponents. PyTorch: `torch.pow`.
    ```mlir
    %y = dl.pow_number %x {exponent = 2.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, F64Attr:$exponent);
}
def DL_PowOp : DL_BinaryOp<"pow", "pow(Tensor x, Tensor other)", DL_NumberTensor, "pow(x, other)"> {
  let precision = "wide";
  let summary = "x to the power of other";
  let description = [{
    NaN where x is negative and other no whole number. Integers wrap; of a negative power, they are
    the reciprocal rounded to 0. PyTorch: `torch.pow`.
    ```mlir
    %y = dl.pow %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_FloorDivideOp : DL_BinaryOp<"floor_divide",
                                   "floor_divide(Tensor x, Tensor other)\ndiv(Tensor x, Tensor other, 'floor' rounding_mode)\ndivide(Tensor x, Tensor other, 'floor' rounding_mode)", DL_NumberTensor, "divFloor(x, other)"> {
  let precision = "wide";
  let summary = "Quotient rounded down";
  let description = [{
    Of an integer divided by 0, an error in PyTorch, the quotient is 0.
    PyTorch: `torch.floor_divide`, `torch.div` with rounding_mode 'floor'.
    ```mlir
    %y = dl.floor_divide %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_TruncDivideOp : DL_BinaryOp<"trunc_divide",
                                   "div(Tensor x, Tensor other, 'trunc' rounding_mode)\ndivide(Tensor x, Tensor other, 'trunc' rounding_mode)", DL_NumberTensor, "divTrunc(x, other)"> {
  let precision = "wide";
  let summary = "Quotient without its fraction";
  let description = [{
    Of an integer divided by 0, an error in PyTorch, the quotient is 0.
    PyTorch: `torch.div` with rounding_mode 'trunc'.
    ```mlir
    %y = dl.trunc_divide %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_RemainderOp : DL_BinaryOp<"remainder", "remainder(Tensor x, Tensor other)", DL_NumberTensor,
                                 "remFloor(x, other)"> {
  let precision = "wide";
  let summary = "Remainder with the sign of the divisor";
  let description = [{
    Python's `%`. Of an integer divided by 0, an error in PyTorch, the remainder is x.
    PyTorch: `torch.remainder`.
    ```mlir
    %y = dl.remainder %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_FmodOp : DL_BinaryOp<"fmod", "fmod(Tensor x, Tensor other)", DL_NumberTensor,
                            "remTrunc(x, other)"> {
  let precision = "wide";
  let summary = "Remainder with the sign of the dividend";
  let description = [{
    C's fmod; exact. Of an integer divided by 0, an error in PyTorch, the remainder is x.
    PyTorch: `torch.fmod`.
    ```mlir
    %y = dl.fmod %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

#endif // DLC_IR_DL_DLMATH_TD
