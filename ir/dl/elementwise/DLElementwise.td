//===- DLElementwise.td - Arithmetic and functions at each index ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of a record is all that dlc knows about what the op computes: see ir/scalar/Scalar.h.
#ifndef DLC_IR_DL_DLELEMENTWISE_TD
#define DLC_IR_DL_DLELEMENTWISE_TD

include "ir/dl/elementwise/DLElementwiseBase.td"

def DL_AddOp : DL_BinaryOp<"add", "add(Tensor x, Tensor other)", DL_Tensor, "x + other",
                           [Commutative]> {
  let summary = "Sum";
  let onnx = "Add(x, other)";
  let description = [{
    Integers wrap. PyTorch: `torch.add`.
    ```mlir
    %y = dl.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_SubOp : DL_BinaryOp<"sub", "sub(Tensor x, Tensor other)\nsubtract(Tensor x, Tensor other)",
                           DL_NumberTensor, "x - other"> {
  let summary = "Difference";
  let onnx = "Sub(x, other)";
  let description = [{
    Integers wrap. PyTorch: `torch.sub`.
    ```mlir
    %y = dl.sub %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
/// x and a multiple of other: `operation` joins them.
class DL_ScaledOp<string mnemonic, string torchSchema, string operation>
    : DL_BinaryOp<mnemonic, torchSchema, DL_NumberTensor,
                  "x " # operation # " other * getAlpha().convertToDouble()"> {
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$other, F64Attr:$alpha);
  let inferDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::dlc::dl::inferWithNumbers(getOperationName(), location, adaptor.getOperands(),
                                         {adaptor.getAlpha()}, types);
    }
  }];
}
def DL_AddScaledOp : DL_ScaledOp<"add_scaled", "add(Tensor x, Tensor other, float alpha)", "+"> {
  let summary = "x + alpha * other";
  let description = [{
    Integers wrap, and need a whole alpha. PyTorch: `torch.add` with alpha.
    ```mlir
    %y = dl.add_scaled %a, %b {alpha = 0.5 : f64} : (tensor<4x8xf32>, tensor<4x8xf32>) ->
        tensor<4x8xf32>
    ```
  }];
}
def DL_SubScaledOp : DL_ScaledOp<"sub_scaled",
                                 "sub(Tensor x, Tensor other, float alpha)\nsubtract(Tensor x, Tensor other, float alpha)", "-"> {
  let summary = "x - alpha * other";
  let description = [{
    Integers wrap, and need a whole alpha. PyTorch: `torch.sub` with alpha.
    ```mlir
    %y = dl.sub_scaled %a, %b {alpha = 0.5 : f64} : (tensor<4x8xf32>, tensor<4x8xf32>) ->
        tensor<4x8xf32>
    ```
  }];
}
def DL_MulOp : DL_BinaryOp<"mul", "mul(Tensor x, Tensor other)\nmultiply(Tensor x, Tensor other)",
                           DL_Tensor, "x * other", [Commutative]> {
  let summary = "Product";
  let onnx = "Mul(x, other)";
  let description = [{
    Integers wrap. PyTorch: `torch.mul`.
    ```mlir
    %y = dl.mul %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_DivOp : DL_BinaryOp<"div",
                           "div(Tensor x, Tensor other, None rounding_mode=None)\ndivide(Tensor x, Tensor other, None rounding_mode=None)\ntrue_divide(Tensor x, Tensor other)", DL_FloatTensor, "x / other"> {
  let precision = "wide";
  let summary = "True quotient";
  let description = [{
    IEEE division; the language casts integers to f32 first, as PyTorch does. PyTorch: `torch.div`.
    ```mlir
    %y = dl.div %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_MaximumOp : DL_BinaryOp<"maximum",
    "maximum(Tensor x, Tensor other)\nmax(Tensor x, Tensor other)\nclamp_min(Tensor x, Tensor min)\nclamp(Tensor x, Tensor min, None max=None)\nclip(Tensor x, Tensor min, None max=None)",
                               DL_Tensor, "max(x, other)", [Commutative]> {
  let summary = "Larger of two values";
  let description = [{
    NaN in either gives NaN. PyTorch: `torch.maximum`, `torch.max` of two tensors.
    ```mlir
    %y = dl.maximum %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_MinimumOp : DL_BinaryOp<"minimum",
    "minimum(Tensor x, Tensor other)\nmin(Tensor x, Tensor other)\nclamp_max(Tensor x, Tensor max)\nclamp(Tensor x, None min=None, Tensor max)\nclip(Tensor x, None min=None, Tensor max)",
                               DL_Tensor, "min(x, other)", [Commutative]> {
  let summary = "Smaller of two values";
  let description = [{
    NaN in either gives NaN. PyTorch: `torch.minimum`, `torch.min` of two tensors.
    ```mlir
    %y = dl.minimum %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_NegOp : DL_UnaryOp<"neg", "neg(Tensor x)\nnegative(Tensor x)", DL_NumberTensor, "-x"> {
  let summary = "Negation";
  let onnx = "Neg(x)";
  let description = [{
    Flips the sign of floats (-0 from +0); integers wrap. PyTorch: `torch.neg`.
    ```mlir
    %y = dl.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_AbsOp : DL_UnaryOp<"abs", "abs(Tensor x)\nabsolute(Tensor x)", DL_NumberTensor, "abs(x)"> {
  let summary = "Absolute value";
  let onnx = "Abs(x)";
  let description = [{
    Wraps at the lowest integer. PyTorch: `torch.abs`.
    ```mlir
    %y = dl.abs %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_SignOp : DL_UnaryOp<"sign", "sign(Tensor x)", DL_NumberTensor,
                           "select(x > 0.0, 1.0, select(x < 0.0, -1.0, x.constant(0.0)))"> {
  let summary = "1, 0 or -1, as the sign of x";
  let onnx = "Sign(x)";
  let description = [{
    0 at NaN. PyTorch: `torch.sign`.
    ```mlir
    %y = dl.sign %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_FloorOp : DL_UnaryOp<"floor", "floor(Tensor x)", DL_NumberTensor, "floor(x)"> {
  let precision = "wide";
  let summary = "Largest integer not above x";
  let onnx = "Floor(x)";
  let description = [{
    Integers stay as they are. PyTorch: `torch.floor`.
    ```mlir
    %y = dl.floor %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_CeilOp : DL_UnaryOp<"ceil", "ceil(Tensor x)", DL_NumberTensor, "ceil(x)"> {
  let precision = "wide";
  let summary = "Smallest integer not below x";
  let onnx = "Ceil(x)";
  let description = [{
    Integers stay as they are. PyTorch: `torch.ceil`.
    ```mlir
    %y = dl.ceil %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_TruncOp : DL_UnaryOp<"trunc", "trunc(Tensor x)\nfix(Tensor x)", DL_NumberTensor,
                            "trunc(x)"> {
  let precision = "wide";
  let summary = "x without its fraction";
  let description = [{
    Integers stay as they are. PyTorch: `torch.trunc`.
    ```mlir
    %y = dl.trunc %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_RoundOp : DL_UnaryOp<"round", "round(Tensor x)", DL_NumberTensor, "round(x)"> {
  let precision = "wide";
  let summary = "Nearest integer, ties to even";
  let onnx = "Round(x)";
  let description = [{
    Integers stay as they are. PyTorch: `torch.round`.
    ```mlir
    %y = dl.round %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_FracOp : DL_UnaryOp<"frac", "frac(Tensor x)", DL_FloatTensor, "x - trunc(x)"> {
  let precision = "wide";
  let summary = "Fraction of x, with its sign";
  let description = [{
    PyTorch: `torch.frac`.
    ```mlir
    %y = dl.frac %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_ReciprocalOp : DL_UnaryOp<"reciprocal", "reciprocal(Tensor x)", DL_FloatTensor, "1.0 / x"> {
  let precision = "wide";
  let summary = "Reciprocal, 1 / x";
  let onnx = "Reciprocal(x)";
  let description = [{
    PyTorch: `torch.reciprocal`.
    ```mlir
    %y = dl.reciprocal %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_SquareOp : DL_UnaryOp<"square", "square(Tensor x)", DL_NumberTensor, "x * x"> {
  let precision = "wide";
  let summary = "x * x";
  let description = [{
    Integers wrap. PyTorch: `torch.square`.
    ```mlir
    %y = dl.square %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_LogAddExpOp : DL_BinaryOp<"logaddexp", "logaddexp(Tensor x, Tensor other)", DL_FloatTensor,
    [{
    select(x == other, x + 0.69314718055994530942,
           max(x, other) + log1p(exp(-abs(x - other)))) }], [Commutative]> {
  let precision = "wide";
  let summary = "Logarithm of the sum of two exponentials";
  let description = [{
    From the larger of the two on, so that nothing overflows. PyTorch: `torch.logaddexp`.
    ```mlir
    %y = dl.logaddexp %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_NanToNumOp : DL_UnaryOp<"nan_to_num",
    "nan_to_num(Tensor x, float nan=0.0, float? posinf=None, float? neginf=None)",
    DL_Tensor, [{
    [&] {
      auto dtype = ::llvm::dyn_cast<::mlir::FloatType>(::mlir::getElementTypeOrSelf(getX()));
      if (!dtype)
        return x;
      const ::llvm::fltSemantics &format = dtype.getFloatSemantics();
      double largest = ::llvm::APFloat::getLargest(format).convertToDouble();
      double inf = std::numeric_limits<double>::infinity();
      Scalar high = x.constant(getPosinf() ? getPosinf()->convertToDouble() : largest);
      Scalar low = x.constant(getNeginf() ? getNeginf()->convertToDouble() : -largest);
      Scalar finite = select(x == x.constant(inf), high, select(x == x.constant(-inf), low, x));
      return select(isNan(x), x.constant(getNan().convertToDouble()), finite);
    }() }]> {
  let summary = "x with numbers in place of NaN and infinities";
  let description = [{
    Infinities become the largest numbers of the dtype where none are given. Integers and bools stay
    as they are. PyTorch: `torch.nan_to_num`.
    ```mlir
    %y = dl.nan_to_num %x {nan = 0.5 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DefaultValuedAttr<F64Attr, "0.0">:$nan,
                       OptionalAttr<F64Attr>:$posinf,
      OptionalAttr<F64Attr>:$neginf);
}
def DL_ClampOp : DL_NumbersOp<"clamp",
    "clamp(Tensor x, float? min=None, float? max=None)\nclip(Tensor x, float? min=None, float? max=None)", DL_NumberTensor, [{
    [&] {
      Scalar y = getMin() ? max(x, getMin()->convertToDouble()) : x;
      return getMax() ? min(y, getMax()->convertToDouble()) : y;
    }() }], "adaptor.getMin(), adaptor.getMax()"> {
  let summary = "The nearest value between two numbers";
  let description = [{
    min(max(x, min), max); either may be missing. NaN stays NaN.
    PyTorch: `torch.clamp`.
    ```mlir
    %y = dl.clamp %x {max = 6.0 : f64, min = 0.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, OptionalAttr<F64Attr>:$min, OptionalAttr<F64Attr>:$max);
}
def DL_ClampTensorOp : DL_TernaryOp<"clamp_tensor",
    "clamp(Tensor x, Tensor min, Tensor max)\nclip(Tensor x, Tensor min, Tensor max)",
    DL_NumberTensor, ["x", "low", "high"], "min(max(x, low), high)"> {
  let summary = "The nearest value between two others";
  let description = [{
    min(max(x, low), high): `high` where it lies below `low`. NaN in any gives NaN. PyTorch:
    `torch.clamp` between tensors.
    ```mlir
    %y = dl.clamp_tensor %a, %b, %c : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) ->
        tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$low, DL_NumberTensor:$high);
}
def DL_LerpOp : DL_TernaryOp<"lerp", "lerp(Tensor x, Tensor end, Tensor weight)", DL_FloatTensor,
    ["x", "end", "weight"],
    "select(weight < 0.5, x + weight * (end - x), end - (end - x) * (1.0 - weight))"> {
  let summary = "Linear interpolation from x to end";
  let description = [{
    x + weight (end - x), exact at both ends. PyTorch: `torch.lerp`.
    ```mlir
    %y = dl.lerp %a, %b, %c : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$end, DL_FloatTensor:$weight);
}
def DL_AddcmulOp : DL_TernaryOp<"addcmul",
                                "addcmul(Tensor x, Tensor tensor1, Tensor tensor2, float value=1)",
    DL_NumberTensor, ["x", "tensor1", "tensor2"],
    "x + getValue().convertToDouble() * tensor1 * tensor2"> {
  let summary = "x + value * tensor1 * tensor2";
  let description = [{
    PyTorch: `torch.addcmul`.
    ```mlir
    %y = dl.addcmul %a, %b, %c {value = 0.5 : f64} :
        (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$tensor1, DL_NumberTensor:$tensor2,
      DefaultValuedAttr<F64Attr, "1.0">:$value);
}
def DL_AddcdivOp : DL_TernaryOp<"addcdiv",
                                "addcdiv(Tensor x, Tensor tensor1, Tensor tensor2, float value=1)",
    DL_FloatTensor, ["x", "tensor1", "tensor2"],
    "x + getValue().convertToDouble() * tensor1 / tensor2"> {
  let precision = "wide";
  let summary = "x + value * tensor1 / tensor2";
  let description = [{
    PyTorch: `torch.addcdiv`.
    ```mlir
    %y = dl.addcdiv %a, %b, %c {value = 0.5 : f64} :
        (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$tensor1, DL_FloatTensor:$tensor2,
      DefaultValuedAttr<F64Attr, "1.0">:$value);
}
def DL_CastOp : DL_ElementwiseOp<"cast", "cast(Tensor x, ScalarType dtype)\nto(Tensor x, ScalarType dtype)", [{
    x.castTo(getDtype()) }], []> {
  let precision = "wide";
  let summary = "Conversion to another dtype";
  let description = [{
    Rounds to nearest even between floats, truncates from float to integer, compares with zero to
    bool. Beyond the range of an integer type, where PyTorch leaves it open, floats give its nearest
    number, NaN gives 0. PyTorch: `Tensor.to(dtype)`.
    ```mlir
    %y = dl.cast %x {dtype = f16} : (tensor<4x8xf32>) -> tensor<4x8xf16>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, TypeAttr:$dtype);
  let results = (outs DL_AnyTensor:$y);
  let scalars = "Scalar x(builder, loc, args[0], ::dlc::dl::kindOf(getX()));";
  let inferDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location>, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(::dlc::dl::withElementType(
          ::mlir::cast<::mlir::RankedTensorType>(adaptor.getX().getType()), adaptor.getDtype()));
      return ::mlir::success();
    }
  }];
  let hasFolder = 1;
}
def DL_BitcastOp : DL_ElementwiseOp<"bitcast", "bitcast(Tensor x, ScalarType dtype)", [{
    x.reinterpretedAs(::mlir::getElementTypeOrSelf(getX().getType()), getDtype()) }], []> {
  let precision = "wide";
  let summary = "The bits of each element as another dtype of the same size";
  let description = [{
    The bits of a NaN too. A bool is a byte, 0 or 1; of a byte that becomes one, all but 0 is true.
    PyTorch: `Tensor.view(dtype)`, for dtypes of one size.
    ```mlir
    %y = dl.bitcast %x {dtype = i32} : (tensor<4x8xf32>) -> tensor<4x8xi32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, TypeAttr:$dtype);
  let results = (outs DL_AnyTensor:$y);
  let scalars = "Scalar x(builder, loc, args[0], ::dlc::dl::kindOf(getX()));";
  let inferDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::dlc::dl::inferBitcast(getOperationName(), location, adaptor.getX(),
                                     adaptor.getDtype(), types);
    }
  }];
  let hasFolder = 1;
}

#endif // DLC_IR_DL_DLELEMENTWISE_TD
