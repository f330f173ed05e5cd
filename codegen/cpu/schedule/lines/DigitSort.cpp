//===- DigitSort.cpp - A line sorted by the digits of its keys ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/lines/DigitSort.h"

#include "codegen/cpu/schedule/lines/CpuLines.h"
#include "codegen/cpu/schedule/lines/PrefixSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

/// Bits of a digit; and of one in lines so long that a pass over them costs more than its counters
/// do.
static constexpr int64_t kDigitBits = 8, kLongDigitBits = 11, kLongLine = 1000;
/// Words of a vector, whatever the instruction set: registers of it are as many as it takes.
static constexpr int64_t kLanes = 16;

int64_t DigitSort::counters(std::optional<int64_t> longest) {
  return int64_t(2) << (longest && *longest <= kLongLine ? kDigitBits : kLongDigitBits);
}

Value DigitSort::number(int64_t value) {
  return arith::ConstantOp::create(k.builder, k.loc, k.builder.getI64IntegerAttr(value));
}
Value DigitSort::toIndex(Value number) {
  return arith::IndexCastUIOp::create(k.builder, k.loc, k.builder.getIndexType(), number);
}
Value DigitSort::load(Value memory, Value at) {
  return memref::LoadOp::create(k.builder, k.loc, memory, at);
}
void DigitSort::store(Value value, Value memory, Value at) {
  memref::StoreOp::create(k.builder, k.loc, value, memory, at);
}

/// The lowest and the highest word, and whether none is lower than the one before it.
DigitSort::Known DigitSort::look(Value count) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  auto shape = VectorType::get({kLanes}, b.getI64Type());
  auto next = [&](Value word, Value following, ValueRange carried) {
    Value isInOrder = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, word, following);
    return SmallVector<Value>{arith::MinUIOp::create(b, loc, carried[0], word),
                              arith::MaxUIOp::create(b, loc, carried[1], word),
                              arith::AndIOp::create(b, loc, carried[2], isInOrder)};
  };
  auto lanesAt = [&](Value at) -> Value {
    return vector::LoadOp::create(b, loc, shape, memory.words, at);
  };
  // All but the last one have one that follows.
  Value last = arith::SubIOp::create(b, loc, count, k.index(1)), end = load(memory.words, last);
  Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  Value ends = k.splat(end, kLanes),
        whole = k.mul(k.divide(last, k.index(kLanes)), k.index(kLanes));
  SmallVector<Value> many =
      k.fold(k.index(0), whole, kLanes, {ends, ends, k.splat(yes, kLanes)},
             [&](Value i, ValueRange carried) {
               return next(lanesAt(i), lanesAt(k.add(i, k.index(1))), carried);
             });
  auto across = [&](vector::CombiningKind kind, Value lanes) -> Value {
    return vector::ReductionOp::create(b, loc, kind, lanes);
  };
  SmallVector<Value> known = {across(vector::CombiningKind::MINUI, many[0]),
                              across(vector::CombiningKind::MAXUI, many[1]),
                              across(vector::CombiningKind::AND, many[2])};
  known = k.fold(whole, last, 1, known, [&](Value i, ValueRange carried) {
    return next(load(memory.words, i), load(memory.words, k.add(i, k.index(1))), carried);
  });
  return {known[0], known[1], known[2]};
}

/// The counter of the digit of `word` from bit `shift` on, among those from `first` on.
Value DigitSort::counterOf(Value word, Value shift, const Digits &digits, Value first) {
  if (digits.base)
    word = arith::SubIOp::create(k.builder, k.loc, word, digits.base);
  Value low = arith::ShRUIOp::create(k.builder, k.loc, word, shift);
  Value digit = arith::AndIOp::create(k.builder, k.loc, low, digits.mask);
  return k.add(first, toIndex(digit));
}

/// Adds one to the counter; what it was before.
Value DigitSort::countOne(Value at) {
  Value before = load(memory.counters, at);
  Value one = arith::ConstantOp::create(k.builder, k.loc, k.builder.getI32IntegerAttr(1));
  store(arith::AddIOp::create(k.builder, k.loc, before, one), memory.counters, at);
  return before;
}

