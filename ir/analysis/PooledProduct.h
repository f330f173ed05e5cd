//===- PooledProduct.h - A convolution whose results a window reduces ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where windows of a pooling do not overlap, each result of the convolution before it is wanted
// once. A kernel that walks the convolution window by window need not store them.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_POOLEDPRODUCT_H
#define DLC_IR_ANALYSIS_POOLEDPRODUCT_H

#include "ir/interfaces/LoopNest.h"

namespace dlc {

struct PooledProduct {
  /// The convolution, and the op with one stage over a window of what maps make of its result.
  LoopNestOpInterface product, pool;
  /// The product's loops with the pool's in place of its own parallel ones: first the pool's
  /// parallel dims, then its window, both parallel here; then the product's reduction. Its results
  /// are named by the first of these.
  LoopNest nest;
  /// Elements of a window.
  int64_t window = 0;
};

/// Largest window: its totals are in a thread's registers.
inline constexpr int64_t kMostPooled = 16;

/// The two among `ops`, which compute `result` in program order, in f32, f16 or bf16, with maps
/// before, between and after: each element of the product's result is read by one window at most,
/// and all elements of a window are results of different rows of the first operand (places of an
/// image, not channels). nullopt where it is anything else, and for filters of one place: without
/// the pool such a convolution is a plain matrix product, which other kernels compute faster.
std::optional<PooledProduct> findPooledProduct(llvm::ArrayRef<mlir::Operation *> ops,
                                               mlir::Value result);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_POOLEDPRODUCT_H
