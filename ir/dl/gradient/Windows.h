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
  /// The transposed convolution of `y` by `weight`, without the padding.
  Term spread(const Term &y, const Term &weight, int64_t groups = 1) const;
  /// Cuts `full`, the gradient of the padded operand 0, to the dims of operand 0.
  Term cutToX(Derivation &d, Term full) const;
};

} // namespace dlc::dl

#endif // DLC_IR_DL_GRADIENT_WINDOWS_H
