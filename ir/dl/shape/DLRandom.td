//===- DLRandom.td - Tensors of random bits ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLRANDOM_TD
#define DLC_IR_DL_DLRANDOM_TD

include "ir/dl/base/DLBase.td"

def DL_RandomBitsOp : DL_LoopOp<"random_bits",
    "random_bits(Tensor generator, SymInt[] size, int draw=0, int word=0)", ["emitResult"]> {
  let summary = "Random bits at each place";
  let description = [{
    `generator` is a seed and a count. Each element is a word, 0 to 3, of Philox 4x32-10: the key is
    the seed, the counter is the element's place in the row-major order in its lower half and count
    + draw in its upper one. The bits are the same on every device, and no memory holds them where
    another op is fused with this one. The functions `rand`, `randn` and their like are made of it.
    PyTorch: none; its generators on GPUs use Philox too.
    ```mlir
    %y = dl.random_bits %g {size = affine_map<() -> (4, 8)>, draw = 1 : i64} :
        (tensor<2xi64>) -> tensor<4x8xui32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$generator, AffineMapAttr:$size,
                       DefaultValuedAttr<I64Attr, "0">:$draw,
      DefaultValuedAttr<I64Attr, "0">:$word);
  let results = (outs RankedTensorOf<[UI32]>:$y);
  let hasVerifier = 1;
}

#endif // DLC_IR_DL_DLRANDOM_TD
