//===- SegmentStore.cpp - The bytes of a package that lie after its table -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/package/SegmentStore.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace dlc::codegen {

void SegmentStore::add(ArrayRef<uint8_t> bytes, std::unique_ptr<schema::Segment> &slot) {
  auto hash = llvm::xxh3_128bits(bytes);
  slot = std::make_unique<schema::Segment>(0, bytes.size(), hash.low64, hash.high64);
  segments.push_back({bytes, {&slot}});
}

void SegmentStore::addShared(ArrayRef<uint8_t> bytes, std::unique_ptr<schema::Segment> &slot) {
  add(bytes, slot);
  // DenseMap keeps two keys for itself.
  auto &known = weightSegments[{slot->hash_low() >> 1, slot->hash_high()}];
  for (size_t number : known)
    if (segments[number].bytes == bytes) {
      segments.pop_back();
      segments[number].slots.push_back(&slot);
      return;
    }
  known.push_back(segments.size() - 1);
}

FailureOr<ArrayRef<uint8_t>> SegmentStore::mapFile(dlx::WeightOp weight, StringRef path) {
  std::unique_ptr<llvm::MemoryBuffer> &file = files[path];
  if (!file) {
    auto opened =
        llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!opened)
      return weight.emitError("cannot read weights file '")
             << path << "': " << opened.getError().message();
    file = std::move(*opened);
  }
  return ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(file->getBufferStart()),
                           file->getBufferSize());
}

} // namespace dlc::codegen
