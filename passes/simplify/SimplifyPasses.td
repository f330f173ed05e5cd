//===- SimplifyPasses.td - Passes that make a model simpler ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_SIMPLIFY_SIMPLIFYPASSES_TD
#define DLC_PASSES_SIMPLIFY_SIMPLIFYPASSES_TD

include "passes/PassRecord.td"

def DecomposeOps : Pass<"decompose-ops", "::mlir::func::FuncOp"> {
  let summary = "Replace each op that other ops define by those";
  let description = [{
    Runs until no op with DecomposableOpInterface is left but dl.attention, which
    decompose-attention is about: a scaled_dot_product_attention becomes two matrix products and a
    softmax. An op whose results have a dim of size 0 becomes a dl.full. Annotations (discardable
    attributes) are handed on. Example: test/passes/simplify/decompose-ops.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numDecomposed", "decomposed", "Ops replaced by others">];
}

def FoldBatchNorm : Pass<"fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Move a batch norm into the weights of the convolution or linear layer before it";
  let description = [{
    With s = weight / sqrt(running_var + eps), a batch norm of conv2d(x, w, b) is conv2d(x, w*s, (b
    - running_mean)*s + bias). The new weights are computed by dl ops on the old ones, once at load.
    Fires where the contraction has this one user and all the parameters depend on weights alone,
    and gains and means are 2^20 at most as far as they are known. The sums are taken in another
    order of operations: see the bound. Example: test/passes/simplify/fold-batch-norm.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numFolded", "folded", "Batch norms folded into weights">];
}
def : MovesResults<"fold-batch-norm", "1e-4",
                   "weights are scaled and rounded before the sum instead of after it">;

def FoldScales : Pass<"fold-scales", "::mlir::func::FuncOp"> {
  let summary = "Move scales and shifts of channels into the weights of the product before or after them";
  let description = [{
    Rewrites a batch norm with known statistics that was not folded into a product as x*s + t, with
    s = weight / sqrt(running_var + eps) and t = bias - running_mean*s computed once at load, in f32
    whatever the precision of the model is. Then folds per-channel scales and shifts that depend
    only on weights into a convolution, linear layer or matmul: into the one before, by scaling and
    shifting its weight and bias, or into the one after, if it sums over these channels. A shift
    before a convolution needs one without padding, which would be shifted too. A number stays, and
    so does what the kernel of the op before computes on the way: they cost nothing. Fires where
    nothing else reads what lies between, nor the weight, and the annotations are equal. Scales of
    which a number is known to be beyond 2^-20 to 2^20, or 0, and shifts beyond 2^20 stay where they
    are: folded ones could leave the range of f32 (ir/dl/structure/ScaleRange.h). The sums are taken
    in another order: see the bound. Example: test/passes/simplify/fold-scales.mlir.
    ```mlir
    %0 = dl.conv2d %x, %w, %b : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) ->
        tensor<2x4x6x6xf32>
    %y = dl.mul %0, %scale : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) ->
        tensor<2x4x6x6xf32>    // of [4, 1, 1]
    ```
    becomes
    ```mlir
    %v = dl.mul %w, %s : (tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>) ->
        tensor<4x3x3x3xf32>        // at load
    %c = dl.mul %b, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = dl.conv2d %x, %v, %c : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) ->
        tensor<2x4x6x6xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numExpanded", "expanded",
                              "Batch norms that became a product and a sum">,
                    Statistic<"numFolded", "folded", "Products and sums folded into weights">];
}
def : MovesResults<"fold-scales", "1e-4",
                   "weights are scaled and rounded before the sum instead of after it">;

def HoistSlices : Pass<"hoist-slices", "::mlir::func::FuncOp"> {
  let summary = "Compute only those slices of a tensor that are read";
  let description = [{
    A slice of what an elementwise op, a norm, a softmax or a product computes for it alone becomes
    this op on slices: of the class token that a vision transformer ends in, the last layers are
    computed for one token. A slice of a concatenation is one of the tensor that it lies in. Where a
    permutation or a reshape is read by slices alone, these come first: what is moved then is the
    parts. Slices that are joined again are the tensor, or, the other way round, a roll of it. Not
    across a dim whose size the data say, not across @no_fuse, and not in what is computed at load.
    Example: test/passes/simplify/hoist-slices.mlir.
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
    A view is part of no kernel. Where an elementwise op reads a reshape of a tensor that is
    computed for it alone, it is done in that tensor's dims, and its result reshaped: f(reshape(x),
    y) is reshape(f(x, reshape(y))). The other operands are numbers, repetitions whose dims the new
    dims have too, or tensors that are stored anyway, of which a view costs nothing. A reshape of a
    repetition becomes a repetition, and a permutation that moves nothing but dims of size 1, of
    what an elementwise op reads, a reshape. What moves rows that a norm gives goes before the norm,
    which reads them where they are, if they are stored anyway. Not across @no_fuse, nor where the
    data say the size of a dim. Example: test/passes/simplify/move-views.mlir.
    ```mlir
    %0 = dl.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %1 = dl.reshape %0 {shape = affine_map<() -> (2, 4, 6)>} : (tensor<8x6xf32>) ->
        tensor<2x4x6xf32>
    %y = dl.add %1, %z : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    ```
    becomes
    ```mlir
    %0 = dl.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %1 = dl.reshape %z {shape = affine_map<() -> (8, 6)>} : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
    %2 = dl.add %0, %1 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    %y = dl.reshape %2 {shape = affine_map<() -> (2, 4, 6)>} : (tensor<8x6xf32>) ->
        tensor<2x4x6xf32>
    ```
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

def FoldConstants : Pass<"fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Compute what is made of dl.full alone";
  let description = [{
    `exp(1) + x` has nothing to fold but `2*3 + x` does: an op that reads nothing but dl.full,
    computes every element alike and whose body folds in exactly rounded arithmetic becomes a
    dl.full. Ops whose value would depend on the compiling machine's libm (exp, log, tanh, erf)
    stay. Example: test/passes/simplify/fold-constants.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numFolded", "folded", "Ops that became a number">];
}

def SimplifyAlgebra : Pass<"simplify-algebra", "::mlir::func::FuncOp"> {
  let summary = "Drop arithmetic that changes no bit";
  let description = [{
    x*1, x/1, x^1, x - 0, x + (-0), 0 + x of integers, neg(neg(x)), relu(relu(x)), maximum(x, x),
    where(c, x, x), nested broadcasts and concatenations. x / 2^n becomes a product with 2^-n, x *
    -1 a negation, and x^2, x^3 and x^4 are products. x + 0 of floats stays: it turns -0 into +0; so
    do x * 0 and x - x, which may be NaN, sqrt(x)^2, quotients by other numbers, and sums whose
    order would change. Example: test/passes/simplify/simplify-algebra.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

#endif // DLC_PASSES_SIMPLIFY_SIMPLIFYPASSES_TD
