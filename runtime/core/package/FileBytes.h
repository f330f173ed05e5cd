//===- FileBytes.h - The bytes of a module: a mapped file or a copy -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_PACKAGE_FILEBYTES_H
#define DLC_RUNTIME_CORE_PACKAGE_FILEBYTES_H

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>

namespace dlc::rt {

/// Read-only bytes at a page-aligned address. Move-only. A mapped file is read as it is used; one
/// that is replaced by rename, as `dlc compile` does, stays whole.
class FileBytes {
public:
  static Expected<FileBytes> map(const char *path);
  static Expected<FileBytes> copy(const void *data, size_t bytes);

  FileBytes(FileBytes &&other) noexcept;
  FileBytes &operator=(FileBytes &&other) noexcept;
  ~FileBytes();

  const uint8_t *data() const { return base; }
  size_t size() const { return count; }
  /// Gives the memory of whole pages in this range of a mapped file back; who reads them again has
  /// the same bytes, read anew. A copy in memory stays.
  void releasePages(size_t offset, size_t bytes) const;

private:
  FileBytes(const uint8_t *base, size_t count, bool isMapped)
      : base(base), count(count), isMapped(isMapped) {}

  const uint8_t *base = nullptr;
  size_t count = 0;
  bool isMapped = false;
};

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_PACKAGE_FILEBYTES_H
