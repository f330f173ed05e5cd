//===- AttentionViews.h - Attention whose leading dims are joined and split ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_RAISE_ATTENTIONVIEWS_H
#define DLC_PASSES_RAISE_ATTENTIONVIEWS_H

#include "mlir/IR/PatternMatch.h"

namespace dlc {

/// Adds patterns that take views of leading dims from between the products and the softmax of an
/// attention: products in three dims [batch * heads, ...] with a mask in four become products in
/// four. The views go to the products' other operands and results, where they meet those that
/// joined the dims.
void addAttentionViews(mlir::RewritePatternSet &patterns);

} // namespace dlc

#endif // DLC_PASSES_RAISE_ATTENTIONVIEWS_H
