//===- Philox.cpp - Random bits of a counter ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/scalar/Philox.h"

#include <array>

using namespace mlir;

namespace dlc {

static constexpr unsigned kRounds = 10;
static constexpr double kWord = 0x1p32;
static constexpr std::array<double, 2> kFactors = {0xD2511F53, 0xCD9E8D57};
static constexpr std::array<double, 2> kKeySteps = {0x9E3779B9, 0xBB67AE85};

// Words are u64 with an empty upper half: products of two have all 64 bits, and both targets
// multiply such numbers in one instruction.
static Scalar lower(Scalar x) { return x & x.constant(kWord - 1); }
static Scalar upper(Scalar x) { return x / x.constant(kWord); }

Scalar philox(Scalar low, Scalar high, Scalar key, uint64_t word) {
  OpBuilder &builder = low.getBuilder();
  auto asBits = [&](Scalar x) {
    return Scalar(builder, low.getLoc(), x.value(), ScalarKind::unsignedInt);
  };
  low = asBits(low), high = asBits(high), key = asBits(key);
  std::array<Scalar, 4> counter = {lower(low), upper(low), lower(high), upper(high)};
  std::array<Scalar, 2> keys = {lower(key), upper(key)};
  for (unsigned round = 0; round < kRounds; ++round) {
    Scalar a = counter[0] * counter[0].constant(kFactors[0]);
    Scalar b = counter[2] * counter[2].constant(kFactors[1]);
    counter = {upper(b) ^ counter[1] ^ keys[0], lower(b), upper(a) ^ counter[3] ^ keys[1],
               lower(a)};
    for (unsigned i : {0, 1})
      keys[i] = lower(keys[i] + keys[i].constant(kKeySteps[i]));
  }
  return counter[word].convertTo(builder.getI32Type(), ScalarKind::unsignedInt);
}

} // namespace dlc
