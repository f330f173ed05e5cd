//===- ExpandAttention.cpp - The parts of an attention in place of the op -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/ExpandAttention.h"

using namespace mlir;

namespace dlc::codegen {

FailureOr<dl::AttentionParts> expandAttention(dlx::KernelOp kernel) {
  auto attentions = llvm::to_vector(kernel.getBodyBlock().getOps<dl::AttentionOp>());
  if (attentions.size() != 1)
    return kernel.emitOpError("is of kind 'attention' and has ")
           << attentions.size() << " dl.attention in its body; expected one";
  dl::AttentionOp attention = attentions.front();
  OpBuilder builder(attention);
  dl::ExpandedAttention expanded = dl::expand(attention, builder);
  attention.replaceAllUsesWith(expanded.y);
  attention.erase();
  return expanded.parts;
}

FailureOr<std::optional<dl::AttentionParts>> expandIfAttention(dlx::KernelOp kernel) {
  if (kernel.getKind() != dlx::KernelKind::attention)
    return std::optional<dl::AttentionParts>();
  FailureOr<dl::AttentionParts> expanded = expandAttention(kernel);
  if (failed(expanded))
    return failure();
  return std::optional(*expanded);
}

} // namespace dlc::codegen
