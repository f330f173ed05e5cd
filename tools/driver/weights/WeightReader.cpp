//===- WeightReader.cpp - Weights that are packed in their files --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/weights/WeightReader.h"

#include "frontend/Frontend.h"
#include "frontend/arrays/NpzFile.h"
#include "frontend/arrays/SafetensorsFile.h"
#include "frontend/onnx/read/ModelFile.h"
#include "ir/interpreter/Tensor.h"
#include "passes/compress/quantize/PackableWeights.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace dlc {

static llvm::StringMap<std::vector<uint8_t>> &packedWeights() {
  static llvm::StringMap<std::vector<uint8_t>> weights;
  return weights;
}

void holdPackedWeight(StringRef name, std::vector<uint8_t> bytes) {
  packedWeights()[name] = std::move(bytes);
}

std::string holdUnderOwnName(const std::string &base, std::vector<uint8_t> bytes) {
  std::string name = base;
  for (unsigned number = 2;; ++number) {
    auto [held, isNew] = packedWeights().try_emplace(name);
    if (isNew) {
      held->second = std::move(bytes);
      return name;
    }
    if (held->second == bytes)
      return name;
    name = base + std::to_string(number);
  }
}

Value holdVector(OpBuilder &builder, Location location, StringRef name, ArrayRef<float> numbers) {
  std::vector<uint8_t> bytes(numbers.size() * sizeof(float));
  for (auto [i, number] : llvm::enumerate(numbers))
    llvm::support::endian::write32le(bytes.data() + i * sizeof(float),
                                     llvm::bit_cast<uint32_t>(number));
  holdPackedWeight(name, std::move(bytes));
  auto type = RankedTensorType::get(static_cast<int64_t>(numbers.size()), builder.getF32Type());
  return dl::WeightOp::create(builder, location, type, builder.getStringAttr(name),
                              builder.getStringAttr(kPackedFile), builder.getI64IntegerAttr(-1),
                              builder.getStringAttr(""), StringAttr())
      ->getResult(0);
}

std::string weightNameOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (!isa<dl::WeightOp>(op) && op->getNumOperands() > 0)
    op = op->getOperand(0).getDefiningOp();
  auto weight = dyn_cast<dl::WeightOp>(op);
  return weight ? weight.getName().str() : "number";
}

FailureOr<std::vector<uint8_t>> readPackedWeight(Operation *weight, StringRef file,
                                                 StringRef name) {
  if (file == kPackedFile) {
    auto held = packedWeights().find(name);
    if (held == packedWeights().end())
      return emitError(weight->getLoc(), "the numbers of '")
             << name << "' were held by the compile that printed this IR; compile the model "
             << "itself with --quantize or --sparse, or let dlc quantize write them to a "
                "file";
    return held->second;
  }
  if (isOnnx(file)) {
    auto elements = onnx::readTensorAt(file, name);
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

FailureOr<std::vector<uint8_t>> readWeightBytes(dl::WeightOp weight) {
  auto type = cast<RankedTensorType>(weight.getY().getType());
  const uint64_t size =
      static_cast<uint64_t>(type.getNumElements()) * elementBytes(type.getElementType());
  std::string file = weight.getFile()->str();
  const uint64_t offset = weight.getOffset();
  FailureOr<std::vector<uint8_t>> bytes = std::vector<uint8_t>();
  if (offset == ~uint64_t(0)) {
    bytes = readPackedWeight(weight, file, weight.getSource().value_or(weight.getName()));
    if (failed(bytes) || bytes->size() == size)
      return bytes;
  } else {
    auto buffer = frontend::mapFile(file);
    if (!buffer)
      return emitError(weight.getLoc(), llvm::toString(buffer.takeError()));
    const uint64_t held = (*buffer)->getBufferSize();
    if (offset <= held && size <= held - offset) {
      const char *begin = (*buffer)->getBufferStart() + offset;
      bytes->assign(begin, begin + size);
      return bytes;
    }
  }
  return weight.emitError("weight '")
         << weight.getName() << "' in '" << file << "' has changed since it was read; start again";
}

} // namespace dlc
