//===- BlockStorage.h - Weights without their blocks of zeros -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_SPARSE_BLOCKSTORAGE_H
#define DLC_TOOLS_DRIVER_COMPRESS_SPARSE_BLOCKSTORAGE_H

#include "tools/driver/compress/sparse/SparseStorage.h"

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// The command that `dlc refit` names where it refuses to put other weights into the file.
inline constexpr const char *kBlockSparseCommand =
    "dlc compile MODEL --sparse block --weights NEW.safetensors";

/// Before the phase that splits the targets: counts the blocks that are not zero of each weight
/// that the pass store-blocks may store so, writes the count to it, and holds what would take its
/// place (WeightReader.h). `found` grows by the number of weights of f32 that products read. An
/// ExitCode; all but kOk are reported.
int countBlocks(mlir::ModuleOp module, int64_t &found);

/// How the weights of `module` are stored, after store-blocks has run.
SparseStorage blockStorageOf(mlir::ModuleOp module, int64_t found);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_SPARSE_BLOCKSTORAGE_H
