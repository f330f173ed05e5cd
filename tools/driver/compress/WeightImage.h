//===- WeightImage.h - A weights file on its way to another -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_WEIGHTIMAGE_H
#define DLC_TOOLS_DRIVER_COMPRESS_WEIGHTIMAGE_H

#include "frontend/arrays/SafetensorsFile.h"

namespace dlc {

/// The bytes of a safetensors file in memory, in which numbers may change before it is written.
/// Names, dtypes, order and all else that the file says stay.
class WeightImage {
public:
  /// The arrays of a safetensors file, or the arrays of an npz file in their order. The error says
  /// why the file cannot be read, or what safetensors cannot hold.
  static llvm::Expected<WeightImage> of(llvm::StringRef path);
  /// The arrays of a whole safetensors file; `name` stands in the error where it is none.
  static llvm::Expected<WeightImage> of(std::string bytes, llvm::StringRef name);

  /// Null where there is no tensor of that name.
  const frontend::StoredTensor *find(llvm::StringRef name) const;
  /// `tensor` must be of this image.
  llvm::MutableArrayRef<uint8_t> bytesOf(const frontend::StoredTensor &tensor);
  llvm::ArrayRef<uint8_t> bytesOf(const frontend::StoredTensor &tensor) const;
  llvm::StringRef bytes() const { return file; }

private:
  std::string file;
  std::vector<frontend::StoredTensor> tensors;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_WEIGHTIMAGE_H
