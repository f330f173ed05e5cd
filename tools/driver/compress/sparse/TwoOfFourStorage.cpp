//===- TwoOfFourStorage.cpp - Two of each four neighbours of a weight ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/sparse/TwoOfFourStorage.h"

#include "ir/analysis/CostModel.h"
#include "passes/compress/sparse/TwoOfFour.h"
#include "tools/driver/cli/Output.h"
#include "tools/driver/compress/WeightReader.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using llvm::support::endian::read32le;
using llvm::support::endian::write32le;

namespace dlc {

namespace {
/// Two numbers of each group of a weight and their places, as dl.expand_two_of_four has them.
struct StoredPairs {
  std::vector<uint8_t> values; // of f32
  std::vector<uint8_t> places;
  int64_t fullGroups = 0; // that have more than two

  StoredPairs(const MatrixWeight &weight, ArrayRef<uint8_t> bytes);
};
} // namespace

StoredPairs::StoredPairs(const MatrixWeight &weight, ArrayRef<uint8_t> bytes) {
  const int64_t groups = weight.rows * weight.columns / kGroupOfFour;
  values.resize(groups * 2 * sizeof(float));
  places.resize(weight.rows * weight.columns / kStepsOfPlaces);
  int64_t group = 0;
  for (int64_t row = 0; row < weight.rows; ++row)
    for (int64_t first = 0; first < weight.columns; first += kGroupOfFour, ++group) {
      uint32_t numbers[kGroupOfFour];
      int64_t held[2] = {0, 1}, count = 0;
      for (int64_t i = 0; i < kGroupOfFour; ++i) {
        numbers[i] = read32le(bytes.data() + 4 * weight.placeOf(row, first + i));
        if (numbers[i] << 1 == 0) // -0, too
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
        write32le(values.data() + (group * 2 + i) * 4, numbers[held[i]]);
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

TwoOfFourStorage twoOfFourStorageOf(ModuleOp module, int64_t found) {
  TwoOfFourStorage storage;
  storage.found = found;
  module.walk([&](dl::WeightOp op) {
    auto half = op->getAttrOfType<IntegerAttr>(kStoredNumbers);
    if (!half)
      return;
    const int64_t numbers = half.getInt();
    ++storage.stored;
    storage.bytesBefore += 2 * numbers * 4;
    storage.bytesAfter += numbers * 4 + 2 * numbers / kStepsOfPlaces;
  });
  return storage;
}

std::string TwoOfFourStorage::text() const {
  std::string text =
      llvm::formatv("2:4: {0} of {1} weights as two of each four numbers", stored, found).str();
  if (stored > 0)
    text += llvm::formatv("; {0:N} bytes became {1:N}", bytesBefore, bytesAfter).str();
  else
    text += "; --explain says why";
  return text + '\n';
}

} // namespace dlc
