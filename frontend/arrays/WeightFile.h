//===- WeightFile.h - Named tensors, whatever file holds them -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ARRAYS_WEIGHTFILE_H
#define DLC_FRONTEND_ARRAYS_WEIGHTFILE_H

#include "frontend/arrays/NpzFile.h"
#include "frontend/arrays/SafetensorsFile.h"

namespace dlc::frontend {

/// The bytes of a tensor: those of the mapped file, or unpacked ones of its own.
struct WeightBytes {
  llvm::ArrayRef<uint8_t> bytes;
  std::vector<uint8_t> owned;
};

/// A safetensors or npz file, told apart by its first bytes.
class WeightFile {
public:
  /// The offset of a tensor that has no place of its own in the file: it is packed, or in another
  /// order.
  static constexpr uint64_t kPacked = ~uint64_t(0);

  /// An error names the file and says what to do; other formats that hold weights are named.
  static llvm::Expected<WeightFile> open(llvm::StringRef path);

  llvm::ArrayRef<StoredTensor> tensors() const {
    return safetensors ? safetensors->tensors() : llvm::ArrayRef(packed);
  }
  const StoredTensor *find(llvm::StringRef name) const;
  /// Row-major and little-endian. Fails where a packed array is damaged.
  llvm::Expected<WeightBytes> data(const StoredTensor &tensor) const;
  const std::string &path() const { return name; }
  bool isSafetensors() const { return safetensors.has_value(); }

private:
  std::string name;
  std::optional<SafetensorsFile> safetensors;
  std::optional<NpzFile> npz;
  std::vector<StoredTensor> packed; // of the npz
  llvm::StringMap<size_t> byName;
};

/// How many elements of a floating-point tensor are NaN; 0 for other types.
uint64_t countNaN(ElementType type, llvm::ArrayRef<uint8_t> bytes);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_ARRAYS_WEIGHTFILE_H
