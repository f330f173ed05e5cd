//===- ConcatParts.h - Where the tensors of a concatenation lie in it ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_SHAPE_CONCATPARTS_H
#define DLC_IR_DL_SHAPE_CONCATPARTS_H

#include "ir/dl/DLOps.h"

namespace dlc::dl {

/// The dim along which `cat` joins its tensors, counted from the first one.
unsigned joinedDim(CatOp cat);
/// The index along that dim at which each tensor begins in the result.
Dims startsOf(CatOp cat);

} // namespace dlc::dl

#endif // DLC_IR_DL_SHAPE_CONCATPARTS_H
