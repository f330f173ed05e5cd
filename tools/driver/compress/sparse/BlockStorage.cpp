//===- BlockStorage.cpp - Weights without their blocks of zeros ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/sparse/BlockStorage.h"

#include "ir/analysis/CostModel.h"
#include "passes/compress/prune/BlockMask.h"
#include "passes/compress/sparse/BlockGain.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/weights/WeightReader.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using llvm::support::endian::read32le;
using llvm::support::endian::write32le;

namespace dlc {

namespace {
/// The blocks of a weight that are not zero, panel after panel.
struct StoredBlocks {
  std::vector<int32_t> columns, panels; // of each block
  std::vector<int32_t> starts;          // of each panel in `columns`, and the end of the last one
  std::vector<uint8_t> values;          // kBlockRows f32 for each block, 0 after the last row

  StoredBlocks(const MatrixWeight &weight, ArrayRef<uint8_t> bytes);
};
} // namespace

StoredBlocks::StoredBlocks(const MatrixWeight &weight, ArrayRef<uint8_t> bytes) {
  uint32_t block[kBlockRows];
  starts.push_back(0);
  for (int64_t first = 0; first < weight.rows; first += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, weight.rows - first);
    for (int64_t column = 0; column < weight.columns; ++column) {
      uint32_t magnitudes = 0; // of -0, too, the bits but the sign are 0
      for (int64_t row = 0; row < kBlockRows; ++row) {
        block[row] =
            row < rows ? read32le(bytes.data() + 4 * weight.placeOf(first + row, column)) : 0;
        magnitudes |= block[row] << 1;
      }
      if (magnitudes == 0)
        continue;
      columns.push_back(static_cast<int32_t>(column));
      panels.push_back(static_cast<int32_t>(first / kBlockRows));
      for (uint32_t number : block) {
        values.resize(values.size() + sizeof(number));
        write32le(values.data() + values.size() - sizeof(number), number);
      }
    }
    starts.push_back(static_cast<int32_t>(columns.size()));
  }
}

static std::vector<uint8_t> bytesOf(ArrayRef<int32_t> numbers) {
  std::vector<uint8_t> bytes(numbers.size() * sizeof(int32_t));
  for (auto [i, number] : llvm::enumerate(numbers))
    write32le(bytes.data() + i * sizeof(int32_t), static_cast<uint32_t>(number));
  return bytes;
}

int countBlocks(ModuleOp module, int64_t &found) {
  for (auto function : module.getOps<func::FuncOp>())
    for (const MatrixWeight &weight : findMatrixWeights(function)) {
      auto op = weight.op;
      if (!weight.stored().isF32())
        continue;
      ++found;
      // Blocks are numbered in 32 bits.
      if (!weight.whyDense.empty() || !op.getFile() || blocksOf(weight) > INT32_MAX)
        continue;
      auto bytes = readWeightBytes(op);
      if (failed(bytes))
        return kModelError; // reported
      StoredBlocks stored(weight, *bytes);
      const auto count = static_cast<int64_t>(stored.columns.size());
      op->setAttr(kStoredBlocks, Builder(op.getContext()).getI64IntegerAttr(count));
      if (!mayGainByBlocks(weight, count))
        continue;
      if (count == 0) { // no tensor is empty: a block of zeros, in no panel
        stored.columns = stored.panels = {0};
        stored.values.resize(kBlockRows * sizeof(float));
      }
      const std::string name = op.getName().str();
      holdPackedWeight(name + kValuesSuffix.str(), std::move(stored.values));
      holdPackedWeight(name + kColumnsSuffix.str(), bytesOf(stored.columns));
      holdPackedWeight(name + kStartsSuffix.str(), bytesOf(stored.starts));
      holdPackedWeight(name + kPanelsSuffix.str(), bytesOf(stored.panels));
    }
  return kOk;
}

SparseStorage blockStorageOf(ModuleOp module, int64_t found) {
  SparseStorage storage = {"block", "without their blocks of zeros", found};
  llvm::DenseSet<Value> seen; // the columns of a weight are read as they lie in the file
  auto bytes = [](Value tensor) {
    return *dl::asConstant(storedBytes(cast<RankedTensorType>(tensor.getType())));
  };
  module.walk([&](dl::BlockSparseLinearOp op) {
    if (!seen.insert(op.getColumns()).second)
      return;
    auto x = cast<RankedTensorType>(op.getX().getType());
    ++storage.stored;
    storage.bytesBefore += static_cast<int64_t>(op.getFeatures()) *
                           dl::asConstant(dl::getDims(x)[op.getDim()]).value_or(0) * 4;
    storage.bytesAfter += bytes(op.getValues()) + bytes(op.getColumns()) + bytes(op.getStarts());
  });
  return storage;
}

} // namespace dlc
