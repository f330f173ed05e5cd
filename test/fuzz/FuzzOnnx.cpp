//===- FuzzOnnx.cpp - Any bytes as an ONNX model ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the bytes to a verified module.
//===----------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Import.h"
#include "test/fuzz/ImportDemand.h"

using namespace dlc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext &context = fuzz::contextForInput();
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto file = onnx::ModelFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes, "input.onnx"));
  if (!file) {
    fuzz::demandSentence(file.takeError());
    return 0;
  }
  ImportOptions options;
  bool isUnsupported = false;
  options.isUnsupported = &isUnsupported;
  bool isModule = fuzz::demandModuleOrErrors(
      context, [&] { return onnx::importModel(std::move(*file), options, context); });
  fuzz::demand(!isModule || !isUnsupported, "a module, or something that dlc cannot do");
  return 0;
}
