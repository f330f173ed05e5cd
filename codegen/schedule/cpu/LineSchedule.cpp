//===- LineSchedule.cpp - Orders and running sums of lines on the CPU ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile is one line. Its keys and places lie in scratch memory, each twice:
//
//   keys of all elements; where few of many are asked for, only of those whose first bits are low enough: a sample says how low
//     that is, or where it leaves too few, a count of all
//   up to 32 elements: the place of each is the number of those before it, all pairs compared; n^2, without a branch
//   more: a radix sort from the last byte of the keys to the first. Each pass moves the elements to where the number of those
//     with lower bytes says, equal ones in their order, which is that of their places from the start
//
// Of running sums that do not go along the last dim, a tile is 16 neighbouring lines, a vector of sums.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cpu/CpuLines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

/// Elements among which all pairs are compared.
static constexpr int64_t kFewPairs = 32;
/// Elements from which it pays to leave some out, and the bits of the keys by which.
static constexpr int64_t kManyElements = 1024;
static constexpr unsigned kFirstBits = 11;
/// Of a line, in equal steps; and how many more of them than are expected among the first are taken for enough.
static constexpr int64_t kSamples = 512, kSpareSamples = 8;
static constexpr unsigned kDigitBits = 8;

namespace {
class LineSchedule : CpuLines {
public:
  explicit LineSchedule(CpuKernel &kernel) : CpuLines(kernel) {}

  CpuLaunch runOrder();
  CpuLaunch runSum();

private:
  void orderLine();
  Value keyAt(Value place);
  Value lastDigit(Value count, Value needed, llvm::function_ref<Value(Value)> key);
  Value take(Value limit);
  Value takeFirst();
  Value takeAll();
  void comparePairs(Value count);
  void sortDigits(Value count);
  /// `value` as the place of the element that comes `rank`-th.
  void give(Value rank, Value place);
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(k.builder, k.loc, predicate, a, b);
  }
  Value number(Value index, Type type) {
    return arith::IndexCastOp::create(k.builder, k.loc, type, index);
  }
  /// `bits` bits of a key from bit `from` on, as an index.
  Value digit(Value key, unsigned from, unsigned bits);
  /// The bits of a key by which elements are left out.
  unsigned firstBits() const { return std::min(keyBits(x.getElementType()), kFirstBits); }
  Value firstDigit(Value key) {
    return digit(key, keyBits(x.getElementType()) - firstBits(), firstBits());
  }
  Value zero(Type type) {
    return arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(type));
  }
  void countOne(Value at) {
    Value one = arith::ConstantOp::create(k.builder, k.loc, k.builder.getI32IntegerAttr(1));
    store(arith::AddIOp::create(k.builder, k.loc, load(counters, at), one), counters, at);
  }
  void clearCounters(int64_t count) {
    k.forEach(k.index(0), k.index(count), 1,
              [&](Value i) { store(zero(k.builder.getI32Type()), counters, i); });
  }

  Value keys[2], places[2], counters;
};
} // namespace

//===- Orders ---------------------------------------------------------------------------------------===//

Value LineSchedule::digit(Value key, unsigned from, unsigned bits) {
  Type type = key.getType();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(k.builder, k.loc, k.builder.getIntegerAttr(type, value));
  };
  Value low =
      from ? arith::ShRUIOp::create(k.builder, k.loc, key, constant(from)).getResult() : key;
  Value masked = arith::AndIOp::create(k.builder, k.loc, low, constant((1 << bits) - 1));
  return arith::IndexCastUIOp::create(k.builder, k.loc, k.builder.getIndexType(), masked);
}

void LineSchedule::give(Value rank, Value place) {
  auto write = [&] {
    k.math.bindLoop(along, rank);
    Value wide =
        place.getType().isInteger(32)
            ? arith::ExtUIOp::create(k.builder, k.loc, k.builder.getI64Type(), place).getResult()
            : place;
    store(wide, k.output(0), k.value(k.emitter.offset(y, indices)));
  };
  if (work.count == work.length)
    write();
  else
    k.when(k.less(rank, k.value(work.count)), write);
}

