//===- Image.h - what passes for a cubin ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace dlc::emu {

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
