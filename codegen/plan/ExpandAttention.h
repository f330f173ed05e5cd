//===- ExpandAttention.h - The parts of an attention in place of the op -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PLAN_EXPANDATTENTION_H
#define DLC_CODEGEN_PLAN_EXPANDATTENTION_H

#include "ir/dl/composite/AttentionParts.h"
#include "ir/dlx/DLXOps.h"

namespace dlc::codegen {

/// Puts the parts of the attention of `kernel` into its body, in place of the op.
llvm::FailureOr<dl::AttentionParts> expandAttention(dlx::KernelOp kernel);
/// The same for a kernel of any kind: nullopt, and nothing done, where it is no attention.
llvm::FailureOr<std::optional<dl::AttentionParts>> expandIfAttention(dlx::KernelOp kernel);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_EXPANDATTENTION_H
