//===- CodeImage.h - Executable memory for a package's code ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CPU_CODEIMAGE_H
#define DLC_RUNTIME_CPU_CODEIMAGE_H

#include "runtime/core/Status.h"
#include "runtime/schema/KernelAbi.h"
#include "runtime/schema/module_generated.h"

#include <cstddef>
#include <cstdint>

namespace dlc::cpu {

/// A copy of a position-independent image, its import slots filled, then sealed read + execute:
/// memory is never writable and executable at once. Move-only.
class CodeImage {
public:
  static CodeImage empty() { return CodeImage(nullptr, 0); }
  static rt::Expected<CodeImage> load(const schema::CpuImage &image, const uint8_t *code);

  CodeImage(CodeImage &&other) noexcept;
  CodeImage &operator=(CodeImage &&) = delete;
  ~CodeImage();

  /// `entry` lies inside the image; the module's verifier has checked it.
  abi::CpuKernel kernel(uint32_t entry) const {
    return reinterpret_cast<abi::CpuKernel>(base + entry);
  }

private:
  CodeImage(uint8_t *base, size_t bytes) : base(base), bytes(bytes) {}

  uint8_t *base;
  size_t bytes;
};

} // namespace dlc::cpu

#endif // DLC_RUNTIME_CPU_CODEIMAGE_H
