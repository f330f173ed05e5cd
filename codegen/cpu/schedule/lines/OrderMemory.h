//===- OrderMemory.h - What the sorts of a line share -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_LINES_ORDERMEMORY_H
#define DLC_CODEGEN_CPU_SCHEDULE_LINES_ORDERMEMORY_H

#include "codegen/cpu/schedule/CpuKernel.h"

namespace dlc::codegen {

/// Scratch memory of the elements of a line that are put in order. The word of an element whose key
/// has 32 bits is that key above its place; a key of 64 bits fills the word, and its place lies
/// beside. Elements of equal keys stand by their places.
struct OrderMemory {
  mlir::Value counters; // i32, of two passes
  int64_t halfCounters; // of one
  mlir::Value words;    // i64, twice the line and more: vectors go beyond
  mlir::Value places;   // i32, as many; null where the words have them
  mlir::Value half;     // where the second half begins
  mlir::Value network;  // i32, of a PrefixSort; null where lines have too few elements
  mlir::Value ranks;    // i64, of a PairSort, where the counters lie
};

/// Bits of a place in a word.
inline constexpr int64_t kPlaceBits = 32;

/// Takes the places of a line's elements (i64) as a sort finds them.
struct OrderResult {
  /// That of one rank, an index.
  llvm::function_ref<void(mlir::Value rank, mlir::Value place)> give;
  /// Those of the first `count` ranks: `placeAt` is asked for one, or in a loop of vectors for
  /// those from `rank` on.
  llvm::function_ref<void(mlir::Value count, llvm::function_ref<mlir::Value(mlir::Value rank)>)>
      giveAll;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_LINES_ORDERMEMORY_H
