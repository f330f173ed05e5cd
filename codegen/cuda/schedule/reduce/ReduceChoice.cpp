//===- ReduceChoice.cpp - Into how many parts the rows of a reduction are cut -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates: a block of 256 threads with four loads of 4 bytes on their way a thread, 600 clocks
// each, reads about 7 bytes in a clock. A multiprocessor of an H100 gets 13 from memory, so that a
// block has 512 threads, and a load 16 bytes where terms lie together. One thread reads a term in
// 150 clocks. A cooperative launch with its workspace cleared takes some 8000 clocks more than a
// plain one.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/reduce/ReduceChoice.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using llvm::divideCeilSigned;

namespace dlc::codegen {

RowShare chooseRowShare(const ReduceShape &shape, const GpuModel &gpu) {
  const RowLimits &limits = gpu.rows;
  RowShare share;
  if (shape.rows < 1)
    return share;
  if (shape.isAcross) {
    if (shape.terms < limits.sharedColumn || shape.terms < limits.sharedElements / shape.rows)
      return share;
    // Both factors are bounded: the first by the blocks that may wait, so that the product is.
    int64_t wanted = std::min(
        kMostBlocks, shape.rows > kMostBlocks * kPartThreads
                         ? kMostBlocks
                         : divideCeilSigned(std::min(shape.terms, int64_t(1) << 31) * shape.rows,
                                            limits.threadTerms * kPartThreads));
    share = {wanted * kPartThreads / shape.rows, wanted};
  } else {
    if (shape.terms < limits.sharedRow || shape.rows > gpu.multiprocessors / 2)
      return share;
    share.parts =
        std::min(kMostBlocks / shape.rows, divideCeilSigned(shape.terms, limits.sharedTerms));
    share.blocks = share.parts * shape.rows;
  }
  return share.parts < (shape.isAcross ? limits.fewestParts : 2) ? RowShare() : share;
}

} // namespace dlc::codegen
