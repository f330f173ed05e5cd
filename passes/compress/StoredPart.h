//===- StoredPart.h - The tensors that take the place of a compressed weight --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_COMPRESS_STOREDPART_H
#define DLC_PASSES_COMPRESS_STOREDPART_H

#include "ir/dl/DLOps.h"

namespace dlc {

/// Where a weight's numbers stand in for those that are stored: the driver fits and holds them in
/// memory until the package is written (WeightReader.h).
inline constexpr llvm::StringLiteral kPackedFile = "weights in few bits";

/// A new weight before `weight`, of this shape and element type, that is named after it with
/// `suffix`. Its numbers come from kPackedFile, or from nowhere where `weight` has no file either.
mlir::Value storedPart(dl::WeightOp weight, llvm::StringRef suffix, llvm::ArrayRef<int64_t> shape,
                       mlir::Type element);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_STOREDPART_H
