//===- WeightImage.cpp - A weights file on its way to another -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/WeightImage.h"

#include "frontend/arrays/WeightFile.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace dlc {

using namespace frontend;

Expected<WeightImage> WeightImage::of(std::string bytes, StringRef name) {
  WeightImage image;
  image.file = std::move(bytes);
  auto parsed = SafetensorsFile::parse(
      MemoryBuffer::getMemBuffer(image.file, name, /*RequiresNullTerminator=*/false));
  if (!parsed)
    return parsed.takeError();
  image.tensors = parsed->tensors().vec();
  return std::move(image);
}

Expected<WeightImage> WeightImage::of(StringRef path) {
  auto source = WeightFile::open(path);
  if (!source)
    return source.takeError();
  if (source->isSafetensors()) {
    auto buffer = mapFile(path);
    return buffer ? of((*buffer)->getBuffer().str(), path) : buffer.takeError();
  }
  auto bytes = safetensorsHeader(source->tensors());
  if (!bytes)
    return createStringError("'" + path + "': " + toString(bytes.takeError()));
  for (const StoredTensor &tensor : source->tensors()) {
    auto data = source->data(tensor);
    if (!data)
      return data.takeError();
    bytes->append(data->bytes.begin(), data->bytes.end());
  }
  return of(std::move(*bytes), path);
}

const StoredTensor *WeightImage::find(StringRef name) const {
  const auto *found = llvm::find_if(
      ArrayRef(tensors), [&](const StoredTensor &tensor) { return tensor.name == name; });
  return found == ArrayRef(tensors).end() ? nullptr : found;
}

MutableArrayRef<uint8_t> WeightImage::bytesOf(const StoredTensor &tensor) {
  return {reinterpret_cast<uint8_t *>(file.data()) + tensor.offset, tensor.bytes};
}

ArrayRef<uint8_t> WeightImage::bytesOf(const StoredTensor &tensor) const {
  return {reinterpret_cast<const uint8_t *>(file.data()) + tensor.offset, tensor.bytes};
}

} // namespace dlc
