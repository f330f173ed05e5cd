//===- AttentionProducts.cpp - Scores, weights and sums of attention on the CPU -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/attention/AttentionSchedule.h"
#include "codegen/cpu/schedule/attention/AttentionSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace dlc::codegen {

/// Keys and columns of values that registers take at once, at most. More of them, and loops that
/// are written out, bring more bytes of code than speed.
static constexpr int64_t kMostKeysAtOnce = 8, kMostColumnsAtOnce = 12;

Value AttentionSchedule::exponential(Value x) { return math::ExpOp::create(k.builder, k.loc, x); }

Value AttentionSchedule::scoreAt(const Group &group, Value key, int64_t vector) {
  return k.add(k.mul(key, k.index(group.vectors * lanes)), k.index(vector * lanes));
}

/// Keys after the last one are multiplied as well: their scores are not read.
void AttentionSchedule::multiplyKeys(const Group &group) {
  int64_t atOnce = std::min(kMostKeysAtOnce, sumsOf(group.vectors));
  k.forEach(k.index(0), group.numKeys, atOnce, [&](Value first) {
    auto step = [&](Value at, SmallVector<Value> totals) {
      SmallVector<Value> rows;
      for (int64_t v = 0; v < group.vectors; ++v)
        rows.push_back(loadRows(
            query, k.add(k.mul(at, k.index(rowsApart())), k.add(group.first, k.index(v * lanes)))));
      for (int64_t i = 0; i < atOnce; ++i) {
        Value line = k.add(k.mul(first, k.index(keyApart())), k.index(i * keyApart()));
        Value element = repeated(keys, k.add(line, at));
        for (int64_t v = 0; v < group.vectors; ++v) {
          Value &total = totals[i * group.vectors + v];
          total = math::FmaOp::create(k.builder, k.loc, element, rows[v], total);
        }
      }
      return totals;
    };
    SmallVector<Value> totals(atOnce * group.vectors, number(0));
    totals = k.fold(k.index(0), k.index(width), 1, totals, [&](Value at, ValueRange carried) {
      return step(at, SmallVector<Value>(carried));
    });
    for (int64_t i = 0; i < atOnce; ++i)
      for (int64_t v = 0; v < group.vectors; ++v)
        storeRows(totals[i * group.vectors + v], weights,
                  scoreAt(group, k.add(first, k.index(i)), v));
  });
}

void AttentionSchedule::mapScoresOneByOne(const Group &group, Value firstKey) {
  Value rest = k.builder.createOrFold<arith::SubIOp>(k.loc, rowCount, group.first);
  Value count = k.smaller(rest, k.index(group.vectors * lanes));
  k.forEach(k.index(0), group.numKeys, 1, [&](Value i) {
    k.forEach(k.index(0), count, 1, [&](Value lane) {
      k.math.bindLoop(key, k.add(firstKey, i));
      bindRow(k.add(group.first, lane));
      Value at = k.add(scoreAt(group, i, 0), lane);
      Value score = memref::LoadOp::create(k.builder, k.loc, weights, at);
      score = scores.emitResult(k.builder, scoreIndices, score);
      memref::StoreOp::create(k.builder, k.loc, score, weights, at);
    });
  });
}

SmallVector<Value> AttentionSchedule::finishScores(const Group &group, Value firstKey) {
  bool isScalar = scores.needsScalarAlong(row, scoreIndices, depth);
  if (isScalar)
    mapScoresOneByOne(group, firstKey);
  Value none = number(-std::numeric_limits<double>::infinity());
  SmallVector<Value> before, ends;
  for (int64_t v = 0; v < group.vectors; ++v) {
    Value at = k.add(group.first, k.index(v * lanes));
    before.push_back(loadRows(largest, at));
    if (!lastSeen)
      continue;
    // In each lane the first key of the block that its row does not see.
    Value first = k.builder.createOrFold<arith::SubIOp>(k.loc, endOfSeen(at), firstKey);
    int64_t step = k.math.stepAlong(lastSeen, row).value_or(0);
    SmallVector<int32_t> steps;
    for (int64_t lane = 0; lane < lanes; ++lane)
      steps.push_back(static_cast<int32_t>(lane * step));
    // Large numbers must not wrap.
    Value bounded = k.smaller(first, k.index(2 * kBlockKeys));
    Value narrow =
        arith::IndexCastOp::create(k.builder, k.loc, k.builder.getI32Type(), bounded).getResult();
    auto type = VectorType::get({lanes}, k.builder.getI32Type());
    Value apart =
        arith::ConstantOp::create(k.builder, k.loc, DenseElementsAttr::get(type, ArrayRef(steps)));
    ends.push_back(arith::AddIOp::create(k.builder, k.loc, k.splat(narrow, lanes), apart));
  }
  return k.fold(k.index(0), group.numKeys, 1, before, [&](Value i, ValueRange carried) {
    SmallVector<Value> most;
    k.math.bindLoop(key, k.add(firstKey, i));
    for (int64_t v = 0; v < group.vectors; ++v) {
      Value at = scoreAt(group, i, v), score = loadRows(weights, at);
      if (!isScalar) {
        bindRow(k.add(group.first, k.index(v * lanes)));
        k.vector = VectorLoop{row, lanes, group.mask};
        score = scores.emitResult(k.builder, scoreIndices, score);
        k.vector.reset();
      }
      if (lastSeen) {
        Value position =
            arith::IndexCastOp::create(k.builder, k.loc, k.builder.getI32Type(), i).getResult();
        Value isSeen = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::slt,
                                             k.splat(position, lanes), ends[v]);
        score = arith::SelectOp::create(k.builder, k.loc, isSeen, score, none);
      }
      storeRows(score, weights, at);
      most.push_back(arith::MaximumFOp::create(k.builder, k.loc, carried[v], score));
    }
    return most;
  });
}

