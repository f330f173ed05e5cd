//===- DLDialect.td - The dl dialect and its attributes ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLDIALECT_TD
#define DLC_IR_DL_DLDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"

def DL_Dialect : Dialect {
  let name = "dl";
  let cppNamespace = "::dlc::dl";
  let summary = "Neural networks as dataflow over immutable tensors";
  let description = [{
    What a model means, before any decision about how to run it. Values are ranked tensors whose
    dims may be symbolic (`#dl.t`); ops carry PyTorch's names, arguments and defaults.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class DL_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<DL_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

/// The functions of derived sizes. A size is an integer or, inside a definition, a real number.
def DL_SizeFunction
    : I32EnumAttr<"SizeFunction", "A function of sizes that is not a polynomial",
                  [// Of two integers or two real numbers; `equal` and `less` return 1 or 0.
                   I32EnumAttrCase<"min", 0>, I32EnumAttrCase<"max", 1>,
                   I32EnumAttrCase<"equal", 2>, I32EnumAttrCase<"less", 3>,
                   // (condition, then, otherwise)
                   I32EnumAttrCase<"select", 4>,
                   // Division of integers, rounded towards zero; 0 for a divisor of 0.
                   I32EnumAttrCase<"quotient", 5>, I32EnumAttrCase<"remainder", 6>,
                   // From integers to real numbers and back, towards zero.
                   I32EnumAttrCase<"real", 7>, I32EnumAttrCase<"integer", 8>,
                   // Arithmetic of real numbers in f64. `single` rounds to f32.
                   I32EnumAttrCase<"single", 9>, I32EnumAttrCase<"sum", 10>,
                   I32EnumAttrCase<"difference", 11>, I32EnumAttrCase<"product", 12>,
                   I32EnumAttrCase<"ratio", 13>, I32EnumAttrCase<"floor", 14>,
                   I32EnumAttrCase<"ceil", 15>, I32EnumAttrCase<"nearest", 16>,
                   I32EnumAttrCase<"root", 17>]> {
  let cppNamespace = "::dlc::dl";
  let genSpecializedAttr = 0;
}

def DL_DerivedAttr : DL_Attr<"Derived", "derived"> {
  let summary = "How a derived size is computed from other sizes";
  let description = [{
    A function of operands. An operand is a dim over earlier symbols (an affine map of one result),
    a real number (an f64 attribute) or another `#dl.derived`. ir/dl/base/DerivedSize.h computes
    values and ranges.
    ```mlir
    #dl.derived<min(affine_map<()[s0] -> (s0 * 2)>, affine_map<() -> (100)>)>
    ```
  }];
  let parameters = (ins EnumParameter<DL_SizeFunction>:$function,
                        ArrayRefParameter<"::mlir::Attribute">:$operands);
  let assemblyFormat = "`<` $function `(` $operands `)` `>`";
  let genVerifyDecl = 1;
}

def DL_SymbolAttr : DL_Attr<"Symbol", "symbol"> {
  let summary = "A symbolic dim and its range, min and max included";
  let description = [{
    The module attribute `dl.symbols` is an array of these; `s0` in a `#dl.t` is its first entry.
    ```mlir
    module attributes {dl.symbols = [#dl.symbol<"N", 1, 1024>]} {}
    ```
    With `usual`, schedules choose for this size what they must choose for one of them; what they
    make holds for all.
    ```mlir
    module attributes {dl.symbols = [#dl.symbol<"N", 1, 1024 usual 8>]} {}
    ```
    With `step`, the name belongs to `step` times the symbol plus `offset`, and so do messages;
    range and `usual` are the symbol's. Here H is 32, 64, ..., 4096.
    ```mlir
    module attributes {dl.symbols = [#dl.symbol<"H", 1, 128 step 32>]} {}
    ```
    With `derived`, the symbol is computed from the symbols before it when shapes are bound. It may
    be negative.
    ```mlir
    module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>,
                                     #dl.symbol<"few", 1, 4 derived
                                     <min(affine_map<()[s0] -> (s0)>, affine_map<() -> (4)>)>>]} {}
    ```
    With `read`, no input says what it is: an op does while the model runs (`dl.read`), or the
    result of an `if` or a loop has it as a dim. It may be negative.
    ```mlir
    module attributes {dl.symbols = [#dl.symbol<"length", 0, 4096 read true>]} {}
    ```
    `why` says where a range or a step comes from; the runtime ends with it the message about
    another size. With `most`, one dim over the symbols before it, it is **counted**: the data say
    what it is, from 0 to `most`, and while the model runs it is `most`, the elements behind the
    real ones being padding. Behind the outputs, the model's function returns the numbers of the
    real ones, a tensor<i64> with the attribute `dl.count` for each counted symbol in their order;
    callers see the outputs cut to them, and not these results.
    ```mlir
    module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>,
                                     #dl.symbol<"found", 0, 32, most = ()[s0] -> (s0 * 4)>]} {}
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$min, "int64_t":$max,
                        DefaultValuedParameter<"int64_t", "0">:$usual, // 0: none
                        DefaultValuedParameter<"int64_t", "1">:$step,
                        DefaultValuedParameter<"int64_t", "0">:$offset,
                        OptionalParameter<"::dlc::dl::DerivedAttr">:$derived,
                        StringRefParameter<"why the range or step is what it is", "\"\"">:$why,
                        OptionalParameter<"::mlir::AffineMap">:$most,
                        DefaultValuedParameter<"bool", "false">:$read);
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name, "int64_t":$min, "int64_t":$max,
                                   CArg<"int64_t", "0">:$usual), [{
                    return $_get($_ctxt, name, min, max, usual, /*step=*/1, /*offset=*/0,
                                 DerivedAttr(), "", ::mlir::AffineMap(), /*read=*/false);
                  }]>,
                  AttrBuilder<(ins "::llvm::StringRef":$name, "int64_t":$min, "int64_t":$max,
                                   "::dlc::dl::DerivedAttr":$derived), [{
                    return $_get($_ctxt, name, min, max, /*usual=*/0, /*step=*/1, /*offset=*/0,
                                 derived, "", ::mlir::AffineMap(), /*read=*/false);
                  }]>,
                  AttrBuilder<(ins "::llvm::StringRef":$name, "int64_t":$min, "int64_t":$max,
                                   "::mlir::AffineMap":$most), [{
                    return $_get($_ctxt, name, min, max, /*usual=*/0, /*step=*/1, /*offset=*/0,
                                 DerivedAttr(), "", most, /*read=*/false);
                  }]>];
  let assemblyFormat = [{
    `<` $name `,` $min `,` $max (`usual` $usual^)? (`step` $step^)? (`offset` $offset^)?
    (`derived` $derived^)? (`read` $read^)? (`why` $why^)? (`,` `most` `=` $most^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The data say what it is.
    bool isCounted() const { return static_cast<bool>(getMost()); }
    /// It is computed from other symbols.
    bool isDerived() const { return static_cast<bool>(getDerived()); }
    /// An op of the model says what it is, while the model runs.
    bool isRead() const { return getRead(); }
    /// The size that the name belongs to where the symbol is `value`.
    int64_t sizeAt(int64_t value) const { return getStep() * value + getOffset(); }
  }];
}

def DL_TensorAttr : DL_Attr<"Tensor", "t",
                            [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Symbolic dims and physical layout of a tensor";
  let description = [{
    The encoding of every tensor that has a dynamic dim or is not row-major. `dims` are expressions
    over the module's symbols. `order` names the logical dims from outermost to innermost in memory
    (empty: row-major). With `tile`, that dim is cut into tiles of so many elements, count rounded
    up, the tail zero-filled, and the tile lies innermost.
    ```mlir
    tensor<?x32x26x26xf32, #dl.t<[s0, 32, 26, 26], order = [0, 2, 3, 1]>>     // channels last
    tensor<100x784xf32, #dl.t<[100, 784], order = [0, 1], tile = 16 of 0>>    // panels [7][784][16]
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::AffineExpr">:$dims,
                        OptionalArrayRefParameter<"int64_t">:$order,
                        "int64_t":$tileDim, "int64_t":$tile);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

/// Each case has a text in ir/dl/structure/Reasons.cpp.
def DL_NotFused
    : I32EnumAttr<"NotFused", "Why an op is not in one kernel with another whose value it reads",
                  [I32EnumAttrCase<"separate", 0>, I32EnumAttrCase<"no_fuse", 1>,
                   I32EnumAttrCase<"reshaped", 2>, I32EnumAttrCase<"several_users", 3>,
                   I32EnumAttrCase<"at_load", 4>, I32EnumAttrCase<"narrow_operand", 5>,
                   I32EnumAttrCase<"too_many_places", 6>, I32EnumAttrCase<"too_many_inputs", 7>,
                   // A map that its reader would compute wherever it reads it.
                   I32EnumAttrCase<"computed_index", 8>, I32EnumAttrCase<"checked_index", 9>,
                   I32EnumAttrCase<"read_by_product", 10>, I32EnumAttrCase<"read_again", 11>,
                   I32EnumAttrCase<"overlapping_windows", 12>,
                   I32EnumAttrCase<"joined_rows", 13>,
                   // The op has a kernel of its own, or a root.
                   I32EnumAttrCase<"recurrence", 14>, I32EnumAttrCase<"lines", 15>,
                   I32EnumAttrCase<"two_roots", 16>, I32EnumAttrCase<"other_dims", 17>,
                   I32EnumAttrCase<"other_index", 18>,
                   // The tensors of a dl.cat: in place, or why not.
                   I32EnumAttrCase<"in_place", 19>, I32EnumAttrCase<"part_not_computed", 20>,
                   I32EnumAttrCase<"part_reads_part", 21>, I32EnumAttrCase<"part_unaligned", 22>,
                   I32EnumAttrCase<"part_layout", 23>, I32EnumAttrCase<"part_read_dense", 24>,
                   I32EnumAttrCase<"part_twice", 25>,
                   // Layers of a stack of recurrences.
                   I32EnumAttrCase<"layer_kind", 26>, I32EnumAttrCase<"layer_units", 27>,
                   I32EnumAttrCase<"layer_direction", 28>, I32EnumAttrCase<"layer_lengths", 29>,
                   I32EnumAttrCase<"layer_type", 30>, I32EnumAttrCase<"layer_weight", 31>,
                   I32EnumAttrCase<"layer_shared", 32>, I32EnumAttrCase<"layer_read", 33>,
                   I32EnumAttrCase<"layer_end", 34>, I32EnumAttrCase<"slower_waves", 35>,
                   // Groups that a kernel of rows might compute.
                   I32EnumAttrCase<"other_rows", 36>, I32EnumAttrCase<"few_rows", 37>,
                   I32EnumAttrCase<"slower_rows", 38>, I32EnumAttrCase<"short_rows", 39>]> {
  let cppNamespace = "::dlc::dl";
  let genSpecializedAttr = 0;
}

/// Each case has a text in ir/dl/structure/Reasons.cpp.
def DL_Converted
    : I32EnumAttr<"Converted", "Why a tensor is converted to another layout",
                  [I32EnumAttrCase<"taken", 0>, I32EnumAttrCase<"returned", 1>,
                   I32EnumAttrCase<"fixed", 2>, I32EnumAttrCase<"cheapest", 3>]> {
  let cppNamespace = "::dlc::dl";
  let genSpecializedAttr = 0;
}
def DL_ConvertedAttr : EnumAttr<DL_Dialect, DL_Converted, "converted">;

def DL_FusionEdgeAttr : DL_Attr<"FusionEdge", "edge"> {
  let summary = "Why a fusion reads what another one writes";
  let description = [{
    `input` is the number of the input that the other fusion writes, `reader` the op of this fusion
    that reads it first, `producer` the op of the other one that computes it, and `why` says why the
    two are not one fusion.
    ```mlir
    #dl.edge<input = 0, reader = "sum", producer = "linear", why = several_users>
    ```
  }];
  let parameters = (ins "int64_t":$input, StringRefParameter<>:$reader,
                        StringRefParameter<>:$producer, EnumParameter<DL_NotFused>:$why);
  let assemblyFormat = "`<` struct(params) `>`";
}
def DL_FusionEdges : TypedArrayAttrBase<DL_FusionEdgeAttr, "edges between fusions">;

#endif // DLC_IR_DL_DLDIALECT_TD
