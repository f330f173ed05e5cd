//===- BlockMask.h - Blocks of weights that become zero together --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_PRUNE_BLOCKMASK_H
#define DLC_PASSES_COMPRESS_PRUNE_BLOCKMASK_H

#include "passes/compress/prune/PrunableWeights.h"

namespace dlc {

/// Rows of a block, and it has one column: neighbouring numbers of a result that read the same
/// number of what is multiplied. They lie in one vector where a CPU multiplies panels of 16 columns
/// of a result.
inline constexpr int64_t kBlockRows = 16;

/// The blocks of a weight, of at most kBlockRows numbers each: at the end of a matrix they have
/// fewer.
struct WeightBlocks {
  std::vector<uint64_t> positions; // of numbers in the order of the op's weight, block after block
  std::vector<uint64_t> ends;      // of each block in `positions`
};

/// The blocks of all matrices that products read the weight as.
WeightBlocks blocksOf(const PrunableWeight &weight);

/// The mask of whole blocks whose `scores` have the least sums of squares, so many that about
/// `share` of all numbers of blocks become zero: the nearest count that whole blocks give. `scores`
/// has a number for each of the weight, in the order of `blocks`; equal sums go in the order of the
/// blocks.
ZeroMask smallestBlocks(const StoredNumbers &scores, const WeightBlocks &blocks, double share);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_PRUNE_BLOCKMASK_H