/// The key of the element at `place` of the line.
Value LineSchedule::keyAt(Value place) {
  k.math.bindLoop(along, place);
  Value stored = load(k.input(0), k.value(k.emitter.offset(x, indices)));
  return sortKey(k.builder, k.loc, stored, x.getElementType(), work.descending);
}

/// Of `count` keys, the last first digit before which there are fewer than `needed` elements.
Value LineSchedule::lastDigit(Value count, Value needed, llvm::function_ref<Value(Value)> key) {
  int64_t digits = int64_t(1) << firstBits();
  clearCounters(digits);
  k.forEach(k.index(0), count, 1, [&](Value i) { countOne(firstDigit(key(i))); });
  Type i32 = k.builder.getI32Type();
  Value enough = number(needed, i32);
  return k.fold(
      k.index(0), k.index(digits), 1, {zero(i32), k.index(0)}, [&](Value at, ValueRange carried) {
        Value tooFew = compare(arith::CmpIPredicate::ult, carried[0], enough);
        Value sum = arith::AddIOp::create(k.builder, k.loc, carried[0], load(counters, at));
        Value last = arith::SelectOp::create(k.builder, k.loc, tooFew, at, carried[1]);
        return SmallVector<Value>{sum, last};
      })[1];
}

/// Keys and places of the elements up to first digit `limit`, in their order; how many these are.
Value LineSchedule::take(Value limit) {
  Type i32 = k.builder.getI32Type();
  return k
      .fold(k.index(0), k.value(work.length), 1, {k.index(0)},
            [&](Value i, ValueRange kept) {
              Value key = keyAt(i);
              store(key, keys[0], kept[0]);
              store(number(i, i32), places[0], kept[0]);
              Value isKept = compare(arith::CmpIPredicate::ule, firstDigit(key), limit);
              Value one = arith::SelectOp::create(k.builder, k.loc, isKept, k.index(1), k.index(0));
              return SmallVector<Value>{k.add(kept[0], one)};
            })
      .front();
}

