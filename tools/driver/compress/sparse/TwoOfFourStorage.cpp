//===- TwoOfFourStorage.cpp - Two of each four neighbours of a weight ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/sparse/TwoOfFourStorage.h"

#include "ir/analysis/CostModel.h"
#include "passes/compress/sparse/TwoOfFour.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/IR/TypeUtilities.h"

#include <algorithm>

using namespace mlir;

namespace dlc {

namespace {
/// Two numbers of each group of a weight and their places, as dl.expand_two_of_four has them.
struct StoredPairs {
  std::vector<uint8_t> values; // in the weight's own dtype
  std::vector<uint8_t> places;
  int64_t fullGroups = 0; // that have more than two

  StoredPairs(const MatrixWeight &weight, ArrayRef<uint8_t> bytes);
};
} // namespace

/// Whether a float of these bytes, little-endian, is 0 or -0.
static bool isZero(const uint8_t *number, int64_t size) {
  return std::all_of(number, number + size - 1, [](uint8_t byte) { return byte == 0; }) &&
         (number[size - 1] & 0x7f) == 0;
}

StoredPairs::StoredPairs(const MatrixWeight &weight, ArrayRef<uint8_t> bytes) {
  const int64_t size = weight.stored().getIntOrFloatBitWidth() / 8;
  values.resize(weight.rows * weight.columns / 2 * size);
  places.resize(weight.rows * weight.columns / kStepsOfPlaces);
  int64_t group = 0;
  for (int64_t row = 0; row < weight.rows; ++row)
    for (int64_t first = 0; first < weight.columns; first += kGroupOfFour, ++group) {
      int64_t held[2] = {0, 1}, count = 0;
      auto numberAt = [&](int64_t i) {
        return bytes.data() + size * weight.placeOf(row, first + i);
      };
      for (int64_t i = 0; i < kGroupOfFour; ++i) {
        if (isZero(numberAt(i), size))
          continue;
        if (count < 2)
          held[count] = i;
        ++count;
      }
      fullGroups += count > 2;
      // Tensor cores want the places of a pair in order, whatever the second number is.
      if (count == 1)
        held[1] = held[0] + 1;
      if (held[1] == kGroupOfFour) {
        held[0] = kGroupOfFour - 2;
        held[1] = kGroupOfFour - 1;
      }
      for (int64_t i = 0; i < 2; ++i)
        std::copy_n(numberAt(held[i]), size, values.data() + (group * 2 + i) * size);
      places[group / 2] |= static_cast<uint8_t>((held[0] | held[1] << 2) << (group % 2 * 4));
    }
}

int countFullGroups(ModuleOp module, int64_t &found) {
  for (auto function : module.getOps<func::FuncOp>())
    for (const MatrixWeight &weight : findMatrixWeights(function)) {
      auto op = weight.op;
      ++found;
      if (!weight.whyDense.empty() || !op.getFile() || weight.columns % kStepsOfPlaces != 0)
        continue;
      auto bytes = readWeightBytes(op);
      if (failed(bytes))
        return kModelError; // reported
      StoredPairs stored(weight, *bytes);
      op->setAttr(kFullGroups, Builder(op.getContext()).getI64IntegerAttr(stored.fullGroups));
      if (stored.fullGroups > 0)
        continue;
      const std::string name = op.getName().str();
      holdPackedWeight(name + kValuesSuffix.str(), std::move(stored.values));
      holdPackedWeight(name + kPlacesSuffix.str(), std::move(stored.places));
    }
  return kOk;
}

SparseStorage twoOfFourStorageOf(ModuleOp module, int64_t found) {
  SparseStorage storage = {"2:4", "as two of each four numbers", found};
  module.walk([&](dl::WeightOp op) {
    auto half = op->getAttrOfType<IntegerAttr>(kStoredNumbers);
    if (!half)
      return;
    const int64_t numbers = half.getInt(),
                  size = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() / 8;
    ++storage.stored;
    storage.bytesBefore += 2 * numbers * size;
    storage.bytesAfter += numbers * size + 2 * numbers / kStepsOfPlaces;
  });
  return storage;
}

} // namespace dlc
