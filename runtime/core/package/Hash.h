//===- Hash.h - XXH3-128, which finds damage -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_PACKAGE_HASH_H
#define DLC_RUNTIME_CORE_PACKAGE_HASH_H

#include <cstddef>
#include <cstdint>

namespace dlc::rt {

struct Hash128 {
  uint64_t low, high;
  bool operator==(const Hash128 &) const = default;
};

Hash128 hashBytes(const void *data, size_t bytes);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_PACKAGE_HASH_H
