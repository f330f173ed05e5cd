//===- DLBase.td - Classes that the op families derive from -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLBASE_TD
#define DLC_IR_DL_DLBASE_TD

include "ir/dl/DLDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "ir/interfaces/Decomposable.td"
include "ir/interfaces/LoopNest.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

defvar DL_Floats = [F16, BF16, F32, F64];
defvar DL_Integers = [I8, I16, I32, I64, UI8, UI16, UI32, UI64];
/// What tensors are stored in but not computed with: one element a byte, floats as their bits,
/// integers as i8 or u8.
defvar DL_Small = [F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F4E2M1FN, I<4>, UI<4>, I<2>,
                   UI<2>];
def DL_FloatTensor : RankedTensorOf<DL_Floats>;
def DL_NumberTensor : RankedTensorOf<DL_Floats # DL_Integers>;
def DL_Tensor : RankedTensorOf<DL_Floats # DL_Integers # [I1]>;
/// Of any dtype: for ops that move elements, and for conversions.
def DL_AnyTensor : RankedTensorOf<DL_Floats # DL_Integers # [I1] # DL_Small>;
def DL_BitsTensor : RankedTensorOf<DL_Integers # [I1]>;
def DL_IndexTensor : RankedTensorOf<[I32, I64]>;
def DL_BoolTensor : RankedTensorOf<[I1]>;

/// An op of the dialect. `torchSchema` is how the language and the importers call it: one or more
/// lines in the grammar of PyTorch's native_functions, parameters named as the operands and
/// attributes; empty where users cannot call it. Tensor arguments are the operands in order,
/// BoolTensor those that are conditions, IntTensor those for which an integer may stand; an
/// attribute is found by its name:
///   int -> I64Attr, int[] and int[n] -> DenseI64ArrayAttr (one int stands for n), float ->
///   F64Attr, float[] -> DenseF64ArrayAttr (one float stands for a list of it), bool -> BoolAttr,
///   str -> StrAttr, ScalarType -> TypeAttr, SymInt and SymInt[] -> AffineMapAttr ()[symbols] ->
///   (dims); None leaves an optional out.
/// A constant in place of the type (`True return_indices`, `'floor' rounding_mode`,
/// `None dim=None`) is the only value that this way of calling takes: it tells the ways apart, and
/// no attribute stands for it. A ScalarType without an attribute of the op converts the first
/// tensor before the op and the result after it. Other arguments without an attribute change
/// nothing (`bool inplace=False`, `float momentum=0.1`). A first tensor named `self` makes a way of
/// calling that methods alone have: `x.unfold(0, 2, 1)`. `batchedRank` is the rank of the first
/// tensor where it begins with a batch that PyTorch lets callers leave out; 0 elsewhere. The
/// language adds a batch of one, and takes it off the results. An op of one result says nothing
/// about it; one of several ends in "-> (Tensor values, Tensor indices)", or in "-> Tensor[]" where
/// their number depends on the arguments. The language gets a tuple. `onnx` are the ONNX ops that
/// this op computes as it stands: lines "Name@since-until(params)", where the opsets may be left
/// out. A param is an operand in the order of ONNX's inputs ("x", "bias?" where it may be left out,
/// "tensors*" for all that follow), "attribute=name" for the ONNX attribute `name`,
/// "attribute=name:default" where ONNX's default is not PyTorch's, or "!name" and "!name=value": an
/// attribute of ONNX without meaning here, or with none other than that value. An ONNX op that is
/// put together otherwise has a function in frontend/onnx/ops. `precision` says what becomes of the
/// op where a model of f32 shall run in f16 or bf16 (the pass convert-precision; PrecisionRule):
/// narrow: it is worth casts of its operands, as products are, whose sums stay in f32; follow: it
/// runs as its operands come; wide: it stays in f32, for its result may be far larger or smaller
/// than its operands, or is a place. `counted`: how many elements some results have depends on the
/// data. These are as large as they may be, padded with zeros at the end of a dim, and the op's
/// last result, a tensor<i64>, is how many are real. It lists the names of the other results in
/// order, "name:0" where dim 0 is padded ("name:dim": the one that the attribute `dim` names, else
/// 0); a schema picks those that it gives by their names, the first without. Callers get them cut
/// by dl.trim to a counted symbol, and the count becomes a result of the model's function.
class DL_Op<string mnemonic, string torchSchema, list<Trait> traits = []>
    : Op<DL_Dialect, mnemonic, traits> {
  int batchedRank = 0;
  string onnx = "";
  string counted = "";
  string precision = "wide";
  string schemaDeclaration = "static constexpr ::llvm::StringLiteral kSchema = R\"(" # torchSchema # ")\";\n"
      # "static constexpr ::llvm::StringLiteral kSummary = R\"(" # summary # ")\";\n"
      # "static constexpr unsigned kBatchedRank = " # batchedRank # ";\n"
      # "static constexpr ::llvm::StringLiteral kOnnx = R\"(" # onnx # ")\";\n"
      # "static constexpr ::llvm::StringLiteral kCounted = R\"(" # counted # ")\";\n"
      # "static constexpr PrecisionRule kPrecision = PrecisionRule::" # precision # ";\n";
  let extraClassDeclaration = schemaDeclaration;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

/// An op whose result type follows from operands and attributes, its layout apart.
class DL_InferredOp<string mnemonic, string torchSchema, list<Trait> traits = []>
    : DL_Op<mnemonic, torchSchema, traits # [Pure, InferTypeOpAdaptorWithIsCompatible]> {
  string compatibleDefinition = [{
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
      return llvm::equal(inferred, actual, ::dlc::dl::sameShapeAndElement);
    }
  }];
  let extraClassDefinition = compatibleDefinition;
}

/// An inferred op that is computed by loops; `ownMethods` are the optional interface methods that
/// it defines.
class DL_LoopOp<string mnemonic, string torchSchema, list<string> ownMethods,
                list<Trait> traits = []>
    : DL_InferredOp<mnemonic, torchSchema,
                    traits # [DeclareOpInterfaceMethods<LoopNestOpInterface, ownMethods>]>;

/// An inferred op that other ops compute; it may have several results.
class DL_DecomposedOp<string mnemonic, string torchSchema, list<Trait> traits = []>
    : DL_InferredOp<mnemonic, torchSchema,
                    traits # [DeclareOpInterfaceMethods<DecomposableOpInterface>]>;

#endif // DLC_IR_DL_DLBASE_TD
