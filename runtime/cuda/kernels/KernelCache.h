//===- KernelCache.h - Compiled kernels on disk ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One file for each kernel, named by the SHA-256 of all that decides about its bytes. A file is
// written under another name and renamed, so that it is there as a whole or not at all, and it
// carries the hash of what it holds: a driver that gets a damaged cubin may end the process. Any
// fault is a miss.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_KERNELS_KERNELCACHE_H
#define DLC_RUNTIME_CUDA_KERNELS_KERNELCACHE_H

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlc::cuda {

/// A folder of compiled kernels, or none. Safe to use from many threads, and by many processes.
class KernelCache {
public:
  /// `chosen` where it is not null; else DLC_CACHE_DIR; else dlc/kernels in XDG_CACHE_HOME or
  /// ~/.cache. Empty: no cache.
  static std::string folderFor(const char *chosen);
  /// DLC_CACHE_MB in bytes, or 512 MiB.
  static int64_t limitFromEnvironment();

  /// Makes the folder where it is not there. It must belong to this user (or root) and be writable
  /// to no other: code is taken from it.
  KernelCache(const std::string &folder, int64_t limitBytes);
  ~KernelCache();
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  /// Why there is no cache although a folder is named; empty where nothing is wrong.
  const std::string &problem() const { return trouble; }
  bool isOpen() const { return directory >= 0; }

  /// Whether a whole entry was found under `key`, 64 hexadecimal digits. It counts as used.
  bool load(const std::string &key, std::string &image) const;
  /// Whether it was stored. An entry of that key is replaced.
  bool store(const std::string &key, std::string_view image);

  /// A small text beside the kernels, under a name of letters and '-'.
  bool loadNote(const std::string &name, std::string &content) const;
  void storeNote(const std::string &name, std::string_view content) const;

  /// Where something was stored since: removes the entries not used for longest until three
  /// quarters of the limit are left, and what interrupted writers left behind.
  void trim();

private:
  bool writeFile(const std::string &name, std::string_view head, std::string_view body) const;

  int directory = -1;
  int64_t limit;
  std::string trouble;
  std::atomic<bool> hasGrown = false;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_KERNELS_KERNELCACHE_H
