//===- KernelCache.cpp - Compiled kernels on disk --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/kernels/KernelCache.h"
#include "runtime/core/Text.h"
#include "runtime/core/package/Sha256.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace dlc;
using namespace dlc::cuda;
using rt::quoted;
using rt::text;

namespace {

/// Stands before the image in a file.
struct EntryHeader {
  char magic[8];
  uint64_t bytes;
  char key[64];
  unsigned char hash[32]; ///< SHA-256 of the image
};

constexpr char kMagic[8] = {'D', 'L', 'C', 'C', 'U', 'B', '\r', '\n'};
constexpr const char *kSuffix = ".cubin";
constexpr const char *kPending = ".tmp-";
/// No kernel is so large; a file that says so is damaged.
constexpr int64_t kMaxImage = int64_t(1) << 28;
/// A writer that takes so long has died.
constexpr int64_t kStaleSeconds = 3600;

class File {
public:
  explicit File(int descriptor) : descriptor(descriptor) {}
  ~File() {
    if (descriptor >= 0)
      close(descriptor);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  operator int() const { return descriptor; }

private:
  int descriptor;
};

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

bool readAll(int file, char *bytes, size_t count) {
  while (count > 0) {
    ssize_t got = read(file, bytes, count);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    bytes += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

/// Makes the folder and those above it; false with errno set where that fails.
bool makeFolders(const std::string &path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST) {
      // A folder above that cannot be made may be there and not be ours.
      struct stat status;
      int error = errno;
      if (stat(path.substr(0, at).c_str(), &status) != 0) {
        errno = error;
        return false;
      }
    }
    if (at == std::string::npos)
      return true;
  }
}

} // namespace

std::string KernelCache::folderFor(const char *chosen) {
  if (chosen)
    return chosen;
  if (const char *named = std::getenv("DLC_CACHE_DIR"))
    return named;
  if (std::string base = environment("XDG_CACHE_HOME"); !base.empty() && base.front() == '/')
    return base + "/dlc/kernels";
  if (std::string home = environment("HOME"); !home.empty() && home.front() == '/')
    return home + "/.cache/dlc/kernels";
  return {};
}

int64_t KernelCache::limitFromEnvironment() {
  constexpr int64_t kDefault = 512, kMebibyte = 1 << 20;
  std::string value = environment("DLC_CACHE_MB");
  char *end = nullptr;
  long long mebibytes = std::strtoll(value.c_str(), &end, 10);
  bool valid = !value.empty() && *end == '\0' && mebibytes >= 1 && mebibytes <= (1 << 20);
  return (valid ? mebibytes : kDefault) * kMebibyte;
}

KernelCache::KernelCache(const std::string &folder, int64_t limitBytes) : limit(limitBytes) {
  if (folder.empty())
    return;
  auto refuse = [&](const std::string &why) {
    trouble = text("compiled kernels are not kept: the cache folder ", quoted(folder), " ", why);
  };
  if (!makeFolders(folder)) {
    refuse(text("cannot be made (", strerror(errno), ")"));
    return;
  }
  int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status;
  if (opened < 0 || fstat(opened, &status) != 0) {
    refuse(text("cannot be opened (", strerror(errno), ")"));
  } else if (status.st_uid != geteuid() && status.st_uid != 0) {
    refuse("belongs to another user");
  } else if (status.st_mode & (S_IWGRP | S_IWOTH)) {
    refuse("is writable to others, who could put code into it; use 'chmod go-w'");
  } else {
    directory = opened;
    return;
  }
  if (opened >= 0)
    close(opened);
}

KernelCache::~KernelCache() {
  if (directory >= 0)
    close(directory);
}

bool KernelCache::load(const std::string &key, std::string &image) const {
  if (directory < 0)
    return false;
  File file(
      openat(directory, (key + kSuffix).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  EntryHeader header;
  if (status.st_size < static_cast<int64_t>(sizeof(header)) || status.st_size > kMaxImage ||
      !readAll(file, reinterpret_cast<char *>(&header), sizeof(header)))
    return false;
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || key.size() != sizeof(header.key) ||
      std::memcmp(header.key, key.data(), key.size()) != 0 ||
      header.bytes != static_cast<uint64_t>(status.st_size) - sizeof(header))
    return false;
  std::string bytes(header.bytes, '\0');
  if (!readAll(file, bytes.data(), bytes.size()))
    return false;
  auto hash = rt::sha256(bytes);
  if (std::memcmp(hash.data(), header.hash, hash.size()) != 0)
    return false;
  futimens(file, nullptr); // used now; where that is not allowed it only looks older than it is
  image = std::move(bytes);
  return true;
}

bool KernelCache::writeFile(const std::string &name, std::string_view head,
                            std::string_view body) const {
  static std::atomic<unsigned> counter = 0;
  std::string pending = text(kPending, getpid(), "-", counter.fetch_add(1));
  int descriptor = openat(directory, pending.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0)
    return false;
  bool written = writeAll(descriptor, head) && writeAll(descriptor, body);
  written &= close(descriptor) == 0;
  if (written && renameat(directory, pending.c_str(), directory, name.c_str()) == 0)
    return true;
  unlinkat(directory, pending.c_str(), 0);
  return false;
}

bool KernelCache::store(const std::string &key, std::string_view image) {
  EntryHeader header;
  if (directory < 0 || key.size() != sizeof(header.key))
    return false;
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::memcpy(header.key, key.data(), key.size());
  header.bytes = image.size();
  auto hash = rt::sha256(image);
  std::memcpy(header.hash, hash.data(), hash.size());
  // Not synced: after a crash of the machine the hash tells what was lost.
  if (!writeFile(key + kSuffix, {reinterpret_cast<const char *>(&header), sizeof(header)}, image))
    return false;
  hasGrown = true;
  return true;
}

bool KernelCache::loadNote(const std::string &name, std::string &content) const {
  constexpr size_t kMaxNote = 1 << 16;
  File file(directory < 0
                ? -1
                : openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size > static_cast<int64_t>(kMaxNote))
    return false;
  content.resize(static_cast<size_t>(status.st_size));
  return readAll(file, content.data(), content.size());
}

void KernelCache::storeNote(const std::string &name, std::string_view content) const {
  if (directory >= 0)
    writeFile(name, content, {});
}

void KernelCache::trim() {
  if (directory < 0 || !hasGrown.exchange(false))
    return;
  struct Entry {
    std::string name;
    int64_t bytes;
    timespec used;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  int listed = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = listed < 0 ? nullptr : fdopendir(listed);
  if (!folder)
    return;
  while (dirent *row = readdir(folder)) {
    std::string name = row->d_name;
    struct stat status;
    if (fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    if (name.starts_with(kPending) && status.st_mtim.tv_sec + kStaleSeconds < time(nullptr))
      unlinkat(directory, name.c_str(), 0);
    if (!name.ends_with(kSuffix))
      continue;
    entries.push_back({std::move(name), status.st_size, status.st_mtim});
    total += status.st_size;
  }
  closedir(folder);
  if (total <= limit)
    return;
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Entry &entry : entries) {
    if (total <= limit / 4 * 3)
      break;
    unlinkat(directory, entry.name.c_str(), 0); // another process may have been first
    total -= entry.bytes;
  }
}
