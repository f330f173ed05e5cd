//===- TensorMap.h - what the fake driver puts into a tensor map *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace dlc::emu {

/// The contents of the 128 opaque bytes: a two-dimensional array in device memory and the box of it
/// that one copy moves. Index 0 is the innermost dimension.
struct TensorMap {
  static constexpr uint64_t kMagic = 0xD1C0'7E45'0A3A'0001ull;
  uint64_t magic;
  const unsigned char *base;
  uint64_t extent[2];
  uint64_t rowBytes;
  uint32_t box[2];
  uint32_t elementBytes;
  /// f32 that becomes tf32 on the way.
  bool toTf32;
  /// 0 or 128: rows of 128 bytes whose 16-byte chunks are permuted by the row number.
  uint32_t swizzle;

  uint32_t boxBytes() const { return box[0] * box[1] * elementBytes; }
};
static_assert(sizeof(TensorMap) <= 128, "a CUtensorMap has 128 bytes");

/// The 128-byte swizzle of an offset in shared memory.
inline uint32_t swizzle128(uint32_t offset) { return offset ^ ((offset >> 7 & 7) << 4); }

} // namespace dlc::emu
