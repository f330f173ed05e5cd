//===- DLElementwise.td - Scalar functions at each index ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of a record is all that dlc knows about what the op computes: see ir/scalar/Scalar.h.
#ifndef DLC_IR_DL_DLELEMENTWISE_TD
#define DLC_IR_DL_DLELEMENTWISE_TD

include "ir/dl/DLBase.td"

class DL_ElementwiseOp<string mnemonic, string torchSchema, code body, list<Trait> traits>
    : DL_LoopOp<mnemonic, torchSchema, ["emitResult"],
                traits # [Elementwise, DeclareOpInterfaceMethods<ElementwiseOpInterface>]> {
  string scalars = "";
  string inferDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::dlc::dl::inferElementwise(getOperationName(), location, adaptor.getOperands().getTypes(), types);
    }
  }];
  let extraClassDefinition = compatibleDefinition # inferDefinition # [{
    ::dlc::LoopNest $cppClass::getLoopNest() { return ::dlc::elementwiseNest(*this); }
    ::mlir::Value $cppClass::emitResult(::dlc::BodyContext &context, ::mlir::ValueRange args,
                                        ::mlir::ValueRange) {
      return emitScalar(context.builder, context.loc, args);
    }
    ::mlir::Value $cppClass::emitScalar(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                        ::mlir::ValueRange args) {
      using ::dlc::Scalar;
      }] # scalars # [{
      return (}] # body # [{).value();
    }
  }];
}

class DL_UnaryOp<string mnemonic, string torchSchema, Type type, code body, list<Trait> traits = []>
    : DL_ElementwiseOp<mnemonic, torchSchema, body, traits> {
  let arguments = (ins type:$x);
  let results = (outs type:$y);
  let scalars = "Scalar x(builder, loc, args[0], ::dlc::dl::kindOf(getX()));";
}

class DL_BinaryOp<string mnemonic, string torchSchema, Type type, code body, list<Trait> traits = []>
    : DL_ElementwiseOp<mnemonic, torchSchema, body, traits> {
  let arguments = (ins type:$x, type:$other);
  let results = (outs type:$y);
  let scalars = [{
    Scalar x(builder, loc, args[0], ::dlc::dl::kindOf(getX()));
    Scalar other(builder, loc, args[1], ::dlc::dl::kindOf(getOther()));
  }];
}

