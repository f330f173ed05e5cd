//===- Image.h - what passes for a cubin ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace dlc::emu {

/// Begins an image: what it was compiled for. The same host code serves all, so this is checked and
/// not kept on disk.
struct TargetHeader {
  static constexpr uint64_t kMagic = 0x5447'5455'4d45'4c44ull; // "DLEMUTGT"
  uint64_t magic;
  /// 90 for sm_90.
  int32_t arch;
  /// 0, 'a' or 'f'; 'p' for PTX.
  int32_t variant;
  /// 13000: of the NVRTC that made it.
  int32_t version;
  int32_t reserved;
};

/// Stands before the bytes of the shared object that the host compiler made.
struct ImageHeader {
  static constexpr uint64_t kMagic = 0x0001'554d'4543'4c44ull; // "DLCEMU", 1
  uint64_t magic;
  uint32_t abiVersion;
  /// Compiled with the checker's hooks.
  uint32_t checked;
  uint64_t bytes;
  /// SHA-256 of those bytes.
  unsigned char hash[32];
};

} // namespace dlc::emu
