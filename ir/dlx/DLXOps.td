//===- DLXOps.td - The dlx dialect: a program of kernel launches over buffers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op corresponds to one table of runtime/schema/module.fbs.
#ifndef DLC_IR_DLX_DLXOPS_TD
#define DLC_IR_DLX_DLXOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def DLX_Dialect : Dialect {
  let name = "dlx";
  let cppNamespace = "::dlc::dlx";
  let summary = "Programs of kernel launches over buffers";
  let description = [{
    What a model does, in order, on one device. A buffer holds the value of a tensor, with its
    symbolic dims, dtype and physical layout; a kernel keeps the `dl` ops that it means until its
    target's schedule has made code of it.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def DLX_Buffer : TypeDef<DLX_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Memory that holds a tensor";
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

def DLX_KernelKind
    : I32EnumAttr<"KernelKind", "Which family of schedules a kernel needs",
                  [I32EnumAttrCase<"map", 0>, I32EnumAttrCase<"reduce", 1>,
                   I32EnumAttrCase<"window", 2>, I32EnumAttrCase<"contraction", 3>,
                   I32EnumAttrCase<"attention", 4>, I32EnumAttrCase<"recurrent", 5>,
                   I32EnumAttrCase<"lines", 6>, I32EnumAttrCase<"block_sparse", 7>,
                   I32EnumAttrCase<"chain", 8>, I32EnumAttrCase<"rows", 9>]> {
  let cppNamespace = "::dlc::dlx";
  let genSpecializedAttr = 0;
}
def DLX_KernelKindAttr : EnumAttr<DLX_Dialect, DLX_KernelKind, "kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def DLX_TensorMapAttr : AttrDef<DLX_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "A matrix that a kernel copies by tensor maps";
  let description = [{
    `input` is the kernel's input that the map describes. `shape` is its columns, rows and elements
    from row to row, an affine map over the module's symbols. `box` is the columns and rows of what
    one copy brings, in rows of 128 bytes.
  }];
  let parameters = (ins "int64_t":$input, "::mlir::AffineMapAttr":$shape,
      "::mlir::DenseI64ArrayAttr":$box);
  let assemblyFormat = "`<` struct(params) `>`";
}
def DLX_TensorMaps : TypedArrayAttrBase<DLX_TensorMapAttr, "tensor maps">;

def DLX_VariantAttr : AttrDef<DLX_Dialect, "Variant"> {
  let mnemonic = "variant";
  let summary = "A kernel that takes another's place";
  let description = [{
    `kernel` holds where each result of `of`, an affine map over the module's symbols, lies within
    its `limits`, the least and the most in turn: its code may be wrong elsewhere. With `gpu`, 90
    for sm_90a, its code is for that GPU alone.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$kernel,
      OptionalParameter<"::mlir::AffineMapAttr">:$of,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$limits,
      DefaultValuedParameter<"int64_t", "0">:$gpu);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def DLX_ChainAttr : AttrDef<DLX_Dialect, "Chain"> {
  let mnemonic = "chain";
  let summary = "A kernel that takes the place of several launches";
  let description = [{
    `kernel`, of kind chain, takes the place of this launch and of those after it, `launches` in
    all, whose inputs and then outputs, in turn, are its arguments. With `gpu`, 90 for sm_90a, its
    code is for that GPU alone.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$kernel, "int64_t":$launches,
      DefaultValuedParameter<"int64_t", "0">:$gpu);
  let assemblyFormat = "`<` struct(params) `>`";
}
def DLX_CallAttr : AttrDef<DLX_Dialect, "Call"> {
  let mnemonic = "call";
  let summary = "Where a call of the matrix library takes a kernel's place";
  let description = [{
    On GPUs of the architecture `gpu` (90 for sm_90; 0: on every one), where each result of `of`, an
    affine map over the module's symbols, lies within its `limits`, the least and the most in turn.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$gpu,
      OptionalParameter<"::mlir::AffineMapAttr">:$of,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$limits);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def DLX_Calls : TypedArrayAttrBase<DLX_CallAttr, "calls">;
def DLX_Variants : TypedArrayAttrBase<DLX_VariantAttr, "variants">;

def DLX_PlanAttr : AttrDef<DLX_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "How a kernel runs";
  let description = [{
    `schedule` is a name of the target's table of schedules, `numbers` what that schedule takes: the
    sides of a tile, the parts of a sum. `ns` is what the launch is estimated to take at the usual
    sizes of the symbols, in nanoseconds.
  }];
  let parameters = (ins StringRefParameter<"the schedule">:$schedule,
      OptionalParameter<"::mlir::DictionaryAttr">:$numbers, "int64_t":$ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The number called `name`, 0 where the plan has none.
    int64_t number(::llvm::StringRef name) const;
    static PlanAttr get(::mlir::MLIRContext *context, ::llvm::StringRef schedule, double ns,
                        ::llvm::ArrayRef<std::pair<::llvm::StringRef, int64_t>> numbers);
  }];
}
def DLX_Plans : TypedArrayAttrBase<DLX_PlanAttr, "plans">;

def DLX_PartAttr : AttrDef<DLX_Dialect, "Part"> {
  let mnemonic = "part";
  let summary = "Which part of a buffer a kernel writes";
  let description = [{
    Along `dim` the result's first index is the first result of `within`, an affine map over the
    module's symbols, and the buffer has as many indices as the second one says. Along the other
    dims the two are alike.
  }];
  let parameters = (ins "int64_t":$dim, "::mlir::AffineMapAttr":$within);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    ::mlir::AffineExpr getFirst() const { return getWithin().getValue().getResult(0); }
    ::mlir::AffineExpr getExtent() const { return getWithin().getValue().getResult(1); }
    /// The type of a buffer that `tensor` is this part of.
    ::mlir::RankedTensorType wholeOf(::mlir::RankedTensorType tensor) const;
  }];
  let genVerifyDecl = 1;
}

def DLX_FusionEdge
    : Attr<CPred<"::llvm::isa<::dlc::dl::FusionEdgeAttr>($_self)">, "edge between fusions">;
def DLX_FusionEdges : TypedArrayAttrBase<DLX_FusionEdge, "edges between fusions">;

class DLX_Op<string mnemonic, list<Trait> traits = []> : Op<DLX_Dialect, mnemonic, traits>;

def DLX_KernelOp : DLX_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock,
                                     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "One kernel: what it computes and, once scheduled, how it is launched";
  let description = [{
    The body computes the launch's outputs from its inputs with `dl` ops; its locations are the
    model's lines. `kind` is map, reduce, window or contraction, after the op with stages, or
    recurrent, lines, attention or block_sparse. The schedule adds the rest: `entry`, the function
    with the kernel's code; `dims`, the values passed behind the buffers; `grid`, blocks in x, y, z
    (cuda), or tiles, then phases (cpu); `block`, threads in x, y, z; `scratch`, bytes for each
    thread (cpu) or dynamic shared memory (cuda). Where the kernel is a plain matrix product, which
    a library can compute as well, `product` has its extents and steps in the order of the table
    Product of module.fbs, `product_inputs` which inputs are its factors; `product_tf32` lets it
    round them; `product_calls` is where it does so unasked. With `in_place` the result is a
    `dl.update_slice` of an input that lies where the result lies: the kernel writes what src
    reaches, and does not read that input. With `part` the result is written to that part of a
    buffer, whose other parts other kernels write.

    A schedule for cuda also says what the launch needs. The blocks of a `cooperative` kernel wait
    for each other. Those of a `persistent` one take tile after tile, so that the grid may be
    smaller than it says, and keep `kept_columns` in shared memory as far as the GPU takes them: the
    number of columns of weights and the bytes of one, in turn (runtime/schema/Residence.h).
    `tensor_maps` are arguments after the dims. `exchange` is how many floats its blocks pass each
    other, in memory that lies after the inputs and that launches use in turn (Storage::exchange of
    module.fbs).

    `plan` is how the kernel runs, `other_plans` are those that it could run by and that were
    estimated to be slower: what selects them (dl-select-schedules-cuda) decides, and building the
    code only carries out.

    `variants` are kernels of the same inputs and results that take this one's place: a launch takes
    the first that holds for its shapes and its GPU, else this kernel, which serves them all.

    A kernel of kind chain runs `stages`, other kernels, one after the other in one launch; its
    inputs and results are theirs. Its body says what all of them compute, each from its own inputs.
    ```mlir
    dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
    ^bb0(%x: tensor<4x8xf32>):
      %y = dl.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
      dl.yield %y : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DLX_KernelKindAttr:$kind,
      OptionalAttr<StrAttr>:$entry, OptionalAttr<AffineMapAttr>:$dims,
      OptionalAttr<AffineMapAttr>:$grid, OptionalAttr<DenseI64ArrayAttr>:$block,
      OptionalAttr<AffineMapAttr>:$scratch, OptionalAttr<AffineMapAttr>:$product,
      OptionalAttr<DenseI64ArrayAttr>:$product_inputs, UnitAttr:$product_tf32,
      OptionalAttr<DLX_Calls>:$product_calls, UnitAttr:$in_place, OptionalAttr<DLX_PartAttr>:$part,
      UnitAttr:$cooperative, UnitAttr:$persistent, OptionalAttr<DenseI64ArrayAttr>:$kept_columns,
      OptionalAttr<DLX_TensorMaps>:$tensor_maps, OptionalAttr<AffineMapAttr>:$exchange,
      OptionalAttr<DLX_Variants>:$variants, OptionalAttr<FlatSymbolRefArrayAttr>:$stages,
      OptionalAttr<DLX_PlanAttr>:$plan, OptionalAttr<DLX_Plans>:$other_plans);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "KernelKind":$kind), [{
    $_state.addAttribute(getSymNameAttrName($_state.name), $_builder.getStringAttr(name));
    $_state.addAttribute(getKindAttrName($_state.name),
                         KernelKindAttr::get($_builder.getContext(), kind));
    $_state.addRegion();
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBodyBlock() { return getBody().front(); }
    /// The tensors that the kernel writes, in the order of the launch's outputs.
    ::mlir::ValueRange getResultTensors();
    /// The type of the buffer that `result`, one of these, is written to: its own, but with `part`.
    ::mlir::RankedTensorType bufferTypeOf(::mlir::Value result);
  }];
}

def DLX_ProgramOp : DLX_Op<"program", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "The commands of a model, in order";
  let description = [{
    Block arguments are the model's inputs, then its states, which keep their values from run to
    run; `dlx.return` has its outputs and, until the buffers are planned, the new values of the
    states behind them. Launches marked `init` run once at load: they read weights and other
    persistent buffers alone and write persistent ones.
    ```mlir
    dlx.program @Tiny attributes {input_names = ["x"], output_names = ["y"]} {
    ^bb0(%x: !dlx.buffer<tensor<4x8xf32>>):
      %y = dlx.alloc : !dlx.buffer<tensor<4x8xf32>>
      dlx.launch @relu(%x) -> (%y) : (!dlx.buffer<tensor<4x8xf32>>) ->
          (!dlx.buffer<tensor<4x8xf32>>)
      dlx.return %y : !dlx.buffer<tensor<4x8xf32>>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$input_names,
      StrArrayAttr:$output_names, OptionalAttr<StrArrayAttr>:$state_names);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBodyBlock() { return getBody().front(); }
    unsigned getNumStates() { return getStateNames() ? getStateNames()->size() : 0; }
    /// The buffers of the states, in the order of their names.
    ::mlir::ValueRange getStates() {
      return ::mlir::ValueRange(getBodyBlock().getArguments()).take_back(getNumStates());
    }
  }];
}

def DLX_WeightOp : DLX_Op<"weight", [Pure]> {
  let summary = "The bytes of a parameter";
  let description = [{
    As `dl.weight`.
    ```mlir
    %w = dlx.weight "fc.weight" {file = "m.safetensors", offset = 64 : i64} :
        !dlx.buffer<tensor<10x8xf32>>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<StrAttr>:$file,
      DefaultValuedAttr<I64Attr, "0">:$offset, DefaultValuedStrAttr<StrAttr, "">:$hash,
      OptionalAttr<StrAttr>:$source);
  let results = (outs DLX_Buffer:$buffer);
  let assemblyFormat = "$name attr-dict `:` type($buffer)";
}

def DLX_AllocOp : DLX_Op<"alloc"> {
  let summary = "Memory between its first and its last use";
  let description = [{
    A `persistent` one is written by the init commands and lives as long as the module is loaded.
    ```mlir
    %t = dlx.alloc {persistent} : !dlx.buffer<tensor<4x8xf32>>
    ```
  }];
  let arguments = (ins UnitAttr:$persistent);
  let results = (outs DLX_Buffer:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
}

def DLX_ViewOp : DLX_Op<"view", [Pure]> {
  let summary = "The same bytes under other dims";
  let description = [{
    Both sides hold equally many elements of one dtype and have no tiles.
    ```mlir
    %v = dlx.view %t : !dlx.buffer<tensor<4x8xf32>> -> !dlx.buffer<tensor<32xf32>>
    ```
  }];
  let arguments = (ins DLX_Buffer:$source);
  let results = (outs DLX_Buffer:$view);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($view)";
  let hasVerifier = 1;
}

def DLX_LaunchOp : DLX_Op<"launch", [AttrSizedOperandSegments,
                                     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel";
  let description = [{
    Reads its inputs and writes all of its outputs; a kernel with a `part` writes only that part of
    its output. Outputs do not overlap inputs, except that an `in_place` kernel updates one of its
    inputs. `edges` and
    `copied` are those of the dl.fusion that it was. `chain` is a kernel that takes the place of
    this launch and of some after it, where the GPU allows.
    ```mlir
    dlx.launch @relu(%x) -> (%y) : (!dlx.buffer<tensor<4x8xf32>>) -> (!dlx.buffer<tensor<4x8xf32>>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<DLX_Buffer>:$inputs,
      Variadic<DLX_Buffer>:$outputs, UnitAttr:$init, OptionalAttr<DLX_FusionEdges>:$edges,
      OptionalAttr<StrAttr>:$copied, OptionalAttr<DLX_ChainAttr>:$chain);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$kernel, "::mlir::ValueRange":$inputs,
                                "::mlir::ValueRange":$outputs, "bool":$init),
                            [{
    build($_builder, $_state, kernel, inputs, outputs, init, /*edges=*/{}, /*copied=*/{},
          /*chain=*/{});
  }]>];
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `->` `(` $outputs `)` attr-dict `:` custom<LaunchTypes>(type($inputs),
                                                                                    type($outputs))
  }];
  let extraClassDeclaration = [{
    ::mlir::LogicalResult verifyChain(::mlir::SymbolTableCollection &symbols);
  }];
}

def DLX_CopyOp : DLX_Op<"copy", [AllTypesMatch<["source", "target"]>]> {
  let summary = "Copies the bytes of one buffer to another of the same type";
  let description = [{
    ```mlir
    dlx.copy %a to %b : !dlx.buffer<tensor<4x8xf32>>
    ```
  }];
  let arguments = (ins DLX_Buffer:$source, DLX_Buffer:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source)";
}

def DLX_ReturnOp : DLX_Op<"return", [Pure, Terminator, HasParent<"ProgramOp">]> {
  let summary = "The outputs of a program";
  let description = [{
    ```mlir
    dlx.return %y : !dlx.buffer<tensor<4x8xf32>>
    ```
  }];
  let arguments = (ins Variadic<DLX_Buffer>:$outputs);
  let assemblyFormat = "($outputs^ `:` type($outputs))? attr-dict";
}

#endif // DLC_IR_DLX_DLXOPS_TD
