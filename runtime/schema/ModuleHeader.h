//===- ModuleHeader.h - The first bytes of a model.bin ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File layout: ModuleHeader, the FlatBuffer of module.fbs at kTableOffset, then segments (code
// images, weights), each aligned to kSegmentAlignment. All integers are little-endian. Hashes are
// XXH3-128 and detect damage, not malice: a model.bin is trusted like a shared library.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_SCHEMA_MODULEHEADER_H
#define DLC_RUNTIME_SCHEMA_MODULEHEADER_H

#include <cstdint>

namespace dlc::schema {

/// The last bytes catch transfers that translate line ends.
inline constexpr unsigned char kMagic[8] = {0x7f, 'D', 'L', 'C', '\r', '\n', 0x1a, '\n'};
/// Bumped when an older runtime could misread the file. Readers take kFormatVersion and
/// kFormatVersion - 1.
inline constexpr uint32_t kFormatVersion = 1;
/// Bumped when KernelAbi.h changes.
inline constexpr uint32_t kAbiVersion = 1;
inline constexpr uint64_t kTableOffset = 128;
inline constexpr uint64_t kSegmentAlignment = 64;

struct ModuleHeader {
  unsigned char magic[8];
  uint32_t formatVersion;
  uint32_t abiVersion;
  uint64_t fileBytes;     // the whole file
  uint64_t tableBytes;    // the FlatBuffer at kTableOffset
  uint64_t tableHash[2];  // XXH3-128 of the table, low and high
  uint64_t headerHash[2]; // XXH3-128 of the header up to this field
  uint8_t reserved[64];   // zero, checked
};
static_assert(sizeof(ModuleHeader) == kTableOffset);

} // namespace dlc::schema

#endif // DLC_RUNTIME_SCHEMA_MODULEHEADER_H
