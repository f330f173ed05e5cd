//===- ElementType.h - Element types of stored arrays -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ARRAYS_ELEMENTTYPE_H
#define DLC_FRONTEND_ARRAYS_ELEMENTTYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace dlc::frontend {

/// What files may hold: more than what dlc computes with, so that a message can name it.
enum class ElementType : uint8_t {
#define ELEMENT(name, bytes, safetensors, npy) name,
#include "frontend/arrays/ElementTypes.def"
};

/// Size of one element in bytes.
unsigned sizeOf(ElementType type);
/// The name in the language: "f32", "bool".
llvm::StringRef nameOf(ElementType type);
/// The type of this name in the language; nothing where there is none.
std::optional<ElementType> elementTypeNamed(llvm::StringRef name);
/// "F32"; empty where safetensors have no such type.
llvm::StringRef safetensorsName(ElementType type);
/// From the names of safetensors ("F32") and npy ("f4", without byte order); nothing where unknown.
std::optional<ElementType> fromSafetensors(llvm::StringRef name);
std::optional<ElementType> fromNpy(llvm::StringRef code);
/// "f4"; empty where npy has no such type.
llvm::StringRef npyCode(ElementType type);

/// Bytes of an array; nothing where the product overflows 64 bits or a dim is negative.
std::optional<uint64_t> byteSize(ElementType type, llvm::ArrayRef<int64_t> shape);
/// "f32[32,1,3,3]"
std::string describe(ElementType type, llvm::ArrayRef<int64_t> shape);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_ARRAYS_ELEMENTTYPE_H
