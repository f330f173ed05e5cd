//===- DLNorm.h - What normalizations are computed with -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_REDUCTION_DLNORM_H
#define DLC_IR_DL_REDUCTION_DLNORM_H

#include "ir/dl/DLOps.h"

namespace dlc::dl {

/// What `op` adds to the mean of squares: its attribute, or as PyTorch the distance from 1 to the
/// next number of its dtype.
double epsilonOf(RmsNormOp op);

} // namespace dlc::dl

#endif // DLC_IR_DL_REDUCTION_DLNORM_H