void DigitSort::clear(Value first, const Digits &digits) {
  auto shape = VectorType::get({kLanes}, k.builder.getI32Type());
  Value zeros = arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(shape));
  k.forEach(first, k.add(first, digits.values), kLanes,
            [&](Value i) { vector::StoreOp::create(k.builder, k.loc, zeros, memory.counters, i); });
}

/// For each digit how many elements have a lower one: where the first with this one goes.
void DigitSort::addUp(Value first, const Digits &digits) {
  auto shape = VectorType::get({kLanes}, k.builder.getI32Type());
  Value none = arith::ConstantOp::create(k.builder, k.loc, k.builder.getI32IntegerAttr(0));
  k.fold(first, k.add(first, digits.values), kLanes, {none}, [&](Value at, ValueRange before) {
    Value own = vector::LoadOp::create(k.builder, k.loc, shape, memory.counters, at);
    Value upTo = sumsOfLanes(k, own), start = k.splat(before[0], kLanes);
    Value lower = arith::AddIOp::create(k.builder, k.loc,
                                        arith::SubIOp::create(k.builder, k.loc, upTo, own), start);
    vector::StoreOp::create(k.builder, k.loc, lower, memory.counters, at);
    Value all = vector::ExtractOp::create(k.builder, k.loc, upTo, kLanes - 1);
    return SmallVector<Value>{arith::AddIOp::create(k.builder, k.loc, before[0], all)};
  });
}

/// Sorts by the bits from `first` on of what the words are above `base`: at most `range`.
void DigitSort::sortBy(Value count, Value base, int64_t first, Value range, bool movesPlaces,
                       const OrderResult &result) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  // Equal keys are one pass of a bit, which gives them in their order.
  Value leading =
      math::CountLeadingZerosOp::create(b, loc, arith::OrIOp::create(b, loc, range, number(1)));
  Value bits = arith::SubIOp::create(b, loc, number(64), leading);
  Value isLong = k.less(k.index(kLongLine), count);
  Value most = arith::SelectOp::create(b, loc, isLong, number(kLongDigitBits), number(kDigitBits));
  auto parts = [&](Value whole, Value part) -> Value {
    Value up = arith::SubIOp::create(b, loc, arith::AddIOp::create(b, loc, whole, part), number(1));
    return arith::DivUIOp::create(b, loc, up, part);
  };
  Value passes = parts(bits, most), width = parts(bits, passes);
  Value values = arith::ShLIOp::create(b, loc, number(1), width);
  Digits digits = {base, arith::SubIOp::create(b, loc, values, number(1)), toIndex(values)};
  // The digits of a pass are counted while the one before it moves the elements: neither waits for
  // the other's counters.
  Value start = number(first), half = k.index(memory.halfCounters);
  clear(k.index(0), digits);
  k.forEach(k.index(0), count, 1, [&](Value i) {
    countOne(counterOf(load(memory.words, i), start, digits, k.index(0)));
  });
  Value lastPass = toIndex(arith::SubIOp::create(b, loc, passes, number(1)));
  SmallVector<Value> state =
      k.fold(k.index(0), lastPass, 1, {k.index(0), memory.half, k.index(0), half, start},
             [&](Value, ValueRange carried) {
               Value from = carried[0], to = carried[1], counters = carried[2], others = carried[3];
               Value shift = carried[4], next = arith::AddIOp::create(b, loc, shift, width);
               addUp(counters, digits);
               clear(others, digits);
               k.forEach(from, k.add(from, count), 1, [&](Value i) {
                 Value word = load(memory.words, i);
                 Value target =
                     k.add(to, toIndex(countOne(counterOf(word, shift, digits, counters))));
                 countOne(counterOf(word, next, digits, others));
                 store(word, memory.words, target);
                 if (movesPlaces)
                   store(load(memory.places, i), memory.places, target);
               });
               return SmallVector<Value>{to, from, others, counters, next};
             });
  addUp(state[2], digits);
  k.forEach(state[0], k.add(state[0], count), 1, [&](Value i) {
    Value word = load(memory.words, i), place = placeOf(word, i, movesPlaces);
    result.give(toIndex(countOne(counterOf(word, state[4], digits, state[2]))), place);
  });
}

