//===- Passes.td - All passes over the graph and the program -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass Foo lives in Foo.cpp, has the flag `foo` and the test test/passes/foo.mlir. Pipelines.cpp says when each runs.
#ifndef DLC_PASSES_PASSES_TD
#define DLC_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"
include "llvm/TableGen/SearchableTable.td"

/// How far a pass may move the results, as a fraction of the largest magnitude in the output: what --validate-passes
/// allows beside the rounding of the dtype; "inf" where it depends on the data. A pass without this record must leave every value as it was.
class MovesResults<string flag, string fraction, string why> {
  string Flag = flag;
  string Fraction = fraction;
  string Why = why;
}
def PassBounds : GenericTable {
  let FilterClass = "MovesResults";
  let CppTypeName = "PassBound";
  let Fields = ["Flag", "Fraction", "Why"];
}

//===- import -------------------------------------------------------------------------------------===//

def SpecializeShapes : Pass<"specialize-shapes", "::mlir::ModuleOp"> {
  let summary = "Narrow or fix the symbolic dims of a model by shapes of its inputs";
  let description = [{
    Shapes are written as `x:8x3x224x224,mask:8x64`. Those of `min-shapes` and `max-shapes` are the smallest and the largest
    that will come, `shapes` both at once; inputs that are not named keep what they have. A symbol whose range becomes one
    value is replaced by it. `opt-shapes`, which lie between, become the `usual` sizes of the symbols that they give: schedules
    choose tiles for these, and what they make holds for the whole range. A dim such as 2*N + 1 gives N where that is the only
    unknown. Runs before the phases, on IR that --compile-from=import brings: the frontends narrow the symbols of models
    themselves, before any op is made. Example: test/passes/simplify/specialize-shapes.mlir.
  }];
  let options = [Option<"shapes", "shapes", "std::string", "", "The only shapes that will come">,
                 Option<"minShapes", "min-shapes", "std::string", "", "The smallest ones">,
                 Option<"maxShapes", "max-shapes", "std::string", "", "The largest ones">,
                 Option<"optShapes", "opt-shapes", "std::string", "", "Those to be fast for">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

//===- simplify -----------------------------------------------------------------------------------===//

def DecomposeOps : Pass<"decompose-ops", "::mlir::func::FuncOp"> {
  let summary = "Replace each op that other ops define by those";
  let description = [{
    Runs until no op with DecomposableOpInterface is left but dl.attention, which decompose-attention is about: a
    scaled_dot_product_attention becomes two matrix products and a softmax. Annotations (discardable attributes) are handed on. Example: test/passes/simplify/decompose-ops.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numDecomposed", "decomposed", "Ops replaced by others">];
}

def FoldBatchNorm : Pass<"fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Move a batch norm into the weights of the convolution or linear layer before it";
  let description = [{
    With s = weight / sqrt(running_var + eps), a batch norm of conv2d(x, w, b) is conv2d(x, w*s, (b - running_mean)*s + bias).
    The new weights are computed by dl ops on the old ones, once at load. Fires where the contraction has this one user
    and all the parameters depend on weights alone. The sums are taken in another order of operations: see the bound.
    Example: test/passes/simplify/fold-batch-norm.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numFolded", "folded", "Batch norms folded into weights">];
}
def : MovesResults<"fold-batch-norm", "1e-4", "weights are scaled and rounded before the sum instead of after it">;

def FoldScales : Pass<"fold-scales", "::mlir::func::FuncOp"> {
  let summary = "Move scales and shifts of channels into the weights of the product before or after them";
  let description = [{
    A batch norm of known statistics that no product has taken in becomes x*s + t, with s = weight / sqrt(running_var + eps) and
    t = bias - running_mean*s computed once at load, in f32 whatever the precision of the model is. Then products with and sums of one number for each channel, which depend on weights
    alone, become part of a convolution, linear layer or matrix product: of the one before them, whose weight and bias they scale
    and shift, or of the one after them, which sums over these channels. A shift before a convolution needs one without padding, which
    would be shifted too. A number stays, and so does what the kernel of the op before computes on the way: they cost nothing. Fires where
    nothing else reads what lies between, nor the weight, and the annotations are equal. The sums are
    taken in another order: see the bound. Example: test/passes/simplify/fold-scales.mlir.
    ```mlir
    %0 = dl.conv2d %x, %w, %b : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
    %y = dl.mul %0, %scale : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>    // of [4, 1, 1]
    ```
    becomes
    ```mlir
    %v = dl.mul %w, %s : (tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>) -> tensor<4x3x3x3xf32>        // at load
    %c = dl.mul %b, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = dl.conv2d %x, %v, %c : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numExpanded", "expanded", "Batch norms that became a product and a sum">,
                    Statistic<"numFolded", "folded", "Products and sums folded into weights">];
}
def : MovesResults<"fold-scales", "1e-4", "weights are scaled and rounded before the sum instead of after it">;

def HoistSlices : Pass<"hoist-slices", "::mlir::func::FuncOp"> {
  let summary = "Compute of a tensor that is read in parts alone no more than these parts";
  let description = [{
    A slice of what an elementwise op, a norm, a softmax or a product computes for it alone becomes this op on slices: of the class
    token that a vision transformer ends in, the last layers are computed for one token. A slice of a concatenation is one of the tensor
    that it lies in. Where a permutation or a reshape is read by slices alone, these come first: what is moved then is the parts.
    Slices that are joined again are the tensor, or, the other way round, a roll of it. Not across a dim whose size the data say, not across @no_fuse, and
    not in what is computed at load. Example: test/passes/simplify/hoist-slices.mlir.
    ```mlir
    %0 = dl.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = dl.slice %0 {end = 1 : i64} : (tensor<4x8xf32>) -> tensor<1x8xf32>
    ```
    becomes
    ```mlir
    %0 = dl.slice %x {end = 1 : i64} : (tensor<4x8xf32>) -> tensor<1x8xf32>
    %y = dl.relu %0 : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

def MoveViews : Pass<"move-views", "::mlir::func::FuncOp"> {
  let summary = "Move reshapes and permutations to where they cost no kernel";
  let description = [{
    A view is part of no kernel. Where an elementwise op reads a reshape of a tensor that is computed for it alone, it is done in that
    tensor's dims, and its result reshaped: f(reshape(x), y) is reshape(f(x, reshape(y))). The other operands are numbers,
    repetitions whose dims the new dims have too, or tensors that are stored anyway, of which a view costs nothing. A reshape of a repetition becomes a repetition, and a
    permutation that moves nothing but dims of size 1, of what an elementwise op reads, a reshape. What moves rows that a norm
    gives goes before the norm, which reads them where they are, if they are stored anyway. Not across @no_fuse, nor
    where the data say the size of a dim. Example: test/passes/simplify/move-views.mlir.
    ```mlir
    %0 = dl.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %1 = dl.reshape %0 {shape = affine_map<() -> (2, 4, 6)>} : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
    %y = dl.add %1, %z : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    ```
    becomes
    ```mlir
    %0 = dl.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %1 = dl.reshape %z {shape = affine_map<() -> (8, 6)>} : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
    %2 = dl.add %0, %1 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    %y = dl.reshape %2 {shape = affine_map<() -> (2, 4, 6)>} : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

def FoldConstants : Pass<"fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Compute what is made of dl.full alone";
  let description = [{
    `exp(1) + x` has nothing to fold but `2*3 + x` does: an op that reads nothing but dl.full, computes every element alike
    and whose body folds in exactly rounded arithmetic becomes a dl.full. Ops whose value would depend on the compiling
    machine's libm (exp, log, tanh, erf) stay. Example: test/passes/simplify/fold-constants.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numFolded", "folded", "Ops that became a number">];
}

def RaiseActivations : Pass<"raise-activations", "::mlir::func::FuncOp"> {
  let summary = "Make one op of an activation or a softmax that is written as arithmetic";
  let description = [{
    GELU by erf, by tanh or by a sigmoid, SiLU, mish and hard swish as x times a gate, in whatever order the factors are multiplied
    and the argument of the gate is written; softmax and log_softmax as exponentials of x less its largest element, over their sum.
    Where that lies in f32 between two casts of 16 bits, the op takes the narrow tensor, for it computes in f32 and rounds once. Fires where nothing
    else reads what the one op replaces. A softmax written without the largest element stays: it overflows where the
    op would not. Example: test/passes/raise/raise-activations.mlir.
    ```mlir
    %0 = dl.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = dl.mul %x, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    becomes
    ```mlir
    %y = dl.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}
def : MovesResults<"raise-activations", "1e-5", "numbers such as sqrt(2) were written with six digits or more">;

def RaiseAttention : Pass<"raise-attention", "::mlir::func::FuncOp"> {
  let summary = "Make one op of an attention that is written as products and a softmax";
  let description = [{
    softmax(scale * q k^T + mask) v becomes dl.attention, in whatever order its products have their dims, batch and
    heads joined in one dim or apart. The scale is read from a factor or divisor of the scores, the queries or the keys, or of several of
    these. A mask is a tensor of floats that is added, a bool that puts -inf (where, masked_fill), or causal: tril or triu of
    numbers, a comparison of two ranges, and arithmetic on these; such a mask may put -1e4 or less in place of -inf, since each
    row has a key to attend to. Keys and values that are repeated for groups of heads, by expand and reshape or by repeat_interleave, are read as
    they were before.

    Where something else is done to the scores (a mask that puts a number, so that a row without keys is uniform and not NaN; two masks; a
    tanh), the ops from product to product become the body of a dl.attention as they are written. In either case that op is what later passes
    see. Fires where nothing else reads scores and weights. Does not fire where the softmax runs along the queries, or where maps
    between products and softmax read at another index than their own. Example: test/passes/raise/raise-attention.mlir.
    ```mlir
    %0 = dl.matmul %q, %t : (tensor<2x8x4xf32>, tensor<2x4x9xf32>) -> tensor<2x8x9xf32>      // t: keys, permuted
    %1 = dl.mul %0, %half : (tensor<2x8x9xf32>, tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
    %2 = dl.softmax %1 {dim = 2 : i64} : (tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
    %y = dl.matmul %2, %v : (tensor<2x8x9xf32>, tensor<2x9x4xf32>) -> tensor<2x8x4xf32>
    ```
    becomes
    ```mlir
    %y = dl.attention(%q, %k, %v) : (tensor<2x8x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>) -> tensor<2x8x4xf32> {
      // dl.contract of the queries and the keys, times 0.5; dl.softmax; dl.contract with the values
    }
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}
def : MovesResults<"raise-attention", "1e-5", "the scale is multiplied once, with the scores, where it was a rounded root of it with queries and keys">;

def RaiseNorms : Pass<"raise-norms", "::mlir::func::FuncOp"> {
  let summary = "Make one op of a norm that is written as arithmetic";
  let description = [{
    A product with (x - mean) / sqrt(variance + eps), which is a layer, instance or group norm, becomes dl.standardize, one with
    x / sqrt(mean(x^2) + eps) over the last dims dl.rms_norm; then factors and summands of the right dims become its weight and bias, of a group
    norm also those of channels after its groups have become channels again.
    Squares, roots and quotients may be powers or products, a mean a sum over the number of elements. A norm in f32 between two casts of 16 bits takes
    the narrow tensor: it computes in f32 and rounds once. Fires where nothing else reads what the one op
    replaces and eps is a number. Example: test/passes/raise/raise-norms.mlir.
    ```mlir
    %0 = dl.square %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dl.mean %0 {dim = array<i64: 1>, keepdim = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %2 = dl.add %1, %eps : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    %3 = dl.rsqrt %2 : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %4 = dl.broadcast %3 : (tensor<4x1xf32>) -> tensor<4x8xf32>
    %y = dl.mul %x, %4 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    becomes
    ```mlir
    %y = dl.rms_norm %x {eps = 1.0e-5 : f64, normalized_shape = array<i64: 8>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}
def : MovesResults<"raise-norms", "1e-5", "weights are multiplied in another order, and 1/n was rounded before">;

def RaiseRotary : Pass<"raise-rotary", "::mlir::func::FuncOp"> {
  let summary = "Read the two halves of a rotary embedding at one index";
  let description = [{
    x * cos + cat(-x2, x1) * sin, where x1 and x2 are the halves of the last dim of x, is computed with these as a dim of their own: cat is
    a flip of that dim, times -1 and 1. So no half is stored, and the map reads x where it was computed. Every bit stays. Fires where
    nothing else reads cat and the products. Example: test/passes/raise/raise-rotary.mlir.
    ```mlir
    %1 = dl.slice %x {dim = 1 : i64, start = 4 : i64} : (tensor<2x8xf32>) -> tensor<2x4xf32>
    %2 = dl.neg %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %3 = dl.slice %x {dim = 1 : i64, end = 4 : i64} : (tensor<2x8xf32>) -> tensor<2x4xf32>
    %4 = dl.cat %2, %3 {dim = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
    // x * cos + %4 * sin becomes
    %5 = dl.flip %halves {dims = array<i64: 1>} : (tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
    %6 = dl.mul %5, %signs : (tensor<2x2x4xf32>, tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
    // halves * cos + %6 * sin, of halves
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

def MarkGatedMlp : Pass<"mark-gated-mlp", "::mlir::func::FuncOp"> {
  let summary = "Mark the products of a gated MLP with its name";
  let description = [{
    silu(gate(x)) * up(x), or the same with a GELU, where gate and up are products of one x with weights, with biases or without, or the
    parts of one product: these ops, and the product that alone reads the result, get the attribute `dl.role`. `--keep-f32
    gated_mlp` finds them by it, and tables name them. It is no op of its own, for its products stay what they are to
    quantization, pruning and fusion, which read their weights. Fires where nothing else reads what lies between x and the result.
    Example: test/passes/raise/mark-gated-mlp.mlir.
    ```mlir
    %0 = dl.linear %x, %gate {dl.role = "gated_mlp"} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %1 = dl.silu %0 {dl.role = "gated_mlp"} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = dl.linear %x, %up {dl.role = "gated_mlp"} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %3 = dl.mul %1, %2 {dl.role = "gated_mlp"} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %4 = dl.linear %3, %down {dl.role = "gated_mlp"} : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numMarked", "marked", "Gated MLPs">];
}

def SimplifyAlgebra : Pass<"simplify-algebra", "::mlir::func::FuncOp"> {
  let summary = "Drop arithmetic that changes no bit";
  let description = [{
    x*1, x/1, x^1, x - 0, x + (-0), 0 + x of integers, neg(neg(x)), relu(relu(x)), maximum(x, x), where(c, x, x), nested broadcasts
    and concatenations. x / 2^n becomes a product with 2^-n, x * -1 a negation, and x^2, x^3 and x^4 are products. x + 0 of
    floats stays: it turns -0 into +0; so do x * 0 and x - x, which may be NaN, sqrt(x)^2, quotients by other numbers, and sums whose
    order would change. Example: test/passes/simplify/simplify-algebra.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

def RaiseIntegerProducts : Pass<"raise-integer-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply the integers of which a product's operands were dequantized";
  let description = [{
    A model that was quantized by another tool holds (q - zero point) * scale before each product of f32: QuantizeLinear and
    DequantizeLinear of ONNX. Where the scale of the activation is one number, and that of the weight one for each channel of the
    result, the product of the integers in i32 is exact, and is scaled afterwards. A reshape or permute between the two is done to
    the integers. Sums that might not fit into i32, and those of fewer than 16 terms, stay. Example: test/passes/raise/raise-integer-products.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numRaised", "raised", "Products of integers in place of products of f32">];
}
def : MovesResults<"raise-integer-products", "1e-4", "sums are exact and scaled once, instead of rounded in f32">;

//===- compress -----------------------------------------------------------------------------------===//

def KeepSlower : Pass<"keep-slower", "::mlir::func::FuncOp"> {
  let summary = "Mark the products and look-ups that quantization is estimated to make slower";
  let description = [{
    A product that quantize-products would run on integers (`scheme=int8`) or in e4m3 (`fp8`), or whose weight quantize-weights would store in few bits
    (`w8`, `w4`), gets the attribute `dl.kept_by_cost` where the estimate of passes/compress/quantize/QuantizationGain.h says that this takes more
    time on every target of the file: then these passes leave it as it is. So do look-ups of tables. With `refits` the file has the weights of
    f32 for dlc refit: a table that look-ups alone read stays on the CPU, which maps the file and reads single rows of it, where
    integers would be made of all rows. The attribute holds the reason, which the driver prints. What stays on some of the targets
    gets `dl.kept_on`, the reason for each of these, and split-targets makes of it what holds for one. Without targets nothing is
    marked. Example: test/passes/compress/quantize/keep-slower.mlir.
    ```mlir
    %y = dl.linear %x, %w : (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
    // becomes, where conversions take more time than integers save
    %y = dl.linear %x, %w {dl.kept_by_cost = "int8 0.80x on cpu (convert 41 us)"} : (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
    ```
  }];
  let options = [Option<"scheme", "scheme", "std::string", "\"int8\"", "int8, dynamic (tables of look-ups alone), fp8, w8 or w4">,
                 Option<"refits", "refits", "bool", "false", "The file holds the weights of f32, of which integers are made at load">,
                 ListOption<"targets", "targets", "std::string", "Targets of the file: cpu, cuda">,
                 Option<"precision", "precision", "std::string", "\"f32\"", "What stays runs in f32, tf32, f16 or bf16">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numKept", "kept", "Products and look-ups that stay as they are">];
}

def SplitTargets : Pass<"split-targets", "::mlir::ModuleOp"> {
  let summary = "Give each target a module with the model of its own";
  let description = [{
    The function becomes one in `module @cpu` and one in `module @cuda`, for each target that is asked for; the symbols are theirs as
    well. All that follows decides for one target alone. A product that keep-slower keeps on some targets is kept in their modules:
    without the range of its activation, and without the addition that takes back what 8 bits change in its mean. `gpu` names the GPU
    whose model (ir/machine/GpuModel.h) the choices for `cuda` use, as the attribute `dl.gpu` of its module. Example:
    test/passes/compress/split-targets.mlir.
    ```mlir
    module { func.func @Net(...) }
    // becomes
    module { module @cpu { func.func @Net(...) } module @cuda { func.func @Net(...) } }
    ```
  }];
  let options = [ListOption<"targets", "targets", "std::string", "Any of cpu and cuda; default both">,
                 Option<"gpu", "gpu", "int64_t", "0", "The architecture of the only GPU that the file is for, 90 for sm_90; 0: any">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

def StoreBlocks : Pass<"store-blocks", "::mlir::func::FuncOp"> {
  let summary = "Store weights without their blocks of zeros where the CPU is faster so";
  let description = [{
    A block is one column of 16 neighbouring rows of a weight of f32 [N, K], where the sums run along K:
    what `dlc prune --pattern block` makes zero together. The driver counts the blocks that are not
    zero of each weight whose numbers it may rely on, and writes the count to the weight as
    `dl.stored_blocks` (tools/driver/compress/BlockStorage.h). In module @cpu such a weight becomes
    the values of these blocks, their columns, and where the blocks of each panel begin, named after
    it (`.values`, `.columns`, `.starts`); the linear layers, matrix products and convolutions of
    one tap that read it become dl.block_sparse_linear. A factor for each row, which fold-batch-norm
    leaves, multiplies the stored blocks at load, each by those of its panel (`.panels`). Weights
    stay as they are where the estimate of passes/compress/prune/BlockGain.h says that too few
    blocks are zero to gain by it; with `explain` a remark says so. So do weights without the count:
    other weights may take their place later. Example: test/passes/compress/prune/store-blocks.mlir.
    ```mlir
    %w = dl.weight "w" {dl.stored_blocks = 9 : i64} : tensor<30x64xf32>
    %y = dl.linear %x, %w : (tensor<2x64xf32>, tensor<30x64xf32>) -> tensor<2x30xf32>
    // becomes
    %v = dl.weight "w.values" : tensor<9x16xf32>
    %c = dl.weight "w.columns" : tensor<9xi32>
    %s = dl.weight "w.starts" : tensor<3xi32>
    %y = dl.block_sparse_linear %x, %v, %c, %s {features = 30 : i64, dim = 1 : i64} :
        (tensor<2x64xf32>, tensor<9x16xf32>, tensor<9xi32>, tensor<3xi32>) -> tensor<2x30xf32>
    ```
  }];
  let options = [Option<"explain", "explain", "bool", "false", "Say of each weight how it is stored, and why">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numStored", "stored", "Weights without their blocks of zeros">,
                    Statistic<"numDense", "dense", "Weights that stay whole">];
}
def : MovesResults<"store-blocks", "inf", "of the numbers that stand in for weights other blocks are zero">;

def TapActivations : Pass<"tap-activations", "::mlir::func::FuncOp"> {
  let summary = "Make the activations that products read results of the model, to be measured";
  let description = [{
    What quantize-products would quantize is put before the results of the function, each value once and in program order, named
    `tap.0`, `tap.1` and so on. `dlc compile --quantize` runs such a copy of the model on the user's data to find the range of
    each. With `packable` what products read that quantize-weights would give weights in few bits. `keep-f32` as in
    quantize-products. Example: test/passes/compress/quantize/tap-activations.mlir.
  }];
  let options = [Option<"packable", "packable", "bool", "false", "Of products whose weights quantize-weights packs">,
                 ListOption<"keepF32", "keep-f32", "std::string", "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

def QuantizeProducts : Pass<"quantize-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply integers of 8 bits where a product reads weights";
  let description = [{
    An activation x of the range that the attribute `dl.activation_range` of its product gives becomes u8, q = round(x / scale) +
    zero point, where the range takes in 0 and the zero point stands for it exactly. The weights become i8, with a
    scale of their own for each channel of the result, which is computed from them at load. The product adds in i32 and is
    exact; its result is scaled back to f32, and the bias is added to that. A value that several products read is quantized once.
    A value that pooling or an op that moves elements has made is quantized before it, so that these work on bytes.
    Products without the attribute stay as they are.
    A weight of which look-ups take rows becomes i8 with a scale for each row, too, and the look-ups take rows of both, unless
    something else reads it than look-ups and products that become such. A product of it shares the integers.
    With `scheme=dynamic` matrix products need no attribute: the range of each row of x, of all that one sum reads, is found when the
    model runs, and makes scale and zero point of the row by the formula of ONNX's DynamicQuantizeLinear. The zero point is taken off the
    sums. Convolutions stay. With `scheme=fp8` x / s and w / t are rounded to e4m3, where s takes the largest magnitude of the range to 448,
    and t that of a channel's weights; they are multiplied and added in f32. With `symmetric` x becomes i8 without a zero point, the larger
    end of the range as 127 steps. With `per-tensor` all weights of a product share a scale. Example: test/passes/compress/quantize/quantize-products.mlir.
  }];
  let options = [Option<"scheme", "scheme", "std::string", /*default=*/"\"int8\"", "int8, dynamic or fp8">,
                 Option<"symmetric", "symmetric", "bool", "false", "Activations are i8 and have no zero point">,
                 Option<"perTensor", "per-tensor", "bool", "false", "All weights of a product share a scale">,
                 ListOption<"keepF32", "keep-f32", "std::string", "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numQuantized", "quantized", "Products of integers of 8 bits">,
                    Statistic<"numKept", "kept", "Products of weights that stay in f32">,
                    Statistic<"numTables", "tables", "Tables of look-ups that become integers">,
                    Statistic<"numTablesKept", "tables-kept", "Tables of look-ups that stay in f32">];
}
def : MovesResults<"quantize-products", "inf", "what lies outside the range that calibration saw is cut off, however far it lies outside">;

def QuantizeWeights : Pass<"quantize-weights", "::mlir::func::FuncOp"> {
  let summary = "Store the weights of matrix products and look-ups in 4 or 8 bits, and let what reads them compute their numbers";
  let description = [{
    A weight of f32 that matrix products have as second operand, or of which look-ups take rows, becomes integers and scales, and the numbers that these stand
    for are plain arithmetic, (code - zero point) * scale, the two of each `group` codes along K of [N, K], where the sums run along
    K; of each row with `group=0`, and of the whole weight with `per-tensor`. With `symmetric` all have the zero point 0 of i8, or 8 of 4
    bits. The codes of byte i of a row of 4 bits are those of column i (low bits) and of column K / 2 + i, rounded up.
    Tables that look-ups alone read have 8 bits and a scale for each row where the others have 4.
    The new weights are named after the old one (`.codes`, `.scale`, `.zero`); the driver fits them (tools/driver/calibrate/WeightFit.h).
    form-fusions makes the arithmetic a part of its readers' kernels. Weights that something else reads stay, and those that
    `keep-f32` names. Example: test/passes/compress/quantize/quantize-weights.mlir.
    ```mlir
    %y = dl.linear %x, %w : (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
    // becomes, with bits=8
    %c = dl.weight "w.codes" : tensor<8x32xi8>
    %s = dl.weight "w.scale" : tensor<8x1xf32>
    %n = dl.cast %c {dtype = f32} : (tensor<8x32xi8>) -> tensor<8x32xf32>
    %b = dl.broadcast %s : (tensor<8x1xf32>) -> tensor<8x32xf32>
    %w = dl.mul %n, %b : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %y = dl.linear %x, %w : (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
    ```
  }];
  let options = [Option<"bits", "bits", "unsigned", "8", "4 or 8">,
                 Option<"group", "group", "int64_t", "0", "Neighbours of a row that share a scale; 0: all of them">,
                 Option<"symmetric", "symmetric", "bool", "true", "All scales have one zero point">,
                 Option<"perTensor", "per-tensor", "bool", "false", "All weights of a matrix share a scale">,
                 ListOption<"keepF32", "keep-f32", "std::string", "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numPacked", "packed", "Weights in few bits">,
                    Statistic<"numKept", "kept", "Weights of products and look-ups that stay in f32">];
}
def : MovesResults<"quantize-weights", "inf", "the nearest of 16 numbers may lie far from a weight, and errors of many layers add up">;

//===- precision ----------------------------------------------------------------------------------===//

def ConvertPrecision : Pass<"convert-precision", "::mlir::func::FuncOp"> {
  let summary = "Run a model of f32 in f16 or bf16, where that is safe";
  let description = [{
    Each record of an op has a rule (`precision` in ir/dl/base/DLBase.td). Products and recurrences read operands of `dtype` and add in f32.
    Ops that neither grow nor shrink numbers run in `dtype` where all their operands come so, weights and numbers that fit
    counted in. All others stay in f32: exponentials, logarithms, quotients, sums, places. A cast stands where one
    meets the other. Arguments, results, states, f64 and casts of the user's own stay as they are, and so does what
    `keep-f32` names: globs over paths of layers, names of ONNX nodes and names of ops. Weights are cast once at load. Between
    kernels values are stored in `dtype`; inside a kernel all is computed in f32. An op with the attribute `dl.keep_f32`, which
    `dlc compile --precision mixed` writes, stays in f32, too. Example: test/passes/precision/convert-precision.mlir.
    ```mlir
    %y = dl.linear %x, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
    ```
    becomes
    ```mlir
    %0 = dl.cast %x {dtype = f16} : (tensor<2x8xf32>) -> tensor<2x8xf16>
    %1 = dl.cast %w {dtype = f16} : (tensor<4x8xf32>) -> tensor<4x8xf16>
    %2 = dl.linear %0, %1 : (tensor<2x8xf16>, tensor<4x8xf16>) -> tensor<2x4xf16>
    %y = dl.cast %2 {dtype = f32} : (tensor<2x4xf16>) -> tensor<2x4xf32>
    ```
  }];
  let options = [Option<"dtype", "dtype", "std::string", /*default=*/"\"f16\"", "f16 or bf16">,
                 ListOption<"keepF32", "keep-f32", "std::string", "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numNarrowed", "narrowed", "Ops that run in 16 bits">,
                    Statistic<"numKept", "kept", "Ops that would, but for keep-f32">];
}
def : MovesResults<"convert-precision", "0.16", "bf16 keeps 8 bits: some forty roundings of 2^-8, one a layer">;

def AllowTf32 : Pass<"allow-tf32", "::mlir::func::FuncOp"> {
  let summary = "Let GPUs round the factors of products of f32 to 11 bits";
  let description = [{
    Products and convolutions whose result is f32 get the attribute `dl.tf32`, but for those that `keep-f32` names. CUDA's schedules
    compute such products on tensor cores; a kernel of several products does so where all have it. The CPU and the interpreter compute as
    ever. Example: test/passes/precision/allow-tf32.mlir.
  }];
  let options = [ListOption<"keepF32", "keep-f32", "std::string", "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numAllowed", "allowed", "Products that may be rounded">,
                    Statistic<"numKept", "kept", "Products that would be, but for keep-f32">];
}

def ConvertSignature : Pass<"convert-signature", "::mlir::func::FuncOp"> {
  let summary = "Give the inputs and outputs that are f32, f16 or bf16 another of these types";
  let description = [{
    An input is cast to the type that the model declares, and an output from it; states stay as they are. Before convert-precision,
    which takes an input of 16 bits as it is. Example: test/passes/precision/convert-signature.mlir.
  }];
  let options = [Option<"dtype", "dtype", "std::string", /*default=*/"\"f32\"", "f16, bf16 or f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numInputs", "inputs", "Inputs of another type">,
                    Statistic<"numOutputs", "outputs", "Outputs of another type">];
}
def : MovesResults<"convert-signature", "0.16", "bf16 keeps 8 bits of each input, and layers add up what that costs">;

def SimulatePrecision : Pass<"simulate-precision", "::mlir::func::FuncOp"> {
  let summary = "Run a model of f32 as if layers ran in f16 or bf16, by choice of an input";
  let description = [{
    Each op that convert-precision would convert gets its operands and results rounded to `dtype` and back where an input says so:
    `narrow.layers`, an i1 for each set of layers on which an op depends, is put before the inputs. A product has the set of its own
    layer; what follows products runs in 16 bits where all of their layers do. Results that a kernel will take in are not rounded,
    since kernels compute in f32. So one program measures what each layer costs. The
    smallest and the largest number that each layer reads or gives are put before the outputs, as `low.0`, `high.0`, `low.1` and so on.
    `dlc compile --precision mixed` and `dlc bisect` run such a copy of the model on the user's data. `keep-f32` as in
    convert-precision. Example: test/passes/precision/simulate-precision.mlir.
  }];
  let options = [Option<"dtype", "dtype", "std::string", /*default=*/"\"f16\"", "f16 or bf16">,
                 ListOption<"keepF32", "keep-f32", "std::string", "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

//===- layout -------------------------------------------------------------------------------------===//

def AssignLayouts : Pass<"assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Choose where each tensor lies in memory, so that the fewest bytes are moved";
  let description = [{
    Windows over images (convolutions, poolings) read and write channels last, where their channels
    make vectors; products, recurrences, attentions and results of the function are row-major. Every
    other op has a choice, and what it reads in another layout than it wants costs what a kernel
    takes to move it (ScheduleOracle::microsecondsToMove). An elementwise op wants its operands to
    lie as its result does; a dl.permute and a dl.reshape want them so that they are views
    (ir/analysis/view/ViewLayout.h). The choices of all values are made at once, as a partitioned
    boolean quadratic problem (passes/layout/AssignmentProblem.h). dl.convert_layout is added where
    an op must have another layout than its operand has; of equal costs, it comes late. A tensor
    whose bytes would be the same either way (one channel, or 1x1 pixels) stays row-major. Weights
    stay as stored: a target packs them as it likes. Example:
    test/passes/layout/assign-layouts.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numConverts", "converts", "Converts inserted">];
}

def SinkPermutations : Pass<"sink-permutations", "::mlir::func::FuncOp"> {
  let summary = "Move permutations that move no byte after the elementwise ops that read them";
  let description = [{
    A product, window or reduction ends with the elementwise ops that read its results at their own
    index. A dl.permute in between, as of the channels of a norm or a linear layer in a
    convolutional network, keeps them apart, although it is a view in the layouts that
    assign-layouts has chosen: f(permute(x), y) becomes permute(f(x, inverse(y))), where both
    permutations are views. Example: test/passes/layout/sink-permutations.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numSunk", "sunk", "Permutations moved after an op">];
}

//===- fuse ---------------------------------------------------------------------------------------===//

def DecomposeAttention : Pass<"decompose-attention", "::mlir::func::FuncOp"> {
  let summary = "Replace the attentions that no kernel of the target computes by products and softmaxes";
  let description = [{
    Asks the schedules of the target (ir/interfaces/ScheduleOracle.h) about each dl.attention. One
    that stays becomes a kernel that never stores the scores; with `explain` a remark says of each
    other one why. Example: test/passes/fuse/decompose-attention.mlir.
    ```mlir
    %y = dl.attention(%q, %k, %v) {is_causal} : ... { ... }    // on @cpu, or of f64
    // becomes the ops of its body, and what adds the mask
    %0 = dl.contract %q, %k ...
    %1 = dl.causal_mask : () -> tensor<8x9xf32>
    %2 = dl.add %0, %1 : (tensor<8x9xf32>, tensor<8x9xf32>) -> tensor<8x9xf32>
    %3 = dl.softmax %2 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
    %y = dl.matmul %3, %v : (tensor<8x9xf32>, tensor<9x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Say of each attention that is replaced why">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numDecomposed", "decomposed", "Attentions replaced by other ops">];
}

def NarrowProducts : Pass<"narrow-products", "::mlir::func::FuncOp"> {
  let summary = "Store the operands of integer products in as few bits as their numbers need";
  let description = [{
    Products of quantized tensors are written in i32. Where both operands of one have numbers of 16 bits at most
    (ir/analysis/IntegerRange.h), each is cast to a narrower type and back: the first one to u8 with a zero point where 256 numbers are
    enough, the second one to i8, or to u8 where it depends on weights alone, and either to i16 else: the types that CPUs
    multiply. Fusion lets the operand's producer store that, and the product's kernel widen it. A product of the same numbers is the
    same. Where a target multiplies floats of 8 bits as they are stored (ScheduleOracle), each operand of such a product gets a cast
    of its own. Example: test/passes/outline/narrow-products.mlir.
    ```mlir
    %y = dl.matmul %x, %w : (tensor<4x8xi32>, tensor<8x2xi32>) -> tensor<4x2xi32>     // x of -128 to 127
    // becomes
    %n = dl.cast %more {dtype = ui8} : (tensor<4x8xi32>) -> tensor<4x8xui8>           // of x + 128
    %c = dl.cast %n {dtype = i32} : (tensor<4x8xui8>) -> tensor<4x8xi32>
    %a = dl.sub %c, %zero : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>      // of 128
    %y = dl.matmul %a, %w : (tensor<4x8xi32>, tensor<8x2xi32>) -> tensor<4x2xi32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numNarrowed", "narrowed", "Products whose operands were narrowed">];
}

def MergeProducts : Pass<"merge-products", "::mlir::func::FuncOp"> {
  let summary = "Make one product of several with the same first factor";
  let description = [{
    Products with weights (dl.linear, dl.matmul, a bias added) that read one tensor become one with the weights side by side, where
    each is read by an attention or another op that reads a slice of the result as well: queries, keys and values. The weights are put
    together at load. An elementwise reader would be part of the product's kernel: such products stay apart. Example:
    test/passes/fuse/merge-products.mlir.
    ```mlir
    %q = dl.linear %x, %wq : (tensor<9x64xf32>, tensor<64x64xf32>) -> tensor<9x64xf32>
    %k = dl.linear %x, %wk : (tensor<9x64xf32>, tensor<16x64xf32>) -> tensor<9x16xf32>
    // becomes
    %w = dl.cat %wq, %wk {dim = 0 : i64} : (tensor<64x64xf32>, tensor<16x64xf32>) -> tensor<80x64xf32>
    %y = dl.linear %x, %w : (tensor<9x64xf32>, tensor<80x64xf32>) -> tensor<9x80xf32>
    %q = dl.slice %y {dim = 1 : i64, end = 64 : i64, start = 0 : i64} : (tensor<9x80xf32>) -> tensor<9x64xf32>
    %k = dl.slice %y {dim = 1 : i64, end = 80 : i64, start = 64 : i64} : (tensor<9x80xf32>) -> tensor<9x16xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numMerged", "merged", "Products that became part of one">];
}

def FormFusions : Pass<"form-fusions", "::mlir::func::FuncOp"> {
  let summary = "Group ops into fusions, one for each kernel";
  let description = [{
    What shares a kernel is decided here, on groups of ops, and nowhere later; which kernels the
    target has is asked of its schedules (ir/interfaces/ScheduleOracle.h). The steps, in this order:

    Vertical fusion: in program order, each op joins the groups of its producers where
    ir/analysis/FusionLegality.h finds no reason against it; a dl.attention takes in casts of what
    it reads, like a product, and what makes a mask of its. A number (dl.full) and a repetition
    (dl.broadcast) are copied to each of their users, and so is a slice or a permutation that only
    such ops and dl.cat read. A dl.cat takes in what is only moved, unless it is in place. It cuts
    where a value has several users, and before a reduction that would choose among the tensors of
    a dl.cat along its rows, on a target whose rows are vectors.

    Updates in place: a state whose next value is a dl.update_slice of it is updated where it lies
    if every other read of its old value can come before; else the fusion that copies it says why.

    Pooling epilogues: a pooling whose windows do not overlap and that alone reads a convolution's
    results (with bias, activation and the like) joins the convolution, where
    ir/analysis/PooledProduct.h finds the two: the rows of the matrix product are walked window by
    window, so that a block has all totals of a window, and stores one result for them. That is
    never more work: what no window reads is not computed, and nothing is computed twice.

    Multi-output fusion: a map that reads what a map or a contraction computes, at its own index,
    joins that. The value is stored only if others read it too, beside the map's result, and never
    loaded again. Both have the same dims and, where both are stored, the same layout.

    Recurrences side by side: recurrences of one shape that do not wait for each other, the two
    directions of a layer, share a kernel where that is estimated to be faster than one after the
    other, and stay apart inside of it.

    In-place concatenation: a dl.cat is no kernel where the kernels of its tensors can write these
    where they lie in the result: what else reads the tensors can read them there (no product and
    no attention, and nothing that another part is made by), all lie in the result's layout, and
    parts and rows begin where the target's widest stores may. If all of them are only moved it
    is a kernel, in place of one for each. In place it remains as an op outside fusions. Vertical
    fusion decides on it; what reads it, and what computes its tensors, joins nothing across it.

    What a map computes for several readers, all of which can compute it, is computed by each of
    them where that is estimated to be faster than to store it: its kernel is gone, and what it
    writes and they read.

    Where groups are joined, no path may lead from one of the two to the other through a third
    kernel, and values between the two are rounded to their dtype no more. Fusions come in an
    order in which what each reads is above it, as close to that of the ops as possible. Each says
    why what it reads of others is not computed by itself (`edges`). What remains outside fusions
    is dl.weight, those dl.reshape that are views and those dl.cat that are in place. Examples:
    test/passes/fuse/form-fusions.mlir and the files beside it.
  }];
  let options = [Option<"separate", "separate", "bool", "false",
                        "Give each op a fusion of its own, to compare with">];
  let dependentDialects = ["::dlc::dl::DLDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numFusions", "fusions", "Fusions formed">,
                    Statistic<"numPooled", "pooled", "Poolings that became part of a convolution">,
                    Statistic<"numReaders", "readers",
                              "Maps that became part of the kernel of what they read">,
                    Statistic<"numRecomputed", "recomputed",
                              "Maps that each of their readers computes">,
                    Statistic<"numInPlace", "in-place",
                              "Concatenations whose parts are written in place">,
                    Statistic<"numSideBySide", "side-by-side",
                              "Recurrences that joined the kernel of another">];
}

//===- outline ------------------------------------------------------------------------------------===//

def OutlineKernels : Pass<"outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn the function of fusions into a program of launches";
  let description = [{
    Runs on the module of one target. A dl.fusion becomes a dlx.kernel, shared by all fusions that
    compute the same, and a launch of it, which keeps why it is apart from others; one that is in
    place writes the state that it reads, and those whose results a dl.cat joins write parts of one
    buffer. Others that read such a result read it there, by a dl.part. The function becomes a
    dlx.program. What depends on weights alone is launched at load into persistent buffers. Kernels are named after their ops,
    never after the model's own names. Example: test/passes/outline/outline-kernels.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect", "::dlc::dlx::DLXDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels made">,
                    Statistic<"numShared", "shared", "Fusions that share an earlier kernel">];
}

//===- buffers ------------------------------------------------------------------------------------===//

def PlanBuffers : Pass<"plan-buffers", "::mlir::ModuleOp"> {
  let summary = "Give every output memory of its own and record how long each buffer lives";
  let description = [{
    Runs on the programs of all targets. Where an output is an input, a weight, a view or an output already, a copy is made.
    Each dlx.alloc that is not persistent gets `first_use` and `last_use`: the first and last of the program's main commands
    (launches that are not `init`, and copies, counted from 0) that touch it; an output lives to the last command. The
    runtime places buffers by them, so that two whose lifetimes meet never overlap. Example: test/passes/buffers/plan-buffers.mlir.
  }];
  let dependentDialects = ["::dlc::dlx::DLXDialect"];
  let statistics = [Statistic<"numCopies", "copies", "Copies inserted for outputs">];
}

//===- all phases ---------------------------------------------------------------------------------===//

def VerifyPhase : Pass<"verify-phase", "::mlir::ModuleOp"> {
  let summary = "Check what must be gone and what must be there after a phase";
  let description = [{
    Closes each phase; a violation is an error of dlc's, or of a hand-written file given to --compile-from.
    Example: test/passes/verify-phase.mlir.
  }];
  let options = [Option<"phase", "phase", "std::string", "", "Name of the phase that has ended">];
  // The dialect knows the targets, also where the module is empty.
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

#endif // DLC_PASSES_PASSES_TD
