//===- MagnitudeMask.cpp - Which weights are the smallest ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/MagnitudeMask.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/ErrorHandling.h"

#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

namespace dlc {

using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::read64le;
using llvm::support::endian::write16le;
using llvm::support::endian::write32le;
using llvm::support::endian::write64le;

unsigned StoredNumbers::width() const {
  switch (type) {
  case FloatStorage::f16:
  case FloatStorage::bf16:
    return 2;
  case FloatStorage::f32:
    return 4;
  case FloatStorage::f64:
    return 8;
  }
  llvm_unreachable("all types are listed");
}

static double numberOfHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double magnitude = exponent == 31 ? (fraction ? std::nan("") : HUGE_VAL)
                     : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                    : std::ldexp(fraction, -24);
  return bits >> 15 ? -magnitude : magnitude;
}

double StoredNumbers::at(uint64_t position) const {
  const uint8_t *place = bytes.data() + position * width();
  switch (type) {
  case FloatStorage::f16:
    return numberOfHalf(read16le(place));
  case FloatStorage::bf16:
    return llvm::bit_cast<float>(uint32_t{read16le(place)} << 16);
  case FloatStorage::f32:
    return llvm::bit_cast<float>(read32le(place));
  case FloatStorage::f64:
    return llvm::bit_cast<double>(read64le(place));
  }
  llvm_unreachable("all types are listed");
}

static uint16_t roundedBits(double number, const llvm::fltSemantics &type) {
  llvm::APFloat rounded(number);
  bool isInexact = false;
  rounded.convert(type, llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return static_cast<uint16_t>(rounded.bitcastToAPInt().getZExtValue());
}

void StoredNumbers::set(uint64_t position, double number) const {
  uint8_t *place = bytes.data() + position * width();
  switch (type) {
  case FloatStorage::f16:
    return write16le(place, roundedBits(number, llvm::APFloat::IEEEhalf()));
  case FloatStorage::bf16:
    return write16le(place, roundedBits(number, llvm::APFloat::BFloat()));
  case FloatStorage::f32:
    return write32le(place, llvm::bit_cast<uint32_t>(static_cast<float>(number)));
  case FloatStorage::f64:
    return write64le(place, llvm::bit_cast<uint64_t>(number));
  }
  llvm_unreachable("all types are listed");
}

/// An unsigned number in the order of the magnitudes: the bits of a double without its sign.
static uint64_t magnitudeKey(const StoredNumbers &weight, uint64_t position) {
  return llvm::bit_cast<uint64_t>(std::fabs(weight.at(position)));
}

namespace {
/// The key of the last number that becomes zero, and how many numbers of this very key do.
struct Threshold {
  uint64_t key, countAtKey;
};
} // namespace

/// Finds the threshold of `count` (at least 1) numbers digit by digit, in 16 bits each, so that no
/// copy of the weights is needed.
static Threshold thresholdOf(llvm::ArrayRef<StoredNumbers> weights, uint64_t count) {
  constexpr unsigned kDigit = 16;
  uint64_t prefix = 0;
  for (unsigned shift = 64; shift > 0;) {
    const uint64_t above = shift == 64 ? 0 : ~uint64_t(0) << shift; // the digits that are known
    shift -= kDigit;
    std::vector<uint64_t> counts(size_t(1) << kDigit);
    for (const StoredNumbers &weight : weights)
      for (uint64_t i = 0, size = weight.size(); i < size; ++i)
        if (uint64_t key = magnitudeKey(weight, i); (key & above) == prefix)
          ++counts[(key >> shift) & (counts.size() - 1)];
    uint64_t digit = 0;
    while (counts[digit] < count)
      count -= counts[digit++];
    prefix |= digit << shift;
  }
  return {prefix, count};
}

std::vector<ZeroMask> smallestNumbers(llvm::ArrayRef<StoredNumbers> weights, double share) {
  uint64_t total = 0;
  std::vector<ZeroMask> masks;
  for (const StoredNumbers &weight : weights) {
    total += weight.size();
    masks.emplace_back(weight.size());
  }
  const auto count = static_cast<uint64_t>(std::llround(share * static_cast<double>(total)));
  if (count == 0)
    return masks;
  Threshold threshold = thresholdOf(weights, count);
  for (auto [weight, mask] : llvm::zip_equal(weights, masks))
    for (uint64_t i = 0, size = weight.size(); i < size; ++i) {
      const uint64_t key = magnitudeKey(weight, i);
      mask[i] = key < threshold.key || (key == threshold.key && threshold.countAtKey > 0);
      threshold.countAtKey -= mask[i] && key == threshold.key;
    }
  return masks;
}

ZeroMask smallestTwoOfFour(const StoredNumbers &weight, SumRuns runs) {
  constexpr unsigned kGroup = 4, kZeros = 2;
  assert(runs.length % kGroup == 0 && weight.size() % (runs.length * runs.stride) == 0 &&
         "whole groups");
  ZeroMask mask(weight.size());
  const uint64_t span = kGroup * runs.stride;
  for (uint64_t begin = 0; begin < weight.size(); begin += span)
    for (uint64_t first = begin; first < begin + runs.stride; ++first) {
      std::array<uint64_t, kGroup> places;
      for (unsigned i = 0; i < kGroup; ++i)
        places[i] = first + i * runs.stride;
      llvm::sort(places, [&](uint64_t a, uint64_t b) {
        return std::pair(magnitudeKey(weight, a), a) < std::pair(magnitudeKey(weight, b), b);
      });
      for (unsigned i = 0; i < kZeros; ++i)
        mask[places[i]] = true;
    }
  return mask;
}

double ZeroEffect::removedShare() const {
  return removedSquares == 0 ? 0.0 : std::sqrt(removedSquares / squares);
}

ZeroEffect &ZeroEffect::operator+=(const ZeroEffect &other) {
  numbers += other.numbers;
  zerosBefore += other.zerosBefore;
  zerosAfter += other.zerosAfter;
  squares += other.squares;
  removedSquares += other.removedSquares;
  return *this;
}

ZeroEffect makeZero(StoredNumbers weight, const ZeroMask &mask) {
  ZeroEffect effect;
  effect.numbers = weight.size();
  for (uint64_t i = 0; i < effect.numbers; ++i) {
    const double number = weight.at(i);
    const bool isRemoved = !mask.empty() && mask[i];
    effect.squares += number * number;
    effect.zerosBefore += number == 0;
    effect.zerosAfter += isRemoved || number == 0;
    if (!isRemoved)
      continue;
    effect.removedSquares += number * number;
    std::memset(weight.bytes.data() + i * weight.width(), 0, weight.width());
  }
  return effect;
}

ZeroEffect effectOf(StoredNumbers weight, llvm::ArrayRef<double> before) {
  ZeroEffect effect;
  effect.numbers = weight.size();
  for (uint64_t i = 0; i < effect.numbers; ++i) {
    const double square = before[i] * before[i];
    const bool isZero = weight.at(i) == 0;
    effect.squares += square;
    effect.zerosBefore += before[i] == 0;
    effect.zerosAfter += isZero;
    effect.removedSquares += isZero ? square : 0;
  }
  return effect;
}

} // namespace dlc
