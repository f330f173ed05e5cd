//===- AttentionSizes.h - Rows and keys of attention on the CPU ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CPU_SCHEDULE_ATTENTION_ATTENTIONSIZES_H
#define DLC_CODEGEN_CPU_SCHEDULE_ATTENTION_ATTENTIONSIZES_H

#include <cstdint>

namespace dlc::codegen {

/// Keys of a block: with their values, and the scores and sums of a group of rows, they fit the
/// first cache where heads are 64 wide. A multiple of the keys that registers take at once, 8 and
/// 6.
inline constexpr int64_t kBlockKeys = 48;

/// Fewest rows of queries, where their number is known, that the kernel takes: its vectors run
/// along them.
inline constexpr int64_t kFewestAttentionRows = 8;

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_ATTENTION_ATTENTIONSIZES_H
