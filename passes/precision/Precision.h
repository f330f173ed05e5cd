//===- Precision.h - The compute types of --precision -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Includes nothing of ours, so that commands without MLIR can use it.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_PRECISION_PRECISION_H
#define DLC_PASSES_PRECISION_PRECISION_H

#include <cstddef>
#include <optional>
#include <string_view>

namespace dlc {

/// The type in which an f32 model runs, in the order of kPrecisionNames.
enum class Precision { f32, tf32, f16, bf16, mixed, mixedBf16 };
inline constexpr const char *kPrecisionNames[] = {"f32",  "tf32",  "f16",
                                                  "bf16", "mixed", "mixed-bf16"};

inline constexpr const char *nameOf(Precision precision) {
  return kPrecisionNames[static_cast<size_t>(precision)];
}
inline constexpr std::optional<Precision> precisionNamed(std::string_view name) {
  for (size_t i = 0; i < std::size(kPrecisionNames); ++i)
    if (name == kPrecisionNames[i])
      return static_cast<Precision>(i);
  return std::nullopt;
}

/// A search chooses between f32 and 16 bits for each layer.
inline constexpr bool isMixed(Precision precision) {
  return precision == Precision::mixed || precision == Precision::mixedBf16;
}
/// Returns the type of the layers that do not stay in f32: f16 for mixed.
inline constexpr Precision narrowTypeOf(Precision precision) {
  return precision == Precision::mixed       ? Precision::f16
         : precision == Precision::mixedBf16 ? Precision::bf16
                                             : precision;
}
/// A dtype of 16 bits, which convert-precision makes of f32.
inline constexpr bool isNarrow(Precision precision) {
  return precision == Precision::f16 || precision == Precision::bf16;
}

} // namespace dlc

#endif // DLC_PASSES_PRECISION_PRECISION_H
