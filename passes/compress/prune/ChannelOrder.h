//===- ChannelOrder.h - An order of channels in which zeros cost least --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of each four neighbours that one sum reads two become zero, so that it matters which channels are
// neighbours (Pool and Yu: "Channel Permutations for N:M Sparsity", NeurIPS 2021). Plain arrays of
// numbers: which channels may change places is ChannelGroups.h's subject.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_PRUNE_CHANNELORDER_H
#define DLC_PASSES_COMPRESS_PRUNE_CHANNELORDER_H

#include <cstdint>
#include <vector>

namespace dlc {

/// A weight that reads channels: what each of its numbers is worth, column by column, each with a
/// number for each of `rows` sums. Columns 4 i to 4 i + 3 are neighbours.
struct ChannelReader {
  int64_t rows = 0;
  std::vector<std::vector<float>> columns; // none below 0; their count is a multiple of four
  /// The columns of each channel that may change its place, as many of each, in an order in which
  /// one channel's are another's.
  std::vector<std::vector<int64_t>> ofChannel;

  /// The sum of what is kept where the two of each four neighbours that are worth least become
  /// zero.
  double kept() const;
};

/// Returns a channel order: position i of all readers gets the columns of channel order[i]. Swaps
/// two channels as long as that raises the sum over readers of kept(), relative to each reader's
/// total. Stops when no swap helps, or after `budget` evaluations of a row of four. Deterministic.
/// The columns of `readers` are in that order afterwards.
std::vector<size_t> orderChannels(std::vector<ChannelReader> &readers, size_t channels,
                                  int64_t budget);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_PRUNE_CHANNELORDER_H
