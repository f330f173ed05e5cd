//===- FuzzSafetensors.cpp - Any bytes as a safetensors file ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/SafetensorsFile.h"
#include "test/fuzz/Demand.h"

using namespace dlc;
using namespace dlc::frontend;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto file = SafetensorsFile::parse(
      llvm::MemoryBuffer::getMemBuffer(bytes, "input", /*RequiresNullTerminator=*/false));
  if (!file) {
    fuzz::demandSentence(file.takeError());
    return 0;
  }
  // What was accepted covers the file behind its header exactly once.
  uint64_t covered = 0;
  for (const StoredTensor &tensor : file->tensors()) {
    fuzz::demand(byteSize(tensor.type, tensor.shape) == tensor.bytes, "a size that its shape has");
    fuzz::demand(file->find(tensor.name) == &tensor, "a tensor that its name finds");
    llvm::ArrayRef<uint8_t> content = file->data(tensor);
    fuzz::demand(content.size() == tensor.bytes, "all bytes");
    fuzz::touch(content);
    covered += content.size();
  }
  fuzz::demand(covered <= size - 8, "tensors inside of the file");
  return 0;
}
