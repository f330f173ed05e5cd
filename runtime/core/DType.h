//===- DType.h - Element types of the C API and of the package ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_DTYPE_H
#define DLC_RUNTIME_CORE_DTYPE_H

#include "dlc/runtime.h"
#include "runtime/schema/module_generated.h"

#include <cstdint>

namespace dlc::rt {

static_assert(static_cast<int>(schema::DType::f64) == DLC_F64 &&
              static_cast<int>(schema::DType::boolean) == DLC_BOOL &&
              static_cast<int>(schema::DType::MAX) == DLC_U2);

inline constexpr int kNumDTypes = DLC_U2 + 1;

struct DTypeInfo {
  const char *name;
  int64_t bytes;
};

/// ORDER DTYPE.
inline constexpr DTypeInfo kDTypes[kNumDTypes] = {
    {"f64", 8},    {"f32", 4},        {"f16", 2},    {"bf16", 2},     {"i64", 8},
    {"i32", 4},    {"i16", 2},        {"i8", 1},     {"u8", 1},       {"bool", 1},
    {"u16", 2},    {"u32", 4},        {"u64", 8},    {"f8e4m3fn", 1}, {"f8e4m3fnuz", 1},
    {"f8e5m2", 1}, {"f8e5m2fnuz", 1}, {"f8e8m0", 1}, {"f4e2m1", 1},   {"i4", 1},
    {"u4", 1},     {"i2", 1},         {"u2", 1}};

inline bool isDType(int value) { return value >= 0 && value < kNumDTypes; }
inline dlc_dtype toC(schema::DType dtype) { return static_cast<dlc_dtype>(dtype); }
/// Whether the elements are integers or bools.
inline bool isInteger(schema::DType dtype) {
  return (dtype >= schema::DType::i64 && dtype <= schema::DType::u64) || dtype >= schema::DType::i4;
}
inline const char *nameOf(schema::DType dtype) { return kDTypes[static_cast<int>(dtype)].name; }
inline int64_t bytesOf(schema::DType dtype) { return kDTypes[static_cast<int>(dtype)].bytes; }

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_DTYPE_H
