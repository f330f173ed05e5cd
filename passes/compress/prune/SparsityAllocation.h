//===- SparsityAllocation.h - How many zeros each weight gets -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_PRUNE_SPARSITYALLOCATION_H
#define DLC_PASSES_COMPRESS_PRUNE_SPARSITYALLOCATION_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace dlc {

/// How sensitive a layer is to zeros in its weight.
struct SensitivityCurve {
  struct Point {
    double share, cost; // of zeros, and what they cost, in any unit that all curves share
  };
  uint64_t numbers = 0;
  std::vector<Point> points; // by share, from 0 on; costs that fall as shares grow are noise
};

/// The share of zeros of each weight for which the sum of the costs is least, so that `total` of
/// all numbers become zero. Between its points a curve counts as its lower convex hull. No share is
/// above its curve's last one; where all have reached theirs, less than `total` becomes zero.
std::vector<double> allocateSparsity(llvm::ArrayRef<SensitivityCurve> curves, double total);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_PRUNE_SPARSITYALLOCATION_H
