//===- DLContraction.td - Sums of products: matrix multiplication and einsum ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLCONTRACTION_TD
#define DLC_IR_DL_DLCONTRACTION_TD

include "ir/dl/base/DLBase.td"

class DL_ContractionOp<string mnemonic, string torchSchema>
    : DL_LoopOp<mnemonic, torchSchema, ["emitTerm", "emitResult"]> {
  let precision = "narrow";
  let results = (outs DL_NumberTensor:$y);
  let extraClassDefinition = compatibleDefinition # [{
    ::mlir::Value $cppClass::emitTerm(::dlc::BodyContext &context, unsigned,
                                      ::mlir::ValueRange args,
                                      ::mlir::ValueRange) {
      return ::dlc::dl::emitProduct(context, args, getElementTypeOrSelf(getX()));
    }
    ::mlir::Value $cppClass::emitResult(::dlc::BodyContext &context, ::mlir::ValueRange args,
                                        ::mlir::ValueRange accs) {
      return ::dlc::dl::emitBias(context, args, accs, getElementTypeOrSelf(getX()));
    }
  }];
}

def DL_LinearOp : DL_ContractionOp<"linear", "linear(Tensor x, Tensor weight, Tensor? bias=None)"> {
  let summary = "x times the transposed weight, plus bias";
  let description = [{
    x is [..., K], weight [N, K], bias [N]; the result [..., N]. PyTorch:
    `torch.nn.functional.linear`.
    ```mlir
    %y = dl.linear %x, %w, %b : (tensor<8x784xf32>, tensor<10x784xf32>, tensor<10xf32>) ->
        tensor<8x10xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$weight,
                       Optional<DL_NumberTensor>:$bias);
}

def DL_MatmulOp : DL_ContractionOp<"matmul", [{matmul(Tensor x, Tensor other)
    bmm(Tensor x, Tensor other)
    mm(Tensor x, Tensor other)
    mv(Tensor x, Tensor other)
    dot(Tensor x, Tensor other)}]> {
  let summary = "Matrix product, batched over the leading dims";
  let onnx = "MatMul(x, other)";
  let description = [{
    x is [..., M, K], other [..., K, N]; leading dims broadcast. A vector [K] on either side is a
    row or a column, and the result has no dim for it. PyTorch: `torch.matmul`.
    ```mlir
    %y = dl.matmul %a, %b : (tensor<12x64x32xf32>, tensor<12x32x64xf32>) -> tensor<12x64x64xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$other);
  let hasCanonicalizer = 1;
}

def DL_ContractOp : DL_ContractionOp<"contract", ""> {
  let summary = "Sum of products over loops that the dims of both operands name";
  let description = [{
    `x_loops` and `other_loops` say which loop each dim of an operand is. Loops 0 to rank-1 are the
    dims of the result; those behind are summed over, and both operands have them. A dim of size 1
    repeats along its loop. Matrix products of permuted operands become this op, and `dl.einsum`.
    PyTorch: `torch.einsum` of two operands.
    ```mlir
    %y = dl.contract %a, %b {x_loops = array<i64: 0, 1, 3>, other_loops = array<i64: 0, 2, 3>,
        rank = 3 : i64} :
        (tensor<12x64x32xf32>, tensor<12x48x32xf32>) -> tensor<12x64x48xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$other, DenseI64ArrayAttr:$x_loops,
      DenseI64ArrayAttr:$other_loops, I64Attr:$rank);
  let hasCanonicalizer = 1;
}

def DL_BlockSparseLinearOp
    : DL_LoopOp<"block_sparse_linear", "",
                ["emitTerm", "emitResult", "emitCoordinate", "emitSpan"]> {
  let summary = "x times a weight of which only the blocks that are not zero are stored, plus bias";
  let description = [{
    A block holds the numbers by which 16 neighbouring features of the result multiply one column of
    x. The features 16 * p to 16 * p + 15 are panel p, whose blocks are `starts[p]` to before
    `starts[p + 1]`: block b has the numbers `values[b]`, [16], and the column `columns[b]`. The
    sums run over dim `dim` of x, and the features are dim `dim` of the result. Along any other dim
    d the result reads each `steps[d]`-th element of x, every one where `steps` is empty. bias is
    [features]. Positions outside of what there is are moved to the nearest one inside. The pass
    store-blocks makes it of linear layers, of matrix products and of convolutions of one tap.
    PyTorch: `torch.nn.functional.linear` of the whole weight.
    ```mlir
    %y = dl.block_sparse_linear %x, %v, %c, %s {features = 30 : i64, dim = 1 : i64} :
        (tensor<8x64xf32>, tensor<9x16xf32>, tensor<9xi32>, tensor<3xi32>) -> tensor<8x30xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$values, DL_IndexTensor:$columns,
                       DL_IndexTensor:$starts,
      Optional<DL_NumberTensor>:$bias, I64Attr:$features, I64Attr:$dim,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$steps);
  let results = (outs DL_NumberTensor:$y);
  let extraClassDeclaration = schemaDeclaration # [{
    /// Features of a panel, and numbers of a block.
    static constexpr int64_t kPanel = 16;
  }];
}

