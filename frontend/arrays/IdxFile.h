//===- IdxFile.h - Arrays of the IDX format, that of MNIST's own files --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two zeros, a byte for the type, a byte for the rank, the dims in 4 bytes each, and the numbers
// row-major, all big-endian (yann.lecun.com/exdb/mnist). The file may be packed by gzip.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ARRAYS_IDXFILE_H
#define DLC_FRONTEND_ARRAYS_IDXFILE_H

#include "frontend/arrays/NpyFile.h"

namespace dlc::frontend {

/// Whether the file begins as an IDX or gzip file does; false where it cannot be read.
bool isIdxFile(llvm::StringRef path);

/// Reads the array. An error names `name`, the byte and what to do.
llvm::Expected<NpyArray> parseIdx(llvm::StringRef bytes, llvm::StringRef name);
llvm::Expected<NpyArray> readIdx(llvm::StringRef path);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_ARRAYS_IDXFILE_H
