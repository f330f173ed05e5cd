//===- SafetensorsFile.h - Named tensors of a .safetensors file ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Safe to open from strangers: everything that the header claims is checked against the size of the
// file before it is used, and nothing is copied or allocated by its word.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ARRAYS_SAFETENSORSFILE_H
#define DLC_FRONTEND_ARRAYS_SAFETENSORSFILE_H

#include "frontend/arrays/ElementType.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <vector>

namespace dlc::frontend {

/// A tensor of a file, row-major, little-endian.
struct StoredTensor {
  std::string name;
  ElementType type;
  llvm::SmallVector<int64_t, 4> shape;
  uint64_t offset, bytes; // from the begin of the file
};

class SafetensorsFile {
public:
  static constexpr uint64_t kMaxHeaderBytes = 100'000'000; // as the reference implementation
  static constexpr size_t kMaxNameBytes = 4096;
  static constexpr size_t kMaxRank = 16;

  /// Maps the file and reads its header. An error names the file, the byte and what to do.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);
  /// The same for bytes in memory; `buffer`'s identifier names them in errors.
  static llvm::Expected<SafetensorsFile> parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// In the order of their bytes.
  llvm::ArrayRef<StoredTensor> tensors() const { return entries; }
  const StoredTensor *find(llvm::StringRef name) const;
  /// The bytes of `tensor`, which must be of this file; read from disk when touched.
  llvm::ArrayRef<uint8_t> data(const StoredTensor &tensor) const;
  llvm::StringRef path() const { return buffer->getBufferIdentifier(); }

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::vector<StoredTensor> entries;
  llvm::StringMap<size_t> byName;
};

/// Everything before the bytes of the tensors in a file that holds them in this order without gaps;
/// their offsets are not read. Fails where safetensors have no such type.
llvm::Expected<std::string> safetensorsHeader(llvm::ArrayRef<StoredTensor> tensors);

/// Maps a regular file read-only; an error says why it cannot be read.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> mapFile(llvm::StringRef path);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_ARRAYS_SAFETENSORSFILE_H
