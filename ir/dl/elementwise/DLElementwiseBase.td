//===- DLElementwiseBase.td - Classes of the elementwise families -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of a record is all that dlc knows about what the op computes: see ir/scalar/Scalar.h.
#ifndef DLC_IR_DL_DLELEMENTWISEBASE_TD
#define DLC_IR_DL_DLELEMENTWISEBASE_TD

include "ir/dl/base/DLBase.td"

/// `inference` is the function that infers the result type: inferElementwise, inferPredicate or
/// inferChoice.
class DL_ElementwiseOp<string mnemonic, string torchSchema, code body, list<Trait> traits,
                       string inference = "inferElementwise">
    : DL_LoopOp<mnemonic, torchSchema, ["emitResult"],
                traits # [Elementwise, DeclareOpInterfaceMethods<ElementwiseOpInterface>]> {
  string scalars = "";
  let precision = "follow";
  string inferDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location> location,
        [[maybe_unused]] Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::dlc::dl::}] # inference # [{(getOperationName(), location, adaptor.getOperands(),
      types);
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

class DL_UnaryOp<string mnemonic, string torchSchema, Type type, code body, list<Trait> traits = [],
                 string inference = "inferElementwise">
    : DL_ElementwiseOp<mnemonic, torchSchema, body, traits, inference> {
  let arguments = (ins type:$x);
  let results = (outs type:$y);
  let scalars = "Scalar x(builder, loc, args[0], ::dlc::dl::kindOf(getX()));";
}

class DL_BinaryOp<string mnemonic, string torchSchema, Type type, code body,
                  list<Trait> traits = [],
                  string inference = "inferElementwise">
    : DL_ElementwiseOp<mnemonic, torchSchema, body, traits, inference> {
  let arguments = (ins type:$x, type:$other);
  let results = (outs type:$y);
  let scalars = [{
    Scalar x(builder, loc, args[0], ::dlc::dl::kindOf(getX()));
    Scalar other(builder, loc, args[1], ::dlc::dl::kindOf(getOther()));
  }];
}

/// Three tensors, the first of them a condition if `inference` is inferChoice.
class DL_TernaryOp<string mnemonic, string torchSchema, Type type, list<string> names, code body,
                   string inference = "inferElementwise">
    : DL_ElementwiseOp<mnemonic, torchSchema, body, [], inference> {
  let results = (outs type:$y);
  let scalars = "Scalar " # names[0] # "(builder, loc, args[0], ::dlc::dl::kindOf(getOperand(0)));\n"
      # "Scalar " # names[1] # "(builder, loc, args[1], ::dlc::dl::kindOf(getOperand(1)));\n"
      # "Scalar " # names[2] # "(builder, loc, args[2], ::dlc::dl::kindOf(getOperand(2)));\n";
}
/// An elementwise op with number attributes that follow the dtype of an integer tensor: fractions
/// are refused, and the language casts the tensor instead. `numbers` is an expression on `adaptor`
/// that lists them.
class DL_NumbersOp<string mnemonic, string torchSchema, Type type, code body, string numbers>
    : DL_UnaryOp<mnemonic, torchSchema, type, body> {
  let inferDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::dlc::dl::inferWithNumbers(getOperationName(), location, adaptor.getOperands(),
                                         {}] # numbers # [{}, types);
    }
  }];
}

#endif // DLC_IR_DL_DLELEMENTWISEBASE_TD
