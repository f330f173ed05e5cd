//===- AttentionLegality.h - Which attention a target has a kernel for -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_ATTENTIONLEGALITY_H
#define DLC_IR_ANALYSIS_ATTENTIONLEGALITY_H

#include "ir/dl/composite/AttentionParts.h"

namespace dlc {

/// Widest head, of query and key and of value, that a kernel takes.
inline constexpr int64_t kMostHeadWidth = 256;

/// Fewest rows of queries, where their number is known, that the CPU's kernel takes: its vectors run along them.
inline constexpr int64_t kFewestAttentionRows = 8;

/// Dims of the result of an attention by their numbers.
struct AttentionDims {
  /// Queries, which neither key nor value has: the one that a causal mask is about, else the longest.
  unsigned row;
  /// The value alone has these.
  unsigned column;
};
/// nullopt where no dim is of queries alone, where the value's own elements lie along several dims or none, and where query
/// and key are summed along several.
std::optional<AttentionDims> dimsOfAttention(const dl::AttentionParts &parts, bool isCausal);

/// Whether `target` computes `op` in one kernel. cpu and cuda do where query, key and value are of one type, this, the scores
/// and the weights are f32, f16 or bf16, and the widths of the heads are static and at most kMostHeadWidth; cpu where
/// dimsOfAttention are known too and the rows are not fewer than kFewestAttentionRows.
/// That kernel never stores the scores: where it is possible it costs less than three kernels.
bool hasAttentionKernel(dl::AttentionOp op, llvm::StringRef target);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_ATTENTIONLEGALITY_H
