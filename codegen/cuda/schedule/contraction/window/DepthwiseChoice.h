//===- DepthwiseChoice.h - Which strip a thread of a depthwise convolution gets -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An estimate, not a search: wide strips load less for each result, narrow ones keep more of the
// GPU busy.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_WINDOW_DEPTHWISECHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_WINDOW_DEPTHWISECHOICE_H

#include "ir/machine/GpuModel.h"

#include <cstdint>

namespace dlc::codegen {

/// Along one dim of the image.
struct WindowShape {
  int64_t extent, taps, stride, dilation; // extent: of the result
};

/// A convolution whose results sum over `depth` channels each.
struct DepthwiseShape {
  WindowShape rows, columns;
  int64_t channels, depth;
  int64_t fewest, most; // images in a run
  int64_t elementBytes;
  int64_t lanes; // channels that lie together, so that one access may take them; 1: columns do
  bool isChannelsLast;
  int64_t along = 1; // neighbours along an image's row that one access may take, a power of two
};

/// Results of one thread: rows x columns of `lanes` channels.
struct Strip {
  static constexpr int64_t threads = 128; // of a block
  int64_t rows, columns, lanes;

  int64_t results() const { return rows * columns * lanes; }
};

/// Neighbours along a row of the image that an access of the strip takes.
int64_t alongOf(const Strip &strip, const DepthwiseShape &shape);
/// Accesses that a strip makes to the image and to the filter, each of `lanes` elements or, of the
/// image, of alongOf.
int64_t loadsOf(const Strip &strip, const DepthwiseShape &shape);
/// Registers that a thread is estimated to need.
int64_t registersOf(const Strip &strip, const DepthwiseShape &shape);
/// Clocks that the strips of `images` images are estimated to take.
double estimatedClocks(const Strip &strip, const DepthwiseShape &shape, int64_t images,
                       const GpuModel &gpu = kAmpere);
/// The strip that does best over the fewest and the most images.
Strip chooseStrip(const DepthwiseShape &shape, const GpuModel &gpu = kAmpere);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_WINDOW_DEPTHWISECHOICE_H
