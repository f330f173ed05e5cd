//===- CodeImage.cpp - Executable memory for a package's code --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cpu/CodeImage.h"
#include "runtime/core/Text.h"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <sys/mman.h>
#include <utility>

using namespace dlc;
using namespace dlc::cpu;

/// The address of one of abi::kCpuImports.
static uint64_t addressOf(std::string_view name) {
  if (name == "memcpy")
    return reinterpret_cast<uint64_t>(
        static_cast<void *(*)(void *, const void *, size_t)>(&std::memcpy));
  assert(name == "memset" && "the verifier lets only memcpy and memset pass");
  return reinterpret_cast<uint64_t>(static_cast<void *(*)(void *, int, size_t)>(&std::memset));
}

rt::Expected<CodeImage> CodeImage::load(const schema::CpuImage &image, const uint8_t *code) {
  size_t bytes = image.code()->bytes();
  if (bytes == 0)
    return CodeImage(nullptr, 0);
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return rt::Status(DLC_DEVICE,
                      rt::text("cannot allocate ", rt::byteCount(bytes), " for the kernels' code"));
  CodeImage loaded(static_cast<uint8_t *>(base), bytes);
  std::memcpy(base, code, bytes);
  if (image.imports())
    for (const schema::Import *import : *image.imports()) {
      uint64_t address = addressOf(import->name()->string_view());
      std::memcpy(loaded.base + import->slot(), &address, sizeof(address));
    }
  if (mprotect(base, bytes, PROT_READ | PROT_EXEC) != 0)
    return rt::Status(DLC_DEVICE,
                      rt::text("the system refuses executable memory for the kernels' code (",
                               std::strerror(errno), "): a security policy may forbid it"));
  return loaded;
}

CodeImage::CodeImage(CodeImage &&other) noexcept
    : base(std::exchange(other.base, nullptr)), bytes(std::exchange(other.bytes, 0)) {}

CodeImage::~CodeImage() {
  if (base)
    munmap(base, bytes);
}
