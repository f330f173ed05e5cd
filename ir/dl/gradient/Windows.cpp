//===- Windows.cpp - Windows that slide over spatial dims, in derivatives -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Windows.h"

using namespace mlir;

namespace dlc::dl {

Windows::Windows(Derivation &d, ArrayRef<int64_t> strides, ArrayRef<int64_t> padding,
                 ArrayRef<int64_t> dilations)
    : count(d.rank() - 2), stride(strides), dilation(dilations), low(padding) {
  if (stride.empty())
    stride.assign(count, 1);
  if (dilation.empty())
    dilation.assign(count, 1);
  if (low.empty())
    low.assign(count, 0);
  high = low.size() == 2 * count ? SmallVector<int64_t>(llvm::drop_begin(low, count)) : low;
  low.truncate(count);
}

Term Windows::convolve(const Term &x, const Term &weight, int64_t groups) const {
  SmallVector<int64_t> padding = low;
  if (low != high)
    padding.append(high);
  ArrayRef<int64_t> steps(stride), widths(padding), apart(dilation);
  auto number = static_cast<uint64_t>(groups);
  switch (count) {
  case 1:
    return x.make<Conv1dOp>(weight, Value(), steps, widths, apart, number);
  case 2:
    return x.make<Conv2dOp>(weight, Value(), steps, widths, apart, number);
  default:
    return x.make<Conv3dOp>(weight, Value(), steps, widths, apart, number);
  }
}

Term Windows::spread(const Term &y, const Term &weight, int64_t groups) const {
  SmallVector<int64_t> zeros(count, 0);
  ArrayRef<int64_t> steps(stride), none(zeros), apart(dilation);
  auto number = static_cast<uint64_t>(groups);
  switch (count) {
  case 1:
    return y.make<ConvTranspose1dOp>(weight, Value(), steps, none, none, number, apart);
  case 2:
    return y.make<ConvTranspose2dOp>(weight, Value(), steps, none, none, number, apart);
  default:
    return y.make<ConvTranspose3dOp>(weight, Value(), steps, none, none, number, apart);
  }
}

Term Windows::cutToX(Derivation &d, Term full) const {
  Dims dims = d.dims();
  for (size_t i = 0; i < count; ++i) {
    AffineExpr behind = dims[2 + i] + low[i] - full.dims()[2 + i];
    full = full.padded(static_cast<int64_t>(2 + i), d.dim(-low[i]), behind);
  }
  return full;
}

} // namespace dlc::dl
