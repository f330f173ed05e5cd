//===- WeightReader.cpp - Weights that are packed in their files -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/WeightReader.h"

#include "frontend/Frontend.h"
#include "frontend/onnx/ModelFile.h"
#include "frontend/weights/NpzFile.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace dlc {

FailureOr<std::vector<uint8_t>> readPackedWeight(Operation *weight, StringRef file,
                                                 StringRef name) {
  if (isOnnx(file)) {
    // The source tells where the tensor's message lies: OFFSET:SIZE.
    uint64_t offset = 0, size = 0;
    if (name.split(':').first.getAsInteger(10, offset) ||
        name.split(':').second.getAsInteger(10, size))
      return emitError(weight->getLoc(), "the weight does not say where in '")
             << file << "' it lies; import the model again";
    auto elements = onnx::readTensorAt(file, offset, size);
    if (!elements)
      return emitError(weight->getLoc(), llvm::toString(elements.takeError()));
    return std::move(*elements);
  }
  auto archive = frontend::NpzFile::open(file);
  if (!archive)
    return emitError(weight->getLoc(), llvm::toString(archive.takeError()));
  auto array = archive->read(name);
  if (!array)
    return emitError(weight->getLoc(), llvm::toString(array.takeError()));
  return std::move(array->data);
}

} // namespace dlc
