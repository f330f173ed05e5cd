//===- NpzFile.h - Named arrays of NumPy's .npz format ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A zip archive of .npy files. Names in it are names of arrays, never paths: nothing is unpacked to
// disk.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ARRAYS_NPZFILE_H
#define DLC_FRONTEND_ARRAYS_NPZFILE_H

#include "frontend/arrays/NpyFile.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

namespace dlc::frontend {

class NpzFile {
public:
  /// An array, and all of them together, may unpack to this many bytes whatever the packed size,
  /// and beyond that to kMaxRatio times the packed size.
  static constexpr uint64_t kAlwaysAllowedBytes = 64 << 20;
  static constexpr uint64_t kMaxRatio = 100;

  /// Reads the directory. Refused: encryption, zip64, methods other than stored and deflate,
  /// entries that overlap, names that appear twice, entries that are not .npy.
  static llvm::Expected<NpzFile> open(llvm::StringRef path);
  static llvm::Expected<NpzFile> parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// Names of the arrays, without ".npy", in the order of the directory.
  std::vector<llvm::StringRef> names() const;
  /// Unpacks an array and checks its CRC. Fails where there is none of that name.
  llvm::Expected<NpyArray> read(llvm::StringRef name) const;
  /// What the header of an array says; its checksum is left to read(). Fails where there is none of
  /// that name.
  llvm::Expected<NpyLayout> layout(llvm::StringRef name) const;
  /// The npy file of an array, which must be one of names(), where it lies in the archive as it is;
  /// empty where it is packed.
  llvm::StringRef stored(llvm::StringRef name) const;

private:
  struct Entry {
    std::string name;
    uint64_t headerOffset, dataOffset, packed, unpacked;
    uint32_t crc;
    bool isDeflated;
  };

  llvm::Expected<const Entry *> find(llvm::StringRef name) const;
  llvm::Error fail(uint64_t offset, const llvm::Twine &message) const;
  llvm::Error readDirectory();
  llvm::Error readEntry(uint64_t &position, uint64_t directoryStart);
  llvm::Error locateData(Entry &entry, uint64_t directoryStart) const;
  llvm::Error inflateEntry(const Entry &entry, uint64_t limit, std::vector<char> &out) const;
  std::string displayName(const Entry &entry) const;

  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::vector<Entry> entries;
  llvm::StringMap<size_t> byName;
};

/// An array to be written, row-major and little-endian; what it names lives elsewhere.
struct NamedArray {
  llvm::StringRef name;
  ElementType type;
  llvm::ArrayRef<int64_t> shape;
  llvm::ArrayRef<uint8_t> data;
};

/// Appends an archive of the arrays, in their order and uncompressed, as numpy.savez writes it: the
/// same arrays give the same bytes. Fails where npy has no such type (bf16), where two have one
/// name, and where zip would need its 64-bit form: for 4 GiB, 65,535 arrays, or a name of 64 KiB.
llvm::Error writeNpz(std::string &archive, llvm::ArrayRef<NamedArray> arrays);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_ARRAYS_NPZFILE_H
