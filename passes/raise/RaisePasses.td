//===- RaisePasses.td - Passes that find ops with roles in others ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_RAISE_RAISEPASSES_TD
#define DLC_PASSES_RAISE_RAISEPASSES_TD

include "passes/PassRecord.td"

def RaiseCaches : Pass<"raise-caches", "::mlir::ModuleOp"> {
  let summary = "Find the states that hold a past, and say how many positions they have";
  let description = [{
    A cache is a state into which each run writes its own positions, after those of the runs before,
    by dl.update_slice at a place that another state counts. A scatter along one dim at arange(T) +
    counter, such as the index_copy of a static cache of transformers, becomes that op. The module
    gets the attribute `dl.cache`, a dictionary {capacity, step}: the positions of the smallest
    cache, a number, and how many of them a run takes, a dim. A run beyond the end would overwrite
    what is there: the runtime counts along and refuses it. There is no attribute where no state
    counts so, or where caches are counted by different steps. Example:
    test/passes/raise/raise-caches.mlir.
    ```mlir
    %next = dl.add %count, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %y = dl.scatter %cache, %places, %src {dim = 0 : i64} :
        (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
    ```
    becomes, where %places are arange(2) + %count for each column,
    ```mlir
    %y = dl.update_slice %cache, %count, %src {dim = 0 : i64} :
        (tensor<8x4xf32>, tensor<i64>, tensor<2x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

def RaiseActivations : Pass<"raise-activations", "::mlir::func::FuncOp"> {
  let summary = "Make one op of an activation or a softmax that is written as arithmetic";
  let description = [{
    GELU by erf, by tanh or by a sigmoid, SiLU, mish and hard swish as x times a gate, in whatever
    order the factors are multiplied and the argument of the gate is written; softmax and
    log_softmax as exponentials of x less its largest element, over their sum. Where that lies in
    f32 between two casts of 16 bits, the op takes the narrow tensor, for it computes in f32 and
    rounds once. Fires where nothing else reads what the one op replaces. A softmax written without
    the largest element stays: it overflows where the op would not. Example:
    test/passes/raise/raise-activations.mlir.
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
def : MovesResults<"raise-activations", "1e-5",
                   "numbers such as sqrt(2) were written with six digits or more">;

def RaiseAttention : Pass<"raise-attention", "::mlir::func::FuncOp"> {
  let summary = "Make one op of an attention that is written as products and a softmax";
  let description = [{
    softmax(scale * q k^T + mask) v becomes dl.attention, in whatever order its products have their
    dims, batch and heads joined in one dim or apart. The scale is read from a factor or divisor of
    the scores, the queries or the keys, or of several of these. A mask is a tensor of floats that
    is added, a bool that puts -inf (where, masked_fill), or causal: tril or triu of numbers, a
    comparison of two ranges, and arithmetic on these; such a mask may put -1e4 or less in place of
    -inf, since each row has a key to attend to. Keys and values that are repeated for groups of
    heads, by expand and reshape or by repeat_interleave, are read as they were before.

    Where something else is done to the scores (a mask that puts a number, so that a row without
    keys is uniform and not NaN; two masks; a tanh), the ops from product to product become the body
    of a dl.attention as they are written. In either case that op is what later passes see. Fires
    where nothing else reads scores and weights. Does not fire where the softmax runs along the
    queries, or where maps between products and softmax read at another index than their own.
    Example: test/passes/raise/raise-attention.mlir.
    ```mlir
    %0 = dl.matmul %q, %t : (tensor<2x8x4xf32>, tensor<2x4x9xf32>) ->
        tensor<2x8x9xf32>      // t: keys, permuted
    %1 = dl.mul %0, %half : (tensor<2x8x9xf32>, tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
    %2 = dl.softmax %1 {dim = 2 : i64} : (tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
    %y = dl.matmul %2, %v : (tensor<2x8x9xf32>, tensor<2x9x4xf32>) -> tensor<2x8x4xf32>
    ```
    becomes
    ```mlir
    %y = dl.attention(%q, %k, %v) : (tensor<2x8x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>) ->
        tensor<2x8x4xf32> {
      // dl.contract of the queries and the keys, times 0.5; dl.softmax; dl.contract with the values
    }
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}
def : MovesResults<"raise-attention", "1e-5",
    "the scale is multiplied once, with the scores, where it was a rounded root of it with queries and keys">;

def RaiseNorms : Pass<"raise-norms", "::mlir::func::FuncOp"> {
  let summary = "Make one op of a norm that is written as arithmetic";
  let description = [{
    A product with (x - mean) / sqrt(variance + eps), which is a layer, instance or group norm,
    becomes dl.standardize, one with x / sqrt(mean(x^2) + eps) over the last dims dl.rms_norm; then
    factors and summands of the right dims become its weight and bias, of a group norm also those of
    channels after its groups have become channels again. Squares, roots and quotients may be powers
    or products, a mean a sum over the number of elements. A norm in f32 between two casts of 16
    bits takes the narrow tensor: it computes in f32 and rounds once. Fires where nothing else reads
    what the one op replaces and eps is a number. Example: test/passes/raise/raise-norms.mlir.
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
    %y = dl.rms_norm %x {eps = 1.0e-5 : f64, normalized_shape = array<i64: 8>} :
        (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}
def : MovesResults<"raise-norms", "1e-5",
                   "weights are multiplied in another order, and 1/n was rounded before">;

def RaiseRotary : Pass<"raise-rotary", "::mlir::func::FuncOp"> {
  let summary = "Read the two halves of a rotary embedding at one index";
  let description = [{
    x * cos + cat(-x2, x1) * sin, where x1 and x2 are the halves of the last dim of x, is computed
    with these as a dim of their own: cat is a flip of that dim, times -1 and 1. So no half is
    stored, and the map reads x where it was computed. Every bit stays. Fires where nothing else
    reads cat and the products. Example: test/passes/raise/raise-rotary.mlir.
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
    silu(gate(x)) * up(x), or the same with a GELU, where gate and up are products of one x with
    weights, with biases or without, or the parts of one product: these ops, and the product that
    alone reads the result, get the attribute `dl.role`. `--keep-f32 gated_mlp` finds them by it,
    and tables name them. It is no op of its own, for its products stay what they are to
    quantization, pruning and fusion, which read their weights. Fires where nothing else reads what
    lies between x and the result. Example: test/passes/raise/mark-gated-mlp.mlir.
    ```mlir
    %0 = dl.linear %x, %gate {dl.role = "gated_mlp"} : (tensor<4x8xf32>, tensor<16x8xf32>) ->
        tensor<4x16xf32>
    %1 = dl.silu %0 {dl.role = "gated_mlp"} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = dl.linear %x, %up {dl.role = "gated_mlp"} : (tensor<4x8xf32>, tensor<16x8xf32>) ->
        tensor<4x16xf32>
    %3 = dl.mul %1, %2 {dl.role = "gated_mlp"} : (tensor<4x16xf32>, tensor<4x16xf32>) ->
        tensor<4x16xf32>
    %4 = dl.linear %3, %down {dl.role = "gated_mlp"} : (tensor<4x16xf32>, tensor<8x16xf32>) ->
        tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numMarked", "marked", "Gated MLPs">];
}

def RaiseIntegerProducts : Pass<"raise-integer-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply the integers of which a product's operands were dequantized";
  let description = [{
    A model that was quantized by another tool holds (q - zero point) * scale before each product of
    f32: QuantizeLinear and DequantizeLinear of ONNX. Where the scale of the activation is one
    number, and that of the weight one for each channel of the result, the product of the integers
    in i32 is exact, and is scaled afterwards. A reshape or permute between the two is done to the
    integers. Sums that might not fit into i32, and those of fewer than 16 terms, stay. Example:
    test/passes/raise/raise-integer-products.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numRaised", "raised",
                              "Products of integers in place of products of f32">];
}
def : MovesResults<"raise-integer-products", "1e-4",
                   "sums are exact and scaled once, instead of rounded in f32">;

#endif // DLC_PASSES_RAISE_RAISEPASSES_TD
