//===- NpyFile.h - Arrays of NumPy's .npy format ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ARRAYS_NPYFILE_H
#define DLC_FRONTEND_ARRAYS_NPYFILE_H

#include "frontend/arrays/ElementType.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace llvm {
class raw_ostream;
}

namespace dlc::frontend {

/// An array in memory: row-major, little-endian, booleans 0 or 1.
struct NpyArray {
  ElementType type = ElementType::f32;
  llvm::SmallVector<int64_t, 4> shape;
  std::vector<uint8_t> data;
};

/// What a header says of the array behind it.
struct NpyLayout {
  ElementType type = ElementType::f32;
  llvm::SmallVector<int64_t, 4> shape;
  uint64_t dataOffset = 0; // from the begin of the npy file
  bool isFortran = false, isBigEndian = false;
};

/// Limits on the header: the bytes of its text and the dims that it may declare.
inline constexpr size_t kMaxNpyHeaderBytes = 65536;
inline constexpr size_t kMaxNpyPrefixBytes = kMaxNpyHeaderBytes + 12;
inline constexpr size_t kMaxNpyRank = 32;

/// Reads an array of format version 1 to 3. Fortran order and big-endian numbers are converted;
/// objects, strings, structures and complex numbers are refused. An error names `name`, the byte
/// and what to do.
llvm::Expected<NpyArray> parseNpy(llvm::StringRef bytes, llvm::StringRef name);
llvm::Expected<NpyArray> readNpy(llvm::StringRef path);

/// Reads the header alone from the first bytes (kMaxNpyPrefixBytes suffice) of a file of
/// `fileBytes`, and checks that the array fills the rest of it.
llvm::Expected<NpyLayout> parseNpyLayout(llvm::StringRef prefix, uint64_t fileBytes,
                                         llvm::StringRef name);
llvm::Expected<NpyLayout> readNpyLayout(llvm::StringRef path);

/// Writes format version 1, as numpy.save does. Fails where npy has no such type (bf16).
llvm::Error writeNpy(llvm::raw_ostream &os, ElementType type, llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<uint8_t> data);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_ARRAYS_NPYFILE_H
