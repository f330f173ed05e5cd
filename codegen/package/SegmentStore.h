//===- SegmentStore.h - The bytes of a package that lie after its table -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PACKAGE_SEGMENTSTORE_H
#define DLC_CODEGEN_PACKAGE_SEGMENTSTORE_H

#include "ir/dlx/DLXOps.h"
#include "runtime/schema/module_generated.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <deque>
#include <memory>
#include <vector>

namespace dlc::codegen {

/// Bytes that will come after the table, and the places in the table that name them.
struct PlacedBytes {
  llvm::ArrayRef<uint8_t> bytes;
  llvm::SmallVector<std::unique_ptr<schema::Segment> *, 1> slots;
};

/// All segments of a package, those of its parts included.
class SegmentStore {
public:
  void add(llvm::ArrayRef<uint8_t> bytes, std::unique_ptr<schema::Segment> &slot);
  /// The same, but that weights of equal bytes lie there once.
  void addShared(llvm::ArrayRef<uint8_t> bytes, std::unique_ptr<schema::Segment> &slot);
  /// The bytes of a file that a weight names; an error at the weight where it cannot be read.
  mlir::FailureOr<llvm::ArrayRef<uint8_t>> mapFile(dlx::WeightOp weight, llvm::StringRef path);
  /// Keeps bytes that no file holds as they are.
  llvm::ArrayRef<uint8_t> keep(std::vector<uint8_t> bytes) {
    return unpacked.emplace_back(std::move(bytes));
  }
  std::vector<PlacedBytes> &all() { return segments; }

private:
  std::vector<PlacedBytes> segments;
  /// Those of weights, by a hash of their bytes.
  llvm::DenseMap<std::pair<uint64_t, uint64_t>, llvm::SmallVector<size_t, 1>> weightSegments;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files;
  std::deque<std::vector<uint8_t>> unpacked;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PACKAGE_SEGMENTSTORE_H
