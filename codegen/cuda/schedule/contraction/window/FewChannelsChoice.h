//===- FewChannelsChoice.h - Which rows a block of a first layer gets ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An estimate, not a search: many rows share the filters and the lines of the image, few keep more
// of the GPU busy.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_WINDOW_FEWCHANNELSCHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_WINDOW_FEWCHANNELSCHOICE_H

#include "ir/machine/GpuModel.h"

#include <cstdint>
#include <vector>

namespace dlc::codegen {

/// A convolution of an image, or a video, of few channels whose rows lie together.
struct FewChannelsShape {
  int64_t channels, wide; // of the image
  int64_t filters, outHigh, outWide;
  int64_t tapsHigh, tapsWide, strideHigh, strideWide, padLeft;
  int64_t images;        // or frames of results, in a run
  int64_t tapsDeep = 1;  // frames of a video that a result reads
  int64_t finishing = 0; // operations that make a result of a total
  bool isAcross = false; // results of a filter lie together
};

/// A block's rows of results, how often it takes so many, and its filters.
struct FewChannelsTile {
  static constexpr int64_t threads = 128;
  /// Bytes of shared memory at most: some GPUs have 99 KiB.
  static constexpr int64_t mostShared = 96 << 10;
  int64_t rows = 0, turns = 0, filters = 0;

  /// Blocks of an image along the grid's x.
  int64_t spans(const FewChannelsShape &shape) const;
  /// Steps of k, and bytes of shared memory, as few_channels_room of dlc_few_channels.cuh has them.
  static int64_t depth(const FewChannelsShape &shape);
  int64_t sharedBytes(const FewChannelsShape &shape) const;
};

/// Clocks that the convolution is estimated to take.
double estimatedClocks(const FewChannelsTile &tile, const FewChannelsShape &shape,
                       const GpuModel &gpu);
/// The tiles that fit, and the one of them with the smallest estimate; none, and one of no rows,
/// where none fits.
std::vector<FewChannelsTile> fewChannelsTiles(const FewChannelsShape &shape);
FewChannelsTile chooseFewChannelsTile(const FewChannelsShape &shape, const GpuModel &gpu);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_WINDOW_FEWCHANNELSCHOICE_H
