//===- AttentionLegality.h - Which attention a target has a kernel for -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_ATTENTIONLEGALITY_H
#define DLC_IR_ANALYSIS_ATTENTIONLEGALITY_H

#include "ir/dl/DLOps.h"

namespace dlc {

/// Widest head, of query and key and of value, that a kernel takes.
inline constexpr int64_t kMostHeadWidth = 256;

/// Whether `target` computes `op` in one kernel. cuda does where query, key and value are of one type, this, the scores and the
/// weights are f32, f16 or bf16, and the widths of the heads are static and at most kMostHeadWidth. No other target does.
/// That kernel never stores the scores: where it is possible it costs less than three kernels.
bool hasAttentionKernel(dl::AttentionOp op, llvm::StringRef target);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_ATTENTIONLEGALITY_H
