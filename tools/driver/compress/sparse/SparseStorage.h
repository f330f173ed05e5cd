//===- SparseStorage.h - How weights are stored without their zeros -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_SPARSE_SPARSESTORAGE_H
#define DLC_TOOLS_DRIVER_COMPRESS_SPARSE_SPARSESTORAGE_H

#include <cstdint>
#include <string>

namespace dlc {

/// The result of a pass that stores weights without their zeros, in weights and bytes.
struct SparseStorage {
  const char *pattern, *how;               // "block", and "without their blocks of zeros"
  int64_t found = 0, stored = 0;           // weights, and those of them that are stored so
  int64_t bytesBefore = 0, bytesAfter = 0; // of the latter
  /// "block: 2 of 4 weights without their blocks of zeros; 9,437,184 bytes became 2,005,012"
  std::string text() const;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_SPARSE_SPARSESTORAGE_H
