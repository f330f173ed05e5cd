//===- WeightReader.h - Weights that are packed in their files -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_WEIGHTREADER_H
#define DLC_TOOLS_DRIVER_WEIGHTREADER_H

#include "mlir/IR/Operation.h"

#include <vector>

namespace dlc {

/// The bytes of the array `name` of an npz file, row-major and little-endian; a failure is reported at `weight`.
mlir::FailureOr<std::vector<uint8_t>> readPackedWeight(mlir::Operation *weight,
                                                       llvm::StringRef file, llvm::StringRef name);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_WEIGHTREADER_H
