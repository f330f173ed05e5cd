//===- FileBytes.cpp - The bytes of a module: a mapped file or a copy ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/package/FileBytes.h"
#include "runtime/core/Text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace dlc::rt;

static Status ioFailure(const char *what) {
  return {DLC_DEVICE, text("cannot ", what, ": ", std::strerror(errno))};
}

Expected<FileBytes> FileBytes::map(const char *path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return ioFailure("open the file");
  struct stat info;
  Status status;
  void *base = nullptr;
  if (fstat(file, &info) != 0)
    status = ioFailure("read the file's size");
  else if (!S_ISREG(info.st_mode))
    status = {DLC_DEVICE, text("expected a regular file, got ",
                               S_ISDIR(info.st_mode) ? "a directory" : "a special file")};
  else if (info.st_size == 0)
    status = {DLC_INCOMPATIBLE, "the file is empty; expected a model.bin written by 'dlc compile'"};
  else if (base = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, file, 0); base == MAP_FAILED)
    status = ioFailure("map the file");
  close(file);
  if (status.failed())
    return status;
  return FileBytes(static_cast<const uint8_t *>(base), info.st_size, /*isMapped=*/true);
}

Expected<FileBytes> FileBytes::copy(const void *data, size_t bytes) {
  if (bytes == 0)
    return Status(DLC_INCOMPATIBLE, "no bytes given; expected those of a model.bin");
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return Status(DLC_DEVICE,
                  text("cannot allocate ", byteCount(bytes), " for a copy of the module"));
  std::memcpy(base, data, bytes);
  mprotect(base, bytes, PROT_READ);
  return FileBytes(static_cast<const uint8_t *>(base), bytes, /*isMapped=*/false);
}

FileBytes::FileBytes(FileBytes &&other) noexcept
    : base(std::exchange(other.base, nullptr)), count(std::exchange(other.count, 0)),
      isMapped(other.isMapped) {}

FileBytes &FileBytes::operator=(FileBytes &&other) noexcept {
  std::swap(base, other.base);
  std::swap(count, other.count);
  std::swap(isMapped, other.isMapped);
  return *this;
}

void FileBytes::releasePages(size_t offset, size_t bytes) const {
  static const size_t page = size_t(sysconf(_SC_PAGESIZE));
  size_t begin = (offset + page - 1) / page * page, end = (offset + bytes) / page * page;
  if (isMapped && begin < end) // memory that cannot be given back stays: no failure
    madvise(const_cast<uint8_t *>(base) + begin, end - begin, MADV_DONTNEED);
}

FileBytes::~FileBytes() {
  if (base)
    munmap(const_cast<uint8_t *>(base), count);
}
