//===- FlatImage.h - An ELF object laid out as position-independent bytes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CPU_IMAGE_FLATIMAGE_H
#define DLC_CODEGEN_CPU_IMAGE_FLATIMAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dlc::codegen {

/// Code and read-only data of an object file, every relocation resolved: the bytes run at any
/// address once the loader has filled the slots of the imports.
struct FlatImage {
  std::vector<uint8_t> bytes;
  std::map<std::string, uint64_t> entries; // global functions
  std::map<std::string, uint64_t> imports; // offsets of 8-byte slots
};

/// Lays out a relocatable x86-64 ELF object. Refuses, naming it, any import beside
/// abi::kCpuImports, any relocation beside PC32 and PLT32, any writable section.
llvm::Expected<FlatImage> makeFlatImage(llvm::ArrayRef<uint8_t> object);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_IMAGE_FLATIMAGE_H
