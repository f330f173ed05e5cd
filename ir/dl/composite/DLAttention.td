//===- DLAttention.td - Attention -------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLATTENTION_TD
#define DLC_IR_DL_DLATTENTION_TD

include "ir/dl/base/DLBase.td"

def DL_ScaledDotProductAttentionOp : DL_DecomposedOp<"scaled_dot_product_attention",
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, float? scale=None, bool enable_gqa=False)"> {
  let summary = "softmax(query key^T scale + mask) value";
  let description = [{
    query is [..., L, E], key [..., S, E], value [..., S, Ev]; leading dims broadcast; the result is
    [..., L, Ev]. `scale` defaults to 1/sqrt(E). `attn_mask` broadcasts to [..., L, S]: where a bool
    one is false, and above the diagonal from the top left with `is_causal`, nothing is attended to;
    a float one is added. A row that attends to nothing is NaN. With `enable_gqa` the heads of query
    (dim -3) share those of key and value, in consecutive groups. dropout_p must be 0. PyTorch:
    `torch.nn.functional.scaled_dot_product_attention`.
    ```mlir
    %y = dl.scaled_dot_product_attention %q, %k, %v {is_causal = true} :
        (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>,
        tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$query, DL_FloatTensor:$key, DL_FloatTensor:$value,
      Optional<DL_Tensor>:$attn_mask, DefaultValuedAttr<F64Attr, "0.0">:$dropout_p,
      DefaultValuedAttr<BoolAttr, "false">:$is_causal, OptionalAttr<F64Attr>:$scale,
      DefaultValuedAttr<BoolAttr, "false">:$enable_gqa);
  let results = (outs DL_FloatTensor:$y);
}

def DL_AttentionOp : DL_Op<"attention", "",
                           [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">,
                                             DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "Two products with a softmax between them, as one op";
  let description = [{
    The body says what is computed: scores, a product of queries and keys; maps of the scores at
    their own index, such as a scale and masks; a softmax of them along the keys; and the product of
    its weights and values, which is the result. The weights may be rounded to other floats before
    that product, to e4m3 also times a number up to 256. Either product may have its operands and
    loops in any order. With `is_causal` row i, along dim -2 of the scores, attends to the keys 0 to
    i of dim -1: no op of the body says so. The pass raise-attention makes this op, at the end of
    `simplify`, of everything that is attention. It lives until `fuse`, where decompose-attention
    replaces it for targets that have no kernel for it.
    ```mlir
    %y = dl.attention(%q, %k, %v) {is_causal} :
        (tensor<8x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<8x4xf32> {
    ^bb0(%a: tensor<8x4xf32>, %b: tensor<9x4xf32>, %c: tensor<9x4xf32>):
      %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>,
          rank = 2 : i64} :
          (tensor<8x4xf32>, tensor<9x4xf32>) -> tensor<8x9xf32>
      %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
      %2 = dl.matmul %1, %c : (tensor<8x9xf32>, tensor<9x4xf32>) -> tensor<8x4xf32>
      dl.yield %2 : tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<DL_AnyTensor>:$inputs, UnitAttr:$is_causal);
  let results = (outs DL_FloatTensor:$y);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, results) $body";
  let extraClassDeclaration = schemaDeclaration # [{
    ::mlir::Block &getBodyBlock() { return getBody().front(); }
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def DL_CausalMaskOp : DL_Op<"causal_mask", "",
                            [Pure,
                             DeclareOpInterfaceMethods<LoopNestOpInterface, ["emitResult"]>]> {
  let summary = "0 up to the diagonal from the top left, -inf above it";
  let description = [{
    What the causal attention adds to its scores [L, S]: row i attends to columns 0 to i. Where the
    dims are static it is computed at load. PyTorch: `torch.full([L, S], -inf).triu(1)`.
    ```mlir
    %y = dl.causal_mask : () -> tensor<8x9xf32>
    ```
  }];
  let arguments = (ins);
  let results = (outs DL_FloatTensor:$y);
  let hasVerifier = 1;
}

#endif // DLC_IR_DL_DLATTENTION_TD
