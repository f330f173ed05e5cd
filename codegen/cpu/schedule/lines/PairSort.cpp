//===- PairSort.cpp - A few elements sorted by comparing all pairs ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/lines/PairSort.h"

#include "codegen/cpu/schedule/lines/CpuLines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

/// Words of a vector, whatever the instruction set; and those that are compared with each in a
/// step.
static constexpr int64_t kLanes = 16, kAtOnce = 64;

/// Whether the word at `place` comes before each of a vector of `words` at `places`.
Value PairSort::isBefore(Value word, Value place, Value words, Value places) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  Value isLower = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, word, words);
  // Words that have their places are never equal.
  if (!memory.places)
    return isLower;
  Value isEqual = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, word, words);
  Value own = k.splat(arith::IndexCastOp::create(b, loc, b.getI64Type(), place),
                      cast<VectorType>(words.getType()).getNumElements());
  Value isEarlier = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, own, places);
  Value ties = arith::AndIOp::create(b, loc, isEqual, isEarlier);
  return arith::OrIOp::create(b, loc, isLower, ties);
}

/// The ranks of `width` words from `first` on, in vectors of `lanes`; of what lies behind the last
/// one any numbers.
SmallVector<Value> PairSort::ranksFrom(Value first, int64_t lanes, int64_t width, Value count) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  auto shape = VectorType::get({lanes}, b.getI64Type());
  SmallVector<Value> own, places, before;
  for (int64_t from = 0; from < width; from += lanes) {
    Value at = k.add(first, k.index(from));
    own.push_back(vector::LoadOp::create(b, loc, shape, memory.words, at));
    places.push_back(lanesFrom(k, at, lanes, b.getI64Type()));
    before.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(shape)));
  }
  return k.fold(k.index(0), count, 1, before, [&](Value j, ValueRange carried) {
    Value other = k.splat(memref::LoadOp::create(b, loc, memory.words, j), lanes);
    SmallVector<Value> next;
    for (auto [words, placesOfWords, sum] : llvm::zip(own, places, carried)) {
      Value one = arith::ExtUIOp::create(b, loc, shape, isBefore(other, j, words, placesOfWords));
      next.push_back(arith::AddIOp::create(b, loc, sum, one));
    }
    return next;
  });
}

void PairSort::sort(Value count, const OrderResult &result) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  int64_t lanes = longest <= kLanes / 2 ? kLanes / 2 : kLanes;
  int64_t width = llvm::alignTo(std::min(longest, kAtOnce), lanes);
  k.forEach(k.index(0), count, width, [&](Value first) {
    for (auto [number, ranks] : llvm::enumerate(ranksFrom(first, lanes, width, count))) {
      Value at = k.add(first, k.index(static_cast<int64_t>(number) * lanes));
      vector::StoreOp::create(b, loc, ranks, memory.ranks, at);
    }
  });
  Value mask =
      arith::ConstantOp::create(b, loc, b.getI64IntegerAttr((int64_t(1) << kPlaceBits) - 1));
  k.forEach(k.index(0), count, 1, [&](Value i) {
    Value rank = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                            memref::LoadOp::create(b, loc, memory.ranks, i));
    Value place = memref::LoadOp::create(b, loc, memory.places ? memory.places : memory.words, i);
    if (memory.places)
      place = arith::ExtUIOp::create(b, loc, b.getI64Type(), place);
    else
      place = arith::AndIOp::create(b, loc, place, mask);
    result.give(rank, place);
  });
}

} // namespace dlc::codegen
