//===- FuzzOnnx.cpp - Any bytes as an ONNX model ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the bytes to a verified module.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Import.h"
#include "test/fuzz/ImportDemand.h"
#include "test/fuzz/MutateMessage.h"

#include <algorithm>

using namespace dlc;

/// Of the nodes that calls and loops make of few bytes. The importer's own limit would let one
/// input take as long as thousands of others; that limit has its tests in test/frontend/onnx.
static constexpr size_t kMaxNodes = 128;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext &context = fuzz::contextForInput();
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto file = onnx::ModelFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes, "input.onnx"));
  if (!file) {
    fuzz::demandSentence(file.takeError());
    return 0;
  }
  ImportOptions options;
  ImportFault fault = ImportFault::ofModel;
  options.fault = &fault;
  bool isModule = fuzz::demandModuleOrErrors(
      context, [&] { return onnx::importModel(std::move(*file), options, context, kMaxNodes); });
  fuzz::demand(!isModule || fault == ImportFault::ofModel,
               "a module, or something that dlc cannot do");
  return 0;
}

/// One time in four as for any bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned int seed) {
  std::minstd_rand random(seed);
  random.discard(2); // its first numbers are near those of the seeds beside
  if (random() % 4 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  fuzz::Bytes changed = fuzz::changedMessage({data, size}, maxSize - size, random);
  if (changed.empty() || changed.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}