Value DigitSort::placeOf(Value word, Value at, bool isBeside) {
  if (isBeside)
    return arith::ExtUIOp::create(k.builder, k.loc, word.getType(), load(memory.places, at));
  return arith::AndIOp::create(k.builder, k.loc, word, number((int64_t(1) << kPlaceBits) - 1));
}

/// Keys that differ in their last 32 bits alone become words with places.
void DigitSort::pack(Value count, Value least) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  auto lanesOf = [&](Type type) { return VectorType::get({kLanes}, type); };
  Value base = k.splat(least, kLanes), bits = k.splat(number(kPlaceBits), kLanes);
  // Behind the last one there is room, and nothing yet.
  k.forEach(k.index(0), count, kLanes, [&](Value i) {
    Value keys =
        vector::LoadOp::create(b, loc, lanesOf(b.getI64Type()), memory.words, i).getResult();
    Value places =
        vector::LoadOp::create(b, loc, lanesOf(b.getI32Type()), memory.places, i).getResult();
    Value high = arith::ShLIOp::create(b, loc, arith::SubIOp::create(b, loc, keys, base), bits);
    Value low = arith::ExtUIOp::create(b, loc, high.getType(), places);
    vector::StoreOp::create(b, loc, arith::OrIOp::create(b, loc, high, low), memory.words, i);
  });
}

/// Words with places, of keys from `least` on; digits are of what they are above `base`.
void DigitSort::sortPacked(Value count, Value base, Value least, Value range,
                           const OrderResult &result) {
  auto byDigits = [&] { sortBy(count, base, kPlaceBits, range, /*movesPlaces=*/false, result); };
  if (!memory.network)
    return byDigits();
  Value isShort = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ule, count,
                                        k.index(PrefixSort::kLongest));
  Value isOpen =
      k.branch(
           isShort, k.builder.getI1Type(),
           [&] {
             Value sorted = PrefixSort(k, memory).sort(count, least, range, result);
             Value yes = arith::ConstantOp::create(k.builder, k.loc, k.builder.getBoolAttr(true));
             return SmallVector<Value>{arith::XOrIOp::create(k.builder, k.loc, sorted, yes)};
           },
           [&] {
             return SmallVector<Value>{
                 arith::ConstantOp::create(k.builder, k.loc, k.builder.getBoolAttr(true))};
           })
          .front();
  k.when(isOpen, byDigits);
}

void DigitSort::sortUnsorted(Value count, const Known &known, const OrderResult &result) {
  auto above = [&](Value word) -> Value {
    return arith::ShRUIOp::create(k.builder, k.loc, word, number(kPlaceBits));
  };
  auto difference = [&](Value a, Value b) -> Value {
    return arith::SubIOp::create(k.builder, k.loc, a, b);
  };
  if (!memory.places) {
    Value low = above(known.least);
    Value base = arith::ShLIOp::create(k.builder, k.loc, low, number(kPlaceBits));
    return sortPacked(count, base, low, difference(above(known.most), low), result);
  }
  Value range = difference(known.most, known.least);
  Value isNarrow =
      arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::eq, above(range), number(0));
  k.branch(
      isNarrow, {},
      [&] {
        pack(count, known.least);
        sortPacked(count, {}, number(0), range, result);
        return SmallVector<Value>();
      },
      [&] {
        sortBy(count, known.least, 0, range, /*movesPlaces=*/true, result);
        return SmallVector<Value>();
      });
}

void DigitSort::sort(Value count, const OrderResult &result) {
  Known known = look(count);
  k.branch(
      known.areSorted, {},
      [&] {
        k.forEach(k.index(0), count, 1, [&](Value i) {
          result.give(i, placeOf(load(memory.words, i), i, static_cast<bool>(memory.places)));
        });
        return SmallVector<Value>();
      },
      [&] {
        sortUnsorted(count, known, result);
        return SmallVector<Value>();
      });
}

} // namespace dlc::codegen
