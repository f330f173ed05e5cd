//===- WeightReader.cpp - Weights that are packed in their files -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/WeightReader.h"

#include "frontend/weights/NpzFile.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace dlc {

FailureOr<std::vector<uint8_t>> readPackedWeight(Operation *weight, StringRef file,
                                                 StringRef name) {
  auto archive = frontend::NpzFile::open(file);
  if (!archive)
    return emitError(weight->getLoc(), llvm::toString(archive.takeError()));
  auto array = archive->read(name);
  if (!array)
    return emitError(weight->getLoc(), llvm::toString(array.takeError()));
  return std::move(array->data);
}

} // namespace dlc
