//===- AttentionBody.h - Ops that become the body of an attention -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_RAISE_ATTENTIONBODY_H
#define DLC_PASSES_RAISE_ATTENTIONBODY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc {

/// Makes a dl.attention of each dl.scaled_dot_product_attention, with what that op is defined by as
/// its body, and of what else is two products of floats with maps and a softmax between them that
/// nothing else reads. One that repeats its scores for several values stays, as ops.
void formAttentions(mlir::func::FuncOp function);

} // namespace dlc

#endif // DLC_PASSES_RAISE_ATTENTIONBODY_H
