//===- FusePasses.td - Passes that decide what shares a kernel -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_FUSE_FUSEPASSES_TD
#define DLC_PASSES_FUSE_FUSEPASSES_TD

include "passes/PassRecord.td"

def DecomposeAttention : Pass<"decompose-attention", "::mlir::func::FuncOp"> {
  let summary = "Replace the attentions that no kernel of the target computes by products and softmaxes";
  let description = [{
    Asks the schedules of the target (ir/interfaces/ScheduleOracle.h) about each dl.attention. One
    that stays becomes a kernel that never stores the scores; with `explain` a remark says of each
    other one why. Scores of 16 bits, and their softmax, are computed in f32, as in one kernel.
    Example: test/passes/fuse/decompose-attention.mlir.
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
    Products of quantized tensors are written in i32. Where both operands of one have numbers of 16
    bits at most (ir/analysis/IntegerRange.h), each is cast to a narrower type and back: the first
    one to u8 with a zero point where 256 numbers are enough, the second one to i8, or to u8 where
    it depends on weights alone, and either to i16 else: the types that CPUs multiply. Fusion lets
    the operand's producer store that, and the product's kernel widen it. A product of the same
    numbers is the same. Where a target multiplies floats of 8 bits as they are stored
    (ScheduleOracle), each operand of such a product gets a cast of its own. Example:
    test/passes/outline/narrow-products.mlir.
    ```mlir
    %y = dl.matmul %x, %w : (tensor<4x8xi32>, tensor<8x2xi32>) ->
        tensor<4x2xi32>     // x of -128 to 127
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
    Merges products of one tensor with several weights (dl.linear, dl.matmul, with a bias added), as
    for queries, keys and values, into one product with the concatenated weight. Each result must be
    read by an attention or another op that can read a slice instead. The weights are concatenated
    at load. An
    elementwise reader would be part of the product's kernel: such products stay apart. Example:
    test/passes/fuse/merge-products.mlir.
    ```mlir
    %q = dl.linear %x, %wq : (tensor<9x64xf32>, tensor<64x64xf32>) -> tensor<9x64xf32>
    %k = dl.linear %x, %wk : (tensor<9x64xf32>, tensor<16x64xf32>) -> tensor<9x16xf32>
    // becomes
    %w = dl.cat %wq, %wk {dim = 0 : i64} : (tensor<64x64xf32>, tensor<16x64xf32>) ->
        tensor<80x64xf32>
    %y = dl.linear %x, %w : (tensor<9x64xf32>, tensor<80x64xf32>) -> tensor<9x80xf32>
    %q = dl.slice %y {dim = 1 : i64, end = 64 : i64, start = 0 : i64} : (tensor<9x80xf32>) ->
        tensor<9x64xf32>
    %k = dl.slice %y {dim = 1 : i64, end = 80 : i64, start = 64 : i64} : (tensor<9x80xf32>) ->
        tensor<9x16xf32>
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

    Row fusion: reductions of the same rows of a tensor, and maps of its elements or of what they
    give, are one kernel (ir/analysis/RowKernel.h) where one reads another or both read the same,
    and where that is estimated to take less time: a sum and the norm of it, a mean and a variance,
    a softmax written out. The kernel stores what others read: elements of rows, or a value for each
    row. What is computed for several reductions of a row is computed for each.

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

    Recomputation: each reader of a map computes the map itself if all of them can and the estimate
    says that this is faster than storing the result. It saves the map's kernel and the traffic of
    its result.

    Where groups are joined, no path may lead from one of the two to the other through a third
    kernel. Values between the two are rounded to their dtype no more, but for maps that are stored,
    too. Fusions come in an order in which what each reads is above it, as close to that of the ops
    as possible. Each says why what it reads of others is not computed by itself (`edges`). What
    remains outside fusions is dl.weight, those dl.reshape that are views and those dl.cat that are
    in place. Examples: test/passes/fuse/form-fusions.mlir and the files beside it.
  }];
  let options = [Option<"separate", "separate", "bool", "false",
                        "Give each op a fusion of its own, to compare with">];
  let dependentDialects = ["::dlc::dl::DLDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numFusions", "fusions", "Fusions formed">,
                    Statistic<"numPooled", "pooled", "Poolings that became part of a convolution">,
                    Statistic<"numRows", "rows",
                              "Kernels that became part of another of the same rows">,
                    Statistic<"numReaders", "readers",
                              "Maps that became part of the kernel of what they read">,
                    Statistic<"numRecomputed", "recomputed",
                              "Maps that each of their readers computes">,
                    Statistic<"numInPlace", "in-place",
                              "Concatenations whose parts are written in place">,
                    Statistic<"numSideBySide", "side-by-side",
                              "Recurrences that joined the kernel of another">];
}

#endif // DLC_PASSES_FUSE_FUSEPASSES_TD
