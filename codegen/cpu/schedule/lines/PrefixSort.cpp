//===- PrefixSort.cpp - A line sorted by the first bits of its keys -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/lines/PrefixSort.h"

#include "codegen/cpu/schedule/lines/NetworkSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr int64_t kLanes = NetworkSort::kLanes;
/// Bits of a word of the network.
static constexpr int64_t kWordBits = 32;
/// One in so many elements may be out of order; those of the longest line fit into the counters of
/// any DigitSort.
static constexpr int64_t kFewInserted = 8, kMostInserted = PrefixSort::kLongest / kFewInserted - 1;

int64_t PrefixSort::wordsOfNetwork(std::optional<int64_t> longest) {
  int64_t words = llvm::PowerOf2Ceil(std::min(longest.value_or(kLongest), kLongest));
  return std::max(words, NetworkSort::kFewest);
}

Value PrefixSort::number(int64_t value) {
  return arith::ConstantOp::create(k.builder, k.loc, k.builder.getI64IntegerAttr(value));
}
Value PrefixSort::minus(Value a, Value b) { return arith::SubIOp::create(k.builder, k.loc, a, b); }

/// As many as it takes to write a number, i64; one for 0.
Value PrefixSort::bitsOf(Value value) {
  Value some = arith::OrIOp::create(k.builder, k.loc, value, number(1));
  return minus(number(64), math::CountLeadingZerosOp::create(k.builder, k.loc, some));
}

/// Makes the network's words of those of the line: the key above `least`, without its last
/// `dropped` bits, above the place. Behind the line lie the highest ones.
void PrefixSort::fill(Value count, Value length, Value least, Value dropped, Value placeBits) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  Type i32 = b.getI32Type();
  auto shape = VectorType::get({kLanes}, i32), wide = VectorType::get({kLanes}, b.getI64Type());
  auto spread = [&](Value value) {
    return k.splat(arith::TruncIOp::create(b, loc, i32, value), kLanes);
  };
  Value lowest = spread(least), right = spread(dropped), left = spread(placeBits);
  Value highest = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(shape, APInt::getAllOnes(kWordBits)));
  Value bits = k.splat(number(kPlaceBits), kLanes);
  k.forEach(k.index(0), length, kLanes, [&](Value i) {
    Value words = vector::LoadOp::create(b, loc, wide, memory.words, i);
    Value key = arith::TruncIOp::create(b, loc, shape, arith::ShRUIOp::create(b, loc, words, bits));
    Value place = arith::TruncIOp::create(b, loc, shape, words);
    key = arith::ShRUIOp::create(b, loc, arith::SubIOp::create(b, loc, key, lowest), right);
    Value word = arith::OrIOp::create(b, loc, arith::ShLIOp::create(b, loc, key, left), place);
    Value left = arith::MaxSIOp::create(b, loc, minus(count, i), k.index(0));
    Value isOfLine = k.laneMask(left, kLanes);
    vector::StoreOp::create(b, loc, arith::SelectOp::create(b, loc, isOfLine, word, highest),
                            memory.network, i);
  });
}

/// Copies the words in the order of the network to the second half, and lists the ranks of those
/// that are lower than one before them; how many these are.
Value PrefixSort::collect(Value count, Value rows, Value placeBits) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  Type index = b.getIndexType(), i32 = b.getI32Type();
  Value one = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1));
  Value beyond =
      arith::ShLIOp::create(b, loc, one, arith::TruncIOp::create(b, loc, i32, placeBits));
  Value mask = arith::SubIOp::create(b, loc, beyond, one);
  // A lane of the network has `rows` neighbours of the line.
  Value lanes = k.divide(k.add(count, minus(rows, k.index(1))), rows);
  SmallVector<Value> state = {number(0), k.index(0)};
  state = k.fold(k.index(0), lanes, 1, state, [&](Value lane, ValueRange outer) {
    Value first = k.mul(lane, rows), left = k.smaller(rows, minus(count, first));
    return k.fold(k.index(0), left, 1, outer, [&](Value row, ValueRange carried) {
      Value highest = carried[0], listed = carried[1], rank = k.add(first, row);
      Value from = k.add(k.mul(row, k.index(kLanes)), lane);
      Value held = memref::LoadOp::create(b, loc, memory.network, from);
      Value place =
          arith::IndexCastUIOp::create(b, loc, index, arith::AndIOp::create(b, loc, held, mask));
      Value word = memref::LoadOp::create(b, loc, memory.words, place);
      memref::StoreOp::create(b, loc, word, memory.words, k.add(memory.half, rank));
      // Without a branch: the next one in the list takes the place of one that does not belong
      // there.
      memref::StoreOp::create(b, loc, arith::IndexCastOp::create(b, loc, i32, rank),
                              memory.counters, k.smaller(listed, k.index(kMostInserted)));
      Value isLower = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, word, highest);
      Value more = arith::IndexCastUIOp::create(b, loc, index, isLower);
      return SmallVector<Value>{arith::MaxUIOp::create(b, loc, highest, word), k.add(listed, more)};
    });
  });
  return state[1];
}