def DL_ExpandTwoOfFourOp : DL_LoopOp<"expand_two_of_four", "", ["emitResult"]> {
  let summary = "A matrix of which two of each four neighbours are stored, the others being 0";
  let description = [{
    values is [N, K / 2] and the result [N, K], K a multiple of 8: `values[n, 2 * g]` and the next
    are those of the elements 4 * g to 4 * g + 3 of row n that are stored, in order. places is [N, K
    / 8]: the low four bits of `places[n, i]` are group 2 * i's, the high ones those of the next. Of
    these four bits the low two are the place of the first number in its group, the high two that of
    the second; where both say the same place, the first is there. Sparse tensor cores read their
    metadata so. The pass store-two-of-four makes it of weights that `dlc prune --pattern 2:4` has
    pruned. PyTorch: `torch.sparse.SparseSemiStructuredTensor.to_dense`.
    ```mlir
    %w = dl.expand_two_of_four %v, %p : (tensor<16x32xf16>, tensor<16x8xui8>) -> tensor<16x64xf16>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$values, RankedTensorOf<[UI8]>:$places);
  let results = (outs DL_NumberTensor:$y);
}

def DL_AddmmOp : DL_DecomposedOp<"addmm", [{addmm(Tensor x, Tensor mat1, Tensor mat2, float beta=1, float alpha=1)
    baddbmm(Tensor x, Tensor batch1, Tensor batch2, float beta=1, float alpha=1)
    addmv(Tensor x, Tensor mat, Tensor vec, float beta=1, float alpha=1)}]> {
  let summary = "beta x + alpha (a @ b)";
  let description = [{
    x broadcasts to the product; with beta = 0 it is not read. Becomes `dl.matmul` and sums.
    PyTorch: `torch.addmm`, `torch.baddbmm`, `torch.addmv`.
    ```mlir
    %y = dl.addmm %x, %a, %b {beta = 0.5 : f64} :
        (tensor<16xf32>, tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$a, DL_NumberTensor:$b,
      DefaultValuedAttr<F64Attr, "1.0">:$beta, DefaultValuedAttr<F64Attr, "1.0">:$alpha);
  let results = (outs DL_NumberTensor:$y);
}

def DL_OuterOp : DL_DecomposedOp<"outer", "outer(Tensor x, Tensor other)"> {
  let summary = "Products of all pairs of two vectors";
  let description = [{
    x is [M], other [N], the result [M, N]. Becomes `dl.mul`. PyTorch: `torch.outer`.
    ```mlir
    %y = dl.outer %a, %b : (tensor<4xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$other);
  let results = (outs DL_NumberTensor:$y);
}

def DL_EinsumOp : DL_DecomposedOp<"einsum", "einsum(str equation, Tensor[] tensors)"> {
  let summary = "Sums of products written as an equation of labels";
  let onnx = "Einsum(tensors*, equation=equation)";
  let description = [{
    Each dim of an operand has a letter; `...` stands for dims that broadcast, aligned at their end.
    Letters that the output does not name are summed over; a letter repeated within an operand takes
    its diagonal. Without `->` the output has `...` and then, in alphabetical order, the letters
    that occur once. Becomes `dl.contract` from left to right. PyTorch: `torch.einsum`.
    ```mlir
    %y = dl.einsum %q, %k {equation = "bhid,bhjd->bhij"} :
        (tensor<2x4x8x16xf32>, tensor<2x4x9x16xf32>) -> tensor<2x4x8x9xf32>
    ```
  }];
  let arguments = (ins StrAttr:$equation, Variadic<DL_NumberTensor>:$tensors);
  let results = (outs DL_NumberTensor:$y);
}

def DL_DiagonalOp : DL_LoopOp<"diagonal",
                              "diagonal(Tensor x, int offset=0, int dim1=0, int dim2=1)", ["emitResult"]> {
  let precision = "follow";
  let summary = "The elements at equal indices of two dims";
  let description = [{
    The two dims go, and a last one holds the diagonal, `offset` above the main one. PyTorch:
    `torch.diagonal`.
    ```mlir
    %y = dl.diagonal %x {dim1 = 0 : i64, dim2 = 2 : i64} : (tensor<4x8x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DefaultValuedAttr<I64Attr, "0">:$offset,
                       DefaultValuedAttr<I64Attr, "0">:$dim1,
      DefaultValuedAttr<I64Attr, "1">:$dim2);
  let results = (outs DL_Tensor:$y);
}

#endif // DLC_IR_DL_DLCONTRACTION_TD
