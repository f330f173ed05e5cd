//===- WeightReader.h - Weights that are packed in their files ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_WEIGHTS_WEIGHTREADER_H
#define DLC_TOOLS_DRIVER_WEIGHTS_WEIGHTREADER_H

#include "ir/dl/DLOps.h"

#include <vector>

namespace dlc {

/// The bytes of the array `name` of an npz file or of an ONNX model, row-major and little-endian,
/// or those that holdPackedWeight was given (kPackedFile); a failure is reported at `weight`.
mlir::FailureOr<std::vector<uint8_t>> readPackedWeight(mlir::Operation *weight,
                                                       llvm::StringRef file, llvm::StringRef name);

/// All bytes of a weight that has a file, wherever they lie; a failure is reported at it.
mlir::FailureOr<std::vector<uint8_t>> readWeightBytes(dl::WeightOp weight);

/// Holds the bytes of the weight `name` of kPackedFile until the process ends.
void holdPackedWeight(llvm::StringRef name, std::vector<uint8_t> bytes);

/// Holds the bytes so under `base`, or where others have that name already, under `base` with the
/// first number from 2 on that is free. Bytes that are held already keep their name: programs of
/// several targets share them. Returns the name.
std::string holdUnderOwnName(const std::string &base, std::vector<uint8_t> bytes);

/// A weight of f32[numbers.size()] whose numbers are held so, at the place of `builder`.
mlir::Value holdVector(mlir::OpBuilder &builder, mlir::Location location, llvm::StringRef name,
                       llvm::ArrayRef<float> numbers);

/// The name of the first weight that `value`, which depends on weights alone, is computed from;
/// "number" where there is none.
std::string weightNameOf(mlir::Value value);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_WEIGHTS_WEIGHTREADER_H
