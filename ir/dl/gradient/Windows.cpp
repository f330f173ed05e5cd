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

Term Windows::spread(Derivation &d, const Term &y, const Term &weight, int64_t groups) const {
  Dims dims = d.dims(), from = y.dims(), window = weight.dims();
  SmallVector<int64_t> cut(count, 0), added(count, 0);
  for (size_t i = 0; i < count; ++i) {
    // Elements of the padded dim that no window reaches; fewer than 0 if windows reach beyond it.
    AffineExpr rest = dims[2 + i] + low[i] + high[i] - (from[2 + i] - 1) * stride[i] -
                      (window[2 + i] - 1) * dilation[i] - 1;
    std::optional<int64_t> unseen = asConstant(normalize(rest));
    if (!unseen || *unseen >= std::max(stride[i], dilation[i]))
      continue;
    cut[i] = std::min(low[i], high[i]);
    added[i] = std::max<int64_t>(*unseen, 0);
  }
  ArrayRef<int64_t> steps(stride), widths(cut), behind(added), apart(dilation);
  auto number = static_cast<uint64_t>(groups);
  Term full =
      count == 1 ? y.make<ConvTranspose1dOp>(weight, Value(), steps, widths, behind, number, apart)
      : count == 2
          ? y.make<ConvTranspose2dOp>(weight, Value(), steps, widths, behind, number, apart)
          : y.make<ConvTranspose3dOp>(weight, Value(), steps, widths, behind, number, apart);
  for (size_t i = 0; i < count; ++i) {
    int64_t before = low[i] - cut[i];
    AffineExpr after = dims[2 + i] + before - full.dims()[2 + i];
    full = full.padded(static_cast<int64_t>(2 + i), d.dim(-before), after);
  }
  return full;
}

} // namespace dlc::dl
