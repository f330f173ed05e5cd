//===- AttentionLimits.h - Which attentions kernels compute -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_ATTENTIONLIMITS_H
#define DLC_CODEGEN_PLAN_ATTENTIONLIMITS_H

#include "ir/dl/composite/AttentionParts.h"

#include <string>

namespace dlc::codegen {

/// Widest head, of query and key and of value, that a kernel takes.
inline constexpr int64_t kMostHeadWidth = 256;

/// Dims of the result of an attention by their numbers.
struct AttentionDims {
  /// Queries, which neither key nor value has: the one that a causal mask is about, else the
  /// longest.
  unsigned row;
  /// The value alone has these.
  unsigned column;
};
/// nullopt where no dim is of queries alone, where the value's own elements lie along several dims
/// or none, and where query and key are summed along several.
std::optional<AttentionDims> dimsOfAttention(const dl::AttentionParts &parts, bool isCausal);

/// Why no kernel of any target computes `op`, the end of a sentence; empty where query, key and
/// value are of one type, this, the scores and the weights are f32, f16 or bf16, and the widths of
/// the heads are static and at most kMostHeadWidth. A kernel that computes an attention never
/// stores the scores: where it is possible it costs less than three kernels.
std::string whyBeyondLimits(dl::AttentionOp op);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_ATTENTIONLIMITS_H
