//===- Hash.cpp - XXH3-128, which finds damage -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/package/Hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

dlc::rt::Hash128 dlc::rt::hashBytes(const void *data, size_t bytes) {
  XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return {hash.low64, hash.high64};
}
