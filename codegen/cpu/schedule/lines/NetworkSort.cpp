//===- NetworkSort.cpp - A line sorted by a network of comparators ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/lines/NetworkSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Rows that are in registers at once, and the steps that these allow, one for each bit of their
/// number.
static constexpr unsigned kRows = 8, kSteps = 3;

NetworkSort::NetworkSort(CpuKernel &k, Value words, Value rows)
    : k(k), words(words), rows(rows),
      logRows(math::CountTrailingZerosOp::create(k.builder, k.loc, rows)),
      row(VectorType::get({kLanes}, k.builder.getI32Type())) {}

Value NetworkSort::shiftLeft(Value a, Value bits) {
  return k.builder.createOrFold<arith::ShLIOp>(k.loc, a, bits);
}
Value NetworkSort::shiftRight(Value a, Value bits) {
  return k.builder.createOrFold<arith::ShRUIOp>(k.loc, a, bits);
}
Value NetworkSort::minus(Value a, Value b) {
  return k.builder.createOrFold<arith::SubIOp>(k.loc, a, b);
}

//===- In registers ---------------------------------------------------------------------------===//

/// A comparator of each lane: the lower words to `low`, the higher ones to `high`.
void NetworkSort::order(Rows &rows, unsigned low, unsigned high) {
  Value a = rows[low], b = rows[high];
  rows[low] = arith::MinUIOp::create(k.builder, k.loc, a, b);
  rows[high] = arith::MaxUIOp::create(k.builder, k.loc, a, b);
}

/// Runs the steps at half and at a quarter of the span on two groups of four rows. The rows of a
/// group are equally far apart and are given in order of position.
void NetworkSort::halveQuarters(Rows &rows) {
  for (unsigned four : {0u, 4u}) {
    order(rows, four, four + 2);
    order(rows, four + 1, four + 3);
    order(rows, four, four + 1);
    order(rows, four + 2, four + 3);
  }
}

/// Each lane's word comes from lane ^ distance.
Value NetworkSort::swapLanes(Value row, unsigned distance) {
  SmallVector<int64_t> from;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    from.push_back(lane ^ distance);
  return vector::ShuffleOp::create(k.builder, k.loc, row, row, from);
}

/// The lanes without `bit` from `low`, those with it from `high`.
Value NetworkSort::chooseLanes(Value low, Value high, unsigned bit) {
  SmallVector<int64_t> from;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    from.push_back(lane & bit ? kLanes + lane : lane);
  return vector::ShuffleOp::create(k.builder, k.loc, low, high, from);
}

//===- Passes ---------------------------------------------------------------------------------===//

/// Takes all rows, eight at a time, through `steps`.
void NetworkSort::pass(Places places, llvm::function_ref<void(Rows &)> steps) {
  Value groups = shiftRight(rows, k.index(kSteps));
  k.forEach(k.index(0), groups, 1, [&](Value group) {
    Rows at, held;
    for (Value place : places(group)) {
      at.push_back(k.mul(place, k.index(kLanes)));
      held.push_back(vector::LoadOp::create(k.builder, k.loc, row, words, at.back()).getResult());
    }
    steps(held);
    for (auto [place, value] : llvm::zip(at, held))
      vector::StoreOp::create(k.builder, k.loc, value, words, place);
  });
}

/// A pass over rows that lie side by side.
void NetworkSort::neighbours(llvm::function_ref<void(Rows &)> steps) {
  pass(
      [&](Value group) {
        Rows places;
        for (unsigned i = 0; i < kRows; ++i)
          places.push_back(k.add(k.mul(group, k.index(kRows)), k.index(i)));
        return places;
      },
      steps);
}

