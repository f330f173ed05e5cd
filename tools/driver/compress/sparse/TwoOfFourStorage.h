//===- TwoOfFourStorage.h - Two of each four neighbours of a weight -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_SPARSE_TWOOFFOURSTORAGE_H
#define DLC_TOOLS_DRIVER_COMPRESS_SPARSE_TWOOFFOURSTORAGE_H

#include "tools/driver/compress/sparse/SparseStorage.h"

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// The command that `dlc refit` names where it refuses to put other weights into the file.
inline constexpr const char *kTwoOfFourCommand =
    "dlc compile MODEL --sparse 2:4 --weights NEW.safetensors";

/// Before the phase that splits the targets: counts the groups of four neighbours of each weight
/// that have more than two numbers, for the pass store-two-of-four, writes the count to the weight,
/// and holds what would take its place (WeightReader.h). `found` grows by the number of weights
/// that products read. An ExitCode; all but kOk are reported.
int countFullGroups(mlir::ModuleOp module, int64_t &found);

/// How the weights of `module` are stored, after store-two-of-four has run.
SparseStorage twoOfFourStorageOf(mlir::ModuleOp module, int64_t found);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_SPARSE_TWOOFFOURSTORAGE_H