Value PrefixSort::wordAt(Value rank) {
  return memref::LoadOp::create(k.builder, k.loc, memory.words, k.add(memory.half, rank));
}

/// Moves the words of the first `listed` ranks of the list to their places among those before them.
void PrefixSort::insert(Value listed) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  Value one = k.index(1), none = k.index(0);
  k.forEach(none, listed, 1, [&](Value i) {
    Value rank = arith::IndexCastUIOp::create(b, loc, b.getIndexType(),
                                              memref::LoadOp::create(b, loc, memory.counters, i));
    Value word = wordAt(rank);
    auto goesOn = [&](ValueRange at) -> Value {
      // The first rank has none before it.
      Value isInside = k.less(none, at[0]);
      Value before = minus(at[0], arith::SelectOp::create(b, loc, isInside, one, none));
      Value isHigher =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, wordAt(before), word);
      return arith::AndIOp::create(b, loc, isInside, isHigher);
    };
    auto move = [&](ValueRange at) {
      Value before = minus(at[0], one);
      memref::StoreOp::create(b, loc, wordAt(before), memory.words, k.add(memory.half, at[0]));
      return SmallVector<Value>{before};
    };
    Value at = k.repeat({rank}, goesOn, move).front();
    memref::StoreOp::create(b, loc, word, memory.words, k.add(memory.half, at));
  });
}

Value PrefixSort::sort(Value count, Value least, Value range, const OrderResult &result) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  // The network has a power of two of elements.
  Value last = arith::IndexCastUIOp::create(b, loc, b.getI64Type(), minus(count, k.index(1)));
  Value fewestBits = number(llvm::Log2_64(NetworkSort::kFewest));
  Value placeBits = arith::MaxUIOp::create(b, loc, bitsOf(last), fewestBits);
  Value length = arith::IndexCastUIOp::create(b, loc, b.getIndexType(),
                                              arith::ShLIOp::create(b, loc, number(1), placeBits));
  Value rows = k.divide(length, k.index(kLanes));
  Value needed = arith::AddIOp::create(b, loc, bitsOf(range), placeBits);
  Value fitting = arith::MaxUIOp::create(b, loc, needed, number(kWordBits));
  Value dropped = minus(fitting, number(kWordBits));

  fill(count, length, least, dropped, placeBits);
  NetworkSort(k, memory.network, rows).sort();
  Value listed = collect(count, rows, placeBits);
  Value areFew = k.less(listed, k.divide(count, k.index(kFewInserted)));
  k.when(areFew, [&] {
    insert(listed);
    result.giveAll(count, [&](Value rank) -> Value {
      Value at = k.add(memory.half, rank), words;
      Value mask = number((int64_t(1) << kPlaceBits) - 1);
      if (k.vector) {
        auto shape = VectorType::get({k.vector->lanes}, b.getI64Type());
        words = vector::LoadOp::create(b, loc, shape, memory.words, at);
        mask = k.splat(mask, k.vector->lanes);
      } else {
        words = wordAt(rank);
      }
      return arith::AndIOp::create(b, loc, words, mask);
    });
  });
  return areFew;
}

} // namespace dlc::codegen