/// Puts the rows of each eight in order, by the shortest network of eight: 19 comparators.
void NetworkSort::sortBlocks() {
  static constexpr unsigned kShortest[][2] = {
      {0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3},
      {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
  neighbours([&](Rows &held) {
    for (auto [low, high] : kShortest)
      order(held, low, high);
  });
}

/// Runs the steps at half, a quarter and an eighth of the size on blocks of 2^logSize rows, at
/// least 16, whose halves are sorted.
void NetworkSort::mergeRows(Value logSize) {
  Value logApart = minus(logSize, k.index(kSteps)), apart = shiftLeft(k.index(1), logApart);
  Value last = minus(shiftLeft(k.index(1), logSize), k.index(1));
  pass(
      [&](Value group) {
        Value block = shiftRight(group, logApart);
        Value first = shiftLeft(block, logSize);
        Value within = minus(group, shiftLeft(block, logApart));
        // Four rows of the lower half, and behind them their mirror images, in order too.
        Rows low, high;
        for (unsigned i = 0; i < kRows / 2; ++i) {
          Value at = k.add(within, k.mul(apart, k.index(i)));
          low.push_back(k.add(first, at));
          high.push_back(k.add(first, minus(last, at)));
        }
        low.append(high.rbegin(), high.rend());
        return low;
      },
      [&](Rows &held) {
        for (unsigned i = 0; i < kRows / 2; ++i)
          order(held, i, kRows - 1 - i);
        halveQuarters(held);
      });
}

/// Runs the steps across lanes and at half and a quarter of the rows on blocks of all rows in
/// 2^logLanes lanes, at least two, whose halves are sorted.
void NetworkSort::mergeLanes(unsigned logLanes) {
  unsigned lanes = 1u << logLanes;
  Value quarter = shiftRight(rows, k.index(2)), last = minus(rows, k.index(1));
  pass(
      [&](Value group) {
        Rows low, high;
        for (unsigned i = 0; i < kRows / 2; ++i) {
          low.push_back(k.add(group, k.mul(quarter, k.index(i))));
          high.push_back(minus(last, low.back()));
        }
        low.append(high.rbegin(), high.rend());
        return low;
      },
      [&](Rows &held) {
        for (unsigned i = 0; i < kRows / 2; ++i) {
          Value own = held[i], mirrored = swapLanes(held[kRows - 1 - i], lanes - 1);
          Value low = arith::MinUIOp::create(k.builder, k.loc, own, mirrored);
          Value high = arith::MaxUIOp::create(k.builder, k.loc, own, mirrored);
          held[i] = chooseLanes(low, high, lanes / 2);
          held[kRows - 1 - i] = swapLanes(chooseLanes(high, low, lanes / 2), lanes - 1);
        }
        for (unsigned bit = lanes / 4; bit > 0; bit /= 2)
          for (Value &own : held) {
            Value other = swapLanes(own, bit);
            own = chooseLanes(arith::MinUIOp::create(k.builder, k.loc, own, other),
                              arith::MaxUIOp::create(k.builder, k.loc, own, other), bit);
          }
        halveQuarters(held);
      });
}

/// The steps of rows 2^logApart apart, of half of that, ... of neighbours; none where logApart is
/// -1.
void NetworkSort::halve(Value logApart) {
  Value steps = k.add(logApart, k.index(1)), whole = k.divide(steps, k.index(kSteps));
  Value left = k.fold(k.index(0), whole, 1, {steps}, [&](Value, ValueRange carried) {
                  Value logThis = minus(carried[0], k.index(kSteps));
                  Value apart = shiftLeft(k.index(1), logThis);
                  pass(
                      [&](Value group) {
                        Value block = shiftRight(group, logThis);
                        Value within = minus(group, shiftLeft(block, logThis));
                        Value first = k.add(shiftLeft(block, carried[0]), within);
                        Rows places;
                        for (unsigned i = 0; i < kRows; ++i)
                          places.push_back(k.add(first, k.mul(apart, k.index(i))));
                        return places;
                      },
                      [&](Rows &held) {
                        for (unsigned i = 0; i < kRows / 2; ++i)
                          order(held, i, i + kRows / 2);
                        halveQuarters(held);
                      });
                  return SmallVector<Value>{logThis};
                }).front();
  auto isLeft = [&](int64_t count) {
    return arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::eq, left, k.index(count));
  };
  k.when(isLeft(2), [&] { neighbours([&](Rows &held) { halveQuarters(held); }); });
  k.when(isLeft(1), [&] {
    neighbours([&](Rows &held) {
      for (unsigned i = 0; i < kRows; i += 2)
        order(held, i, i + 1);
    });
  });
}

/// The first pass of each size differs, and for those that cross lanes is code of its own; the
/// others are the same.
void NetworkSort::sort() {
  sortBlocks();
  unsigned logLanes = llvm::Log2_64(kLanes);
  Value end = k.add(logRows, k.index(1 + logLanes));
  k.forEach(k.index(kSteps + 1), end, 1, [&](Value logSize) {
    Value isOfRows =
        arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ule, logSize, logRows);
    k.when(isOfRows, [&] { mergeRows(logSize); });
    for (unsigned lanes = 1; lanes <= logLanes; ++lanes)
      k.when(arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::eq, logSize,
                                   k.add(logRows, k.index(lanes))),
             [&] { mergeLanes(lanes); });
    halve(minus(
        arith::SelectOp::create(k.builder, k.loc, isOfRows, minus(logSize, k.index(1)), logRows),
        k.index(kSteps)));
  });
}

} // namespace dlc::codegen