def DL_AddOp : DL_BinaryOp<"add", "add(Tensor x, Tensor other)", DL_NumberTensor, "x + other", [Commutative]> {
  let summary = "Sum";
  let description = [{
    Integers wrap. PyTorch: `torch.add`.
    ```mlir
    %y = dl.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_SubOp : DL_BinaryOp<"sub", "sub(Tensor x, Tensor other)", DL_NumberTensor, "x - other"> {
  let summary = "Difference";
  let description = [{
    Integers wrap. PyTorch: `torch.sub`.
    ```mlir
    %y = dl.sub %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_MulOp : DL_BinaryOp<"mul", "mul(Tensor x, Tensor other)", DL_NumberTensor, "x * other", [Commutative]> {
  let summary = "Product";
  let description = [{
    Integers wrap. PyTorch: `torch.mul`.
    ```mlir
    %y = dl.mul %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_DivOp : DL_BinaryOp<"div", "div(Tensor x, Tensor other)", DL_FloatTensor, "x / other"> {
  let summary = "True quotient";
  let description = [{
    IEEE division; the language casts integers to f32 first, as PyTorch does. PyTorch: `torch.div`.
    ```mlir
    %y = dl.div %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_MaximumOp : DL_BinaryOp<"maximum", "maximum(Tensor x, Tensor other)\nmax(Tensor x, Tensor other)",
                               DL_NumberTensor, "max(x, other)", [Commutative]> {
  let summary = "Larger of two values";
  let description = [{
    NaN in either gives NaN. PyTorch: `torch.maximum`, `torch.max` of two tensors.
    ```mlir
    %y = dl.maximum %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_MinimumOp : DL_BinaryOp<"minimum", "minimum(Tensor x, Tensor other)\nmin(Tensor x, Tensor other)",
                               DL_NumberTensor, "min(x, other)", [Commutative]> {
  let summary = "Smaller of two values";
  let description = [{
    NaN in either gives NaN. PyTorch: `torch.minimum`, `torch.min` of two tensors.
    ```mlir
    %y = dl.minimum %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_NegOp : DL_UnaryOp<"neg", "neg(Tensor x)", DL_NumberTensor, "-x"> {
  let summary = "Negation";
  let description = [{
    Flips the sign of floats (-0 from +0); integers wrap. PyTorch: `torch.neg`.
    ```mlir
    %y = dl.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_ExpOp : DL_UnaryOp<"exp", "exp(Tensor x)", DL_FloatTensor, "exp(x)"> {
  let summary = "Exponential";
  let description = [{
    PyTorch: `torch.exp`.
    ```mlir
    %y = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_LogOp : DL_UnaryOp<"log", "log(Tensor x)", DL_FloatTensor, "log(x)"> {
  let summary = "Natural logarithm";
  let description = [{
    -inf at 0, NaN below. PyTorch: `torch.log`.
    ```mlir
    %y = dl.log %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_SqrtOp : DL_UnaryOp<"sqrt", "sqrt(Tensor x)", DL_FloatTensor, "sqrt(x)"> {
  let summary = "Square root, correctly rounded";
  let description = [{
    NaN below 0. PyTorch: `torch.sqrt`.
    ```mlir
    %y = dl.sqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_TanhOp : DL_UnaryOp<"tanh", "tanh(Tensor x)", DL_FloatTensor, "tanh(x)"> {
  let summary = "Hyperbolic tangent";
  let description = [{
    PyTorch: `torch.tanh`.
    ```mlir
    %y = dl.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_SigmoidOp : DL_UnaryOp<"sigmoid", "sigmoid(Tensor x)", DL_FloatTensor, "1.0 / (1.0 + exp(-x))"> {
  let summary = "Logistic function";
  let description = [{
    1 / (1 + exp(-x)). PyTorch: `torch.sigmoid`.
    ```mlir
    %y = dl.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_ReluOp : DL_UnaryOp<"relu", "relu(Tensor x)", DL_NumberTensor, "max(x, 0.0)"> {
  let summary = "Rectifier, max(x, 0)";
  let description = [{
    NaN stays NaN. PyTorch: `torch.relu`.
    ```mlir
    %y = dl.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_GeluOp : DL_UnaryOp<"gelu", "gelu(Tensor x, str approximate='none')", DL_FloatTensor, [{
    // Both forms without the cancellation of 1 + erf and 1 + tanh where x is negative.
    getApproximate() == "tanh"
      ? x / (1.0 + exp(-1.59576912160573071176 * (x + 0.044715 * x * x * x)))
      : 0.5 * x * erfc(x * -0.70710678118654752440) }]> {
  let summary = "Gaussian error linear unit";
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
def DL_SiluOp : DL_UnaryOp<"silu", "silu(Tensor x)", DL_FloatTensor, "x / (1.0 + exp(-x))"> {
  let summary = "Sigmoid linear unit, x * sigmoid(x)";
  let description = [{
    Also known as swish. NaN at -inf. PyTorch: `torch.nn.functional.silu`.
    ```mlir
    %y = dl.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_CastOp : DL_ElementwiseOp<"cast", "cast(Tensor x, ScalarType dtype)\nto(Tensor x, ScalarType dtype)", [{
    x.castTo(getDtype()) }], []> {
  let summary = "Conversion to another dtype";
  let description = [{
    Rounds to nearest even between floats, truncates from float to integer, compares with zero to bool.
    PyTorch: `Tensor.to(dtype)`.
    ```mlir
    %y = dl.cast %x {dtype = f16} : (tensor<4x8xf32>) -> tensor<4x8xf16>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, TypeAttr:$dtype);
  let results = (outs DL_Tensor:$y);
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

#endif // DLC_IR_DL_DLELEMENTWISE_TD
