//===- Windows.h - Windows that slide over spatial dims, in derivatives -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_GRADIENT_WINDOWS_H
#define DLC_IR_DL_GRADIENT_WINDOWS_H

#include "ir/dl/gradient/Derivation.h"

namespace dlc::dl {

/// How windows move along the spatial dims of operand 0, [N, C, ...].
struct Windows {
  size_t count; // of spatial dims: 1 to 3
  llvm::SmallVector<int64_t> stride, dilation, low, high;

  /// `padding` has a number for each dim, or those before each dim, then those behind. Each list
  /// may be empty: 1, 0 and 1 for all dims.
  Windows(Derivation &d, llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> padding,
          llvm::ArrayRef<int64_t> dilation);

  /// The convolution of `x` by `weight`.
  Term convolve(const Term &x, const Term &weight, int64_t groups = 1) const;
  /// Returns the transposed convolution of `y` by `weight`, with the spatial dims of operand 0.
  Term spread(Derivation &d, const Term &y, const Term &weight, int64_t groups = 1) const;
};

} // namespace dlc::dl

#endif // DLC_IR_DL_GRADIENT_WINDOWS_H