/// Those elements of many that may be among the first `count`, in their order; how many these are. A sample says up to which
/// digit enough of them should be; where it was wrong, all are counted.
Value LineSchedule::takeFirst() {
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
Value LineSchedule::takeAll() {
  Value length = k.value(work.length);
  k.forEach(k.index(0), length, 1, [&](Value i) {
    store(keyAt(i), keys[0], i);
    store(number(i, k.builder.getI32Type()), places[0], i);
  });
  return length;
}

void LineSchedule::comparePairs(Value count) {
  k.forEach(k.index(0), count, 1, [&](Value i) {
    Value own = load(keys[0], i);
    Value rank = k.fold(k.index(0), count, 1, {k.index(0)}, [&](Value j, ValueRange before) {
                    Value other = load(keys[0], j);
                    Value isBelow = compare(arith::CmpIPredicate::ult, other, own);
                    Value isEqual = compare(arith::CmpIPredicate::eq, other, own);
                    Value ties = arith::AndIOp::create(k.builder, k.loc, isEqual, k.less(j, i));
                    Value counts = arith::OrIOp::create(k.builder, k.loc, isBelow, ties);
                    Value one =
                        arith::SelectOp::create(k.builder, k.loc, counts, k.index(1), k.index(0));
                    return SmallVector<Value>{k.add(before[0], one)};
                  }).front();
    give(rank, load(places[0], i));
  });
}

void LineSchedule::sortDigits(Value count) {
  unsigned passes = keyBits(x.getElementType()) / kDigitBits;
  constexpr int64_t values = int64_t(1) << kDigitBits;
  auto counter = [&](Value key, unsigned pass) {
    return k.add(digit(key, pass * kDigitBits, kDigitBits), k.index(pass * values));
  };
  clearCounters(passes * values);
  k.forEach(k.index(0), count, 1, [&](Value i) {
    Value key = load(keys[0], i);
    for (unsigned pass = 0; pass < passes; ++pass)
      countOne(counter(key, pass));
  });
  for (unsigned pass = 0; pass < passes; ++pass) {
    // How many elements have a lower digit: where the first one with this digit goes.
    k.fold(k.index(pass * values), k.index((pass + 1) * values), 1, {zero(k.builder.getI32Type())},
           [&](Value at, ValueRange before) {
             Value own = load(counters, at);
             store(before[0], counters, at);
             return SmallVector<Value>{arith::AddIOp::create(k.builder, k.loc, before[0], own)};
           });
    unsigned from = pass % 2, to = 1 - from;
    k.forEach(k.index(0), count, 1, [&](Value i) {
      Value key = load(keys[from], i), at = counter(key, pass);
      Value place = load(places[from], i);
      Value rank = arith::IndexCastUIOp::create(k.builder, k.loc, k.builder.getIndexType(),
                                                load(counters, at));
      countOne(at);
      if (pass + 1 == passes)
        return give(rank, place);
      store(key, keys[to], rank);
      store(place, places[to], rank);
    });
  }
}

void LineSchedule::orderLine() {
  Value length = k.value(work.length), left;
  if (work.count == work.length)
    left = takeAll();
  else
    left = k.branch(
                compare(arith::CmpIPredicate::sgt, length, k.index(kManyElements)),
                k.builder.getIndexType(), [&] { return SmallVector<Value>{takeFirst()}; },
                [&] { return SmallVector<Value>{takeAll()}; })
               .front();
  k.branch(
      compare(arith::CmpIPredicate::sle, left, k.index(kFewPairs)), {},
      [&] {
        comparePairs(left);
        return SmallVector<Value>();
      },
      [&] {
        sortDigits(left);
        return SmallVector<Value>();
      });
  if (work.count != work.length)
    k.forEach(length, k.value(work.count), 1,
              [&](Value rank) { give(rank, zero(k.builder.getI64Type())); });
}

CpuLaunch LineSchedule::runOrder() {
  Type key = keyType(x.getElementType()), i32 = k.builder.getI32Type();
  int64_t digits = keyBits(x.getElementType()) / kDigitBits * (int64_t(1) << kDigitBits);
  if (work.count != work.length)
    digits = std::max(digits, int64_t(1) << kFirstBits);
  AffineExpr used = dl::constantDim(digits * 4, k.builder.getContext());
  counters = k.scratchView(i32, k.index(digits), k.index(0));
  Value length = k.value(work.length);
  auto take = [&](Type type) {
    Value memory = k.scratchView(type, length, k.value(used));
    used = dl::normalize(used + work.length * (type.getIntOrFloatBitWidth() / 8));
    return memory;
  };
  for (Value &memory : keys)
    memory = take(key);
  for (Value &memory : places)
    memory = take(i32);
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    bindLines(tile, 1, work.length);
    orderLine();
  });
  return launch(1, used);
}

//===- Running sums ---------------------------------------------------------------------------------===//

CpuLaunch LineSchedule::runSum() {
  Type element = x.getElementType(), compute = computeType(element);
  bool isLast = !haveNeighbours();
  int64_t lines = isLast ? 1 : kLinesOfTile;
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    bindLines(tile, lines, work.length);
    Type type = compute;
    if (!isLast) {
      type = VectorType::get({lines}, compute);
      k.vector = VectorLoop{indices.back(), lines, k.laneMask(linesLeft(lines), lines)};
    }
    AffineExpr offset = k.emitter.offset(x, indices);
    k.fold(k.index(0), k.value(work.length), 1, {zero(type)}, [&](Value i, ValueRange sum) {
      k.math.bindLoop(along, i);
      Value value = fromStorage(k.builder, k.loc, k.load(0, offset), element);
      if (!isLast && !isa<VectorType>(value.getType()))
        value = k.splat(value, lines);
      ScalarKind kind = scalarKind(element);
      Scalar next = Scalar(k.builder, k.loc, sum[0], kind) + Scalar(k.builder, k.loc, value, kind);
      k.store(next.value(), offset);
      return SmallVector<Value>{next.value()};
    });
    k.vector.reset();
  });
  return launch(lines, dl::constantDim(0, k.builder.getContext()));
}

CpuLaunch scheduleLines(CpuKernel &kernel) {
  switch (lineOpOf(kernel.emitter.getKernel()).getLineWork().kind) {
  case LineWork::Kind::order:
    return LineSchedule(kernel).runOrder();
  case LineWork::Kind::sum:
    return LineSchedule(kernel).runSum();
  case LineWork::Kind::scatter:
    return scheduleScatter(kernel);
  }
  llvm_unreachable("all kinds of line work have a schedule");
}

} // namespace dlc::codegen