SmallVector<Value> AttentionSchedule::formWeights(const Group &group, ValueRange most) {
  Value none = number(-std::numeric_limits<double>::infinity()), zero = number(0);
  SmallVector<Value> base, shrink;
  for (int64_t v = 0; v < group.vectors; ++v) {
    // Where all scores are -inf the weights are 0, and so is their total.
    Value isNone =
        arith::CmpFOp::create(k.builder, k.loc, arith::CmpFPredicate::OEQ, most[v], none);
    base.push_back(arith::SelectOp::create(k.builder, k.loc, isNone, zero, most[v]));
    Value at = k.add(group.first, k.index(v * lanes));
    shrink.push_back(
        exponential(arith::SubFOp::create(k.builder, k.loc, loadRows(largest, at), base[v])));
    storeRows(most[v], largest, at);
  }
  SmallVector<Value> added(group.vectors, zero);
  added = k.fold(k.index(0), group.numKeys, 1, added, [&](Value i, ValueRange carried) {
    SmallVector<Value> next;
    for (int64_t v = 0; v < group.vectors; ++v) {
      Value at = scoreAt(group, i, v);
      Value weight =
          exponential(arith::SubFOp::create(k.builder, k.loc, loadRows(weights, at), base[v]));
      storeRows(weight, weights, at);
      next.push_back(arith::AddFOp::create(k.builder, k.loc, carried[v], weight));
    }
    return next;
  });
  for (int64_t v = 0; v < group.vectors; ++v) {
    Value at = k.add(group.first, k.index(v * lanes));
    storeRows(math::FmaOp::create(k.builder, k.loc, loadRows(totals, at), shrink[v], added[v]),
              totals, at);
  }
  return shrink;
}

/// Columns that registers take at once: as many as divide them all, where those are not much fewer
/// than fit.
static int64_t columnsAtOnce(int64_t columns, int64_t most) {
  for (int64_t count = most; count > most / 2; --count)
    if (columns % count == 0)
      return count;
  return most;
}

void AttentionSchedule::multiplyValues(const Group &group, ValueRange shrink) {
  int64_t atOnce = columnsAtOnce(columns, std::min(kMostColumnsAtOnce, sumsOf(group.vectors)));
  auto multiply = [&](Value first, int64_t count) {
    auto placeOf = [&](int64_t column, int64_t v) {
      Value line = k.mul(k.add(first, k.index(column)), k.index(rowsApart()));
      return k.add(line, k.add(group.first, k.index(v * lanes)));
    };
    SmallVector<Value> totals;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t v = 0; v < group.vectors; ++v)
        totals.push_back(
            arith::MulFOp::create(k.builder, k.loc, loadRows(sums, placeOf(i, v)), shrink[v]));
    totals = k.fold(k.index(0), group.numKeys, 1, totals, [&](Value at, ValueRange carried) {
      SmallVector<Value> rows, next(carried);
      for (int64_t v = 0; v < group.vectors; ++v)
        rows.push_back(loadRows(weights, scoreAt(group, at, v)));
      Value line = k.add(k.mul(at, k.index(columns)), first);
      for (int64_t i = 0; i < count; ++i) {
        Value element = repeated(values, k.add(line, k.index(i)));
        for (int64_t v = 0; v < group.vectors; ++v) {
          Value &total = next[i * group.vectors + v];
          total = math::FmaOp::create(k.builder, k.loc, element, rows[v], total);
        }
      }
      return next;
    });
    for (int64_t i = 0; i < count; ++i)
      for (int64_t v = 0; v < group.vectors; ++v)
        storeRows(totals[i * group.vectors + v], sums, placeOf(i, v));
  };
  int64_t whole = columns / atOnce * atOnce;
  k.forEach(k.index(0), k.index(whole), atOnce, [&](Value first) { multiply(first, atOnce); });
  if (whole < columns)
    multiply(k.index(whole), columns - whole);
}

} // namespace dlc::codegen
