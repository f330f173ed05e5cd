//===- OrderSchedule.cpp - Lines put in order on the CPU ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile is one line. Its keys and places lie in scratch memory (OrderMemory.h), there are
//
//   those of all elements; where few of many are asked for, only of those whose first bits are low
//   enough: a sample says how low
//     that is, or where it leaves too few, a count of all
//   up to 128 elements: the place of each is the number of those before it, all pairs compared;
//   n^2, one with a vector of others
//     in a step, without a branch
//   more: a network of comparators on the first bits of the keys, or a radix sort
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/lines/CpuLines.h"
#include "codegen/cpu/schedule/lines/DigitSort.h"
#include "codegen/cpu/schedule/lines/PairSort.h"
#include "codegen/cpu/schedule/lines/PrefixSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace dlc::codegen {

/// Keys of a vector, whatever the instruction set.
static constexpr int64_t kLanes = 16;
/// Elements behind those of a line that vectors may read and write.
static constexpr int64_t kRoom = PairSort::kMost;
/// Elements from which it pays to leave some out, and the bits of the keys by which.
static constexpr int64_t kManyElements = 1024;
static constexpr unsigned kFirstBits = 11;
/// Samples of a line, equally spaced; and how many samples above the expected count a threshold
/// must have below it to be taken as sufficient.
static constexpr int64_t kSamples = 512, kSpareSamples = 8;

namespace {
class OrderSchedule : CpuLines {
public:
  explicit OrderSchedule(CpuKernel &kernel) : CpuLines(kernel) {}
  CpuLaunch run();

private:
  void orderLine();
  Value keyAt(Value place);
  void put(Value key, Value place, Value at);
  Value lastDigit(Value count, Value needed, llvm::function_ref<Value(Value)> key);
  Value take(Value limit);
  Value takeLanes(Value keys, Value first, Value isKept, Value kept);
  Value takeFirst();
  Value takeAll();
  void give(Value rank, Value place);
  void giveAll(Value count, llvm::function_ref<Value(Value)> placeAt);

  bool takesAll() const { return work.count == work.length; }
  /// The elements of a line lie side by side.
  bool isDense() const {
    return k.math.strideAlong(k.emitter.offset(x, indices), along) == Stride::unit;
  }
  /// The bits of a key by which elements are left out.
  unsigned firstBits() const { return std::min(keyBits(x.getElementType()), kFirstBits); }
  Value firstDigit(Value key);
  Value constant(Type type, int64_t value);
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(k.builder, k.loc, predicate, a, b);
  }
  Value number(Value index, Type type) {
    return arith::IndexCastOp::create(k.builder, k.loc, type, index);
  }
  void storeLanes(Value value, Value memory, Value at) {
    vector::StoreOp::create(k.builder, k.loc, value, memory, at);
  }

  Type i32 = k.builder.getI32Type(), i64 = k.builder.getI64Type();
  OrderMemory memory;
  Value some; // in the memory of the counters: a vector of keys
};
} // namespace

//===- Elements -------------------------------------------------------------------------------===//

/// `value` as a scalar, or in all lanes, of `type`.
Value OrderSchedule::constant(Type type, int64_t value) {
  TypedAttr attribute = k.builder.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto shape = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(shape, attribute);
  return arith::ConstantOp::create(k.builder, k.loc, attribute);
}

void OrderSchedule::give(Value rank, Value place) {
  auto write = [&] {
    k.math.bindLoop(along, rank);
    store(place, k.output(0), k.value(k.emitter.offset(y, indices)));
  };
  if (takesAll())
    write();
  else
    k.when(k.less(rank, k.value(work.count)), write);
}

/// The places of the first ranks of `count`.
void OrderSchedule::giveAll(Value count, llvm::function_ref<Value(Value)> placeAt) {
  Value given = takesAll() ? count : k.smaller(count, k.value(work.count));
  if (k.math.strideAlong(k.emitter.offset(y, indices), along) == Stride::unit) {
    k.forVector(along, k.index(0), given,
                [&] { k.store(placeAt(k.value(along)), k.emitter.offset(y, indices)); });
    return;
  }
  k.forEach(k.index(0), given, 1, [&](Value rank) {
    k.math.bindLoop(along, rank);
    store(placeAt(rank), k.output(0), k.value(k.emitter.offset(y, indices)));
  });
}

/// The key of the element at `place` of the line, or where values are vectors, of those from there
/// on.
Value OrderSchedule::keyAt(Value place) {
  k.math.bindLoop(along, place);
  Value stored = k.load(0, k.emitter.offset(x, indices));
  return sortKey(k.builder, k.loc, stored, x.getElementType(), work.descending);
}

/// Element `at` of those to be put in order, or a vector of them: their memory has room behind the
/// line.
void OrderSchedule::put(Value key, Value place, Value at) {
  auto shape = dyn_cast<VectorType>(key.getType());
  auto placeAs = [&](Type type) {
    return shape ? lanesFrom(k, place, shape.getNumElements(), type) : number(place, type);
  };
  auto write = [&](Value value, Value to) {
    if (shape)
      storeLanes(value, to, at);
    else
      store(value, to, at);
  };
  if (memory.places) {
    write(key, memory.words);
    return write(placeAs(i32), memory.places);
  }
  Type word = shape ? Type(shape.clone(i64)) : i64;
  Value high = arith::ShLIOp::create(
      k.builder, k.loc, arith::ExtUIOp::create(k.builder, k.loc, word, key), constant(word, 32));
  write(arith::OrIOp::create(k.builder, k.loc, high, placeAs(i64)), memory.words);
}

//===- Which elements -------------------------------------------------------------------------===//

Value OrderSchedule::firstDigit(Value key) {
  Type type = key.getType();
  Value digit = arith::ShRUIOp::create(k.builder, k.loc, key,
                                       constant(type, keyBits(x.getElementType()) - firstBits()));
  return arith::IndexCastUIOp::create(k.builder, k.loc, k.builder.getIndexType(), digit);
}

/// Returns the smallest first digit d such that at least `needed` of the `count` keys have a first
/// digit of at most d, or the largest digit if there is none.
Value OrderSchedule::lastDigit(Value count, Value needed, llvm::function_ref<Value(Value)> key) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  int64_t digits = int64_t(1) << firstBits();
  Value none = constant(VectorType::get({kLanes}, i32), 0);
  k.forEach(k.index(0), k.index(digits), kLanes,
            [&](Value i) { storeLanes(none, memory.counters, i); });
  k.forEach(k.index(0), count, 1, [&](Value i) {
    Value at = firstDigit(key(i));
    Value before = load(memory.counters, at);
    store(arith::AddIOp::create(b, loc, before, constant(i32, 1)), memory.counters, at);
  });
  // Most often it is found long before the last one.
  Value enough = number(needed, i32);
  auto upTo = [&](ValueRange state) -> Value {
    return arith::AddIOp::create(b, loc, state[1], load(memory.counters, state[0]));
  };
  auto isTooFew = [&](ValueRange state) -> Value {
    Value isBefore = compare(arith::CmpIPredicate::ult, state[0], k.index(digits - 1));
    return arith::AndIOp::create(b, loc, isBefore,
                                 compare(arith::CmpIPredicate::ult, upTo(state), enough));
  };
  return k
      .repeat({k.index(0), constant(i32, 0)}, isTooFew,
              [&](ValueRange state) {
                return SmallVector<Value>{k.add(state[0], k.index(1)), upTo(state)};
              })
      .front();
}

/// Those of a vector of keys, from place `first` on, that are kept, behind `kept` others; how many
/// there are then. Few vectors have any.
Value OrderSchedule::takeLanes(Value keys, Value first, Value isKept, Value kept) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  Type index = b.getIndexType();
  Value bits = vector::ExtractOp::create(
      b, loc,
      vector::BitCastOp::create(b, loc, VectorType::get({1}, b.getIntegerType(kLanes)), isKept), 0);
  bits = arith::ExtUIOp::create(b, loc, i32, bits);
  Value none = constant(i32, 0);
  auto isAny = [&](Value bits) { return compare(arith::CmpIPredicate::ne, bits, none); };
  return k
      .branch(
          isAny(bits), index,
          [&] {
            storeLanes(keys, some, k.index(0));
            auto takeOne = [&](ValueRange left) {
              Value lane = math::CountTrailingZerosOp::create(b, loc, left[0]);
              Value at = arith::IndexCastUIOp::create(b, loc, index, lane);
              put(load(some, at), k.add(first, at), left[1]);
              Value less = arith::SubIOp::create(b, loc, left[0], constant(i32, 1));
              Value others = arith::AndIOp::create(b, loc, left[0], less);
              return SmallVector<Value>{others, k.add(left[1], k.index(1))};
            };
            auto left =
                k.repeat({bits, kept}, [&](ValueRange left) { return isAny(left[0]); }, takeOne);
            return SmallVector<Value>{left[1]};
          },
          [&] { return SmallVector<Value>{kept}; })
      .front();
}

/// Keys and places of the elements up to first digit `limit`, in their order; how many these are.
Value OrderSchedule::take(Value limit) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  Type key = keyType(x.getElementType());
  // The highest key with this digit; that of the last digit is as many ones as the key type has, or
  // the key.
  Value next = number(k.add(limit, k.index(1)), key);
  Value highest = arith::SubIOp::create(
      b, loc,
      arith::ShLIOp::create(b, loc, next, constant(key, keyBits(x.getElementType()) - firstBits())),
      constant(key, 1));
  Value length = k.value(work.length), from = k.index(0), kept = k.index(0);
  if (isDense()) {
    Value whole = k.mul(k.divide(length, k.index(kLanes)), k.index(kLanes));
    Value limits = k.splat(highest, kLanes);
    kept = k.fold(from, whole, kLanes, {kept}, [&](Value i, ValueRange carried) {
              k.vector = VectorLoop{along, kLanes, {}};
              Value own = keyAt(i);
              k.vector.reset();
              Value isKept = compare(arith::CmpIPredicate::ule, own, limits);
              return SmallVector<Value>{takeLanes(own, i, isKept, carried[0])};
            }).front();
    from = whole;
  }
  return k
      .fold(from, length, 1, {kept},
            [&](Value i, ValueRange carried) {
              Value own = keyAt(i);
              put(own, i, carried[0]);
              Value isKept = compare(arith::CmpIPredicate::ule, own, highest);
              Value one = arith::SelectOp::create(b, loc, isKept, k.index(1), k.index(0));
              return SmallVector<Value>{k.add(carried[0], one)};
            })
      .front();
}

/// Those elements of many that may be among the first `count`, in their order; how many these are.
/// A sample says up to which digit enough of them should be; where it was wrong, all are counted.
Value OrderSchedule::takeFirst() {
  Value length = k.value(work.length), count = k.value(work.count);
  Value expected = k.divide(k.mul(count, k.index(2 * kSamples)), length);
  Value step = k.divide(length, k.index(kSamples));
  Value sampled = lastDigit(k.index(kSamples), k.add(expected, k.index(kSpareSamples)),
                            [&](Value i) { return keyAt(k.mul(i, step)); });
  Value kept = take(sampled);
  return k
      .branch(
          k.less(kept, k.smaller(count, length)), k.builder.getIndexType(),
          [&] {
            Value limit = lastDigit(length, count, [&](Value i) { return keyAt(i); });
            return SmallVector<Value>{take(limit)};
          },
          [&] { return SmallVector<Value>{kept}; })
      .front();
}

/// All elements.
Value OrderSchedule::takeAll() {
  Value length = k.value(work.length), none = k.index(0);
  auto putOne = [&](Value i) { put(keyAt(i), i, i); };
  if (isDense())
    k.forVector(along, none, length, [&] { putOne(k.value(along)); });
  else
    k.forEach(none, length, 1, putOne);
  return length;
}

//===- Their order ----------------------------------------------------------------------------===//

void OrderSchedule::orderLine() {
  Value length = k.value(work.length), left;
  auto longest = dl::asConstant(work.length);
  if (takesAll() || (longest && *longest <= kManyElements))
    left = takeAll();
  else
    left = k.branch(
                compare(arith::CmpIPredicate::sgt, length, k.index(kManyElements)),
                k.builder.getIndexType(), [&] { return SmallVector<Value>{takeFirst()}; },
                [&] { return SmallVector<Value>{takeAll()}; })
               .front();
  auto giveOne = [&](Value rank, Value place) { give(rank, place); };
  auto giveMany = [&](Value count, llvm::function_ref<Value(Value)> placeAt) {
    giveAll(count, placeAt);
  };
  OrderResult result{giveOne, giveMany};
  auto sort = [&] {
    DigitSort(k, memory).sort(left, result);
    return SmallVector<Value>();
  };
  auto comparing = [&] {
    PairSort(k, memory, longest).sort(left, result);
    return SmallVector<Value>();
  };
  if (longest && *longest <= PairSort::kMost)
    comparing();
  else if (longest && takesAll())
    sort();
  else
    k.branch(compare(arith::CmpIPredicate::sle, left, k.index(PairSort::kMost)), {}, comparing,
             sort);
  if (!takesAll())
    k.forEach(length, k.value(work.count), 1, [&](Value rank) { give(rank, constant(i64, 0)); });
}

CpuLaunch OrderSchedule::run() {
  auto longest = dl::asConstant(work.length);
  int64_t counters = DigitSort::counters(longest);
  if (longest && *longest <= PairSort::kMost)
    counters = PairSort::kMost * 2; // the ranks
  else if (!takesAll())
    counters = std::max(counters, int64_t(1) << kFirstBits);
  AffineExpr used = k.math.constant(0);
  auto take = [&](Type type, AffineExpr count) {
    Value taken = k.scratchView(type, k.value(count), k.value(used));
    used = dl::normalize(used + count * (type.getIntOrFloatBitWidth() / 8));
    return taken;
  };
  memory.halfCounters = counters / 2;
  memory.counters = take(i32, k.math.constant(counters));
  some = k.scratchView(keyType(x.getElementType()), kLanes);
  memory.ranks = k.scratchView(i64, PairSort::kMost);
  AffineExpr both = dl::normalize(work.length * 2 + kRoom);
  memory.words = take(i64, both);
  if (keyBits(x.getElementType()) > 32)
    memory.places = take(i32, both);
  memory.half = k.value(work.length);
  if (!longest || *longest > PairSort::kMost)
    memory.network = take(i32, k.math.constant(PrefixSort::wordsOfNetwork(longest)));
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    bindLines(tile, 1, work.length);
    orderLine();
  });
  return launch(1, used);
}

CpuLaunch scheduleOrder(CpuKernel &kernel) { return OrderSchedule(kernel).run(); }

} // namespace dlc::codegen
