//===- AttentionSchedule.cpp - Tiles and blocks of keys of attention on the CPU -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/attention/AttentionSchedule.h"

#include "codegen/cpu/schedule/attention/AttentionSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace dlc::codegen {

/// Rows of a tile at most: what is copied of a block of keys serves them all.
static constexpr int64_t kMostTileRows = 128;

/// Whole groups of rows, in tiles of about the same size. Tiles are those of all instruction sets.
static int64_t tileRowsFor(std::optional<int64_t> rows) {
  if (!rows || *rows <= 0)
    return kMostTileRows;
  int64_t tiles = llvm::divideCeil(*rows, kMostTileRows);
  return llvm::alignTo(llvm::divideCeil(*rows, tiles), 2 * kPanel);
}

AttentionSchedule::AttentionSchedule(CpuKernel &kernel, const dl::AttentionParts &parts)
    : k(kernel), a(parts), scores(k.emitterOf(a.scoresOp, a.scores)), product(scores.getNest()),
      sum(k.emitter.getNest()), dims(*dimsOfAttention(a, static_cast<bool>(a.lastSeen))),
      lanes(k.lanes()), mostSums(k.isa >= IsaVariant::avx512 ? 24 : 12) {
  for (AffineExpr extent : sum.parallel)
    y.push_back(k.math.addLoop(extent));
  numKeys = sum.reduction.front();
  key = k.math.addLoop(numKeys);
  depth = k.math.addLoop(product.reduction.front());
  row = y[dims.row];
  column = y[dims.column];
  numRows = sum.parallel[dims.row];
  width = *dl::asConstant(product.reduction.front());
  columns = *dl::asConstant(sum.parallel[dims.column]);
  tileRows = tileRowsFor(k.math.usual(numRows));

  sumLoops = y;
  sumLoops.push_back(key);
  for (AffineExpr expr : sum.terms[a.weightsTerm].map.getResults())
    scoreIndices.push_back(k.math.simplify(expr.replaceDims(sumLoops)));
  scoreLoops = scoreIndices;
  scoreLoops.push_back(depth);
  if (a.lastSeen)
    lastSeen = k.math.simplify(a.lastSeen.replaceDims(scoreIndices));

  query = scratch(width * rowsApart());
  sums = scratch(columns * rowsApart());
  turned = scratch(std::max(width, columns) * tileRows);
  keys = scratch(kBlockKeys * keyApart());
  values = scratch(kBlockKeys * columns);
  weights = scratch(kBlockKeys * 2 * kPanel);
  largest = scratch(tileRows);
  totals = scratch(tileRows);
}

Value AttentionSchedule::scratch(int64_t elements) {
  Value view = k.scratchView(k.builder.getF32Type(), elements, scratchBytes);
  scratchBytes += llvm::alignTo(elements * 4, 64);
  return view;
}

//===- Values ---------------------------------------------------------------------------------===//

Value AttentionSchedule::number(double value) {
  return arith::ConstantOp::create(
      k.builder, k.loc,
      DenseElementsAttr::get(vectorType(), k.builder.getF32FloatAttr(static_cast<float>(value))));
}

Value AttentionSchedule::loadRows(Value from, Value at) {
  return vector::LoadOp::create(k.builder, k.loc, vectorType(), from, at);
}

void AttentionSchedule::storeRows(Value rows, Value to, Value at) {
  vector::StoreOp::create(k.builder, k.loc, rows, to, at);
}

Value AttentionSchedule::repeated(Value from, Value at) {
  return k.splat(memref::LoadOp::create(k.builder, k.loc, from, at), lanes);
}

Value AttentionSchedule::endOfSeen(Value rowOfTile) {
  if (!lastSeen)
    return {};
  bindRow(rowOfTile);
  return k.add(k.value(lastSeen), k.index(1));
}

//===- Operands -------------------------------------------------------------------------------===//

void AttentionSchedule::copyLine(BodyEmitter &from, unsigned term, ArrayRef<AffineExpr> loops,
                                 AffineExpr along, int64_t length, Value to, Value at) {
  auto copy = [&] {
    Value value = from.emitTermRead(k.builder, term, loops);
    Value place = k.add(at, k.value(along));
    if (!k.vector) {
      memref::StoreOp::create(k.builder, k.loc, value, to, place);
      return;
    }
    if (!isa<VectorType>(value.getType()))
      value = k.splat(value, k.vector->lanes);
    if (k.vector->mask)
      vector::MaskedStoreOp::create(k.builder, k.loc, to, place, k.vector->mask, value);
    else
      vector::StoreOp::create(k.builder, k.loc, value, to, place);
  };
  if (!from.termNeedsScalarAlong(along, term, loops)) {
    k.forVector(along, k.index(0), k.index(length), copy);
    return;
  }
  k.forEach(k.index(0), k.index(length), 1, [&](Value i) {
    k.math.bindLoop(along, i);
    copy();
  });
}

void AttentionSchedule::copyQuery() {
  k.forEach(k.index(0), rowCount, 1, [&](Value i) {
    bindRow(i);
    copyLine(scores, a.queryTerm, scoreLoops, depth, width, turned, k.mul(i, k.index(width)));
  });
  k.copyTurned({turned, k.index(0), k.index(width)}, {query, k.index(0), k.index(rowsApart())},
               rowCount, k.index(width));
}

void AttentionSchedule::clearSums() {
  k.forEach(k.index(0), k.index(columns * rowsApart()), lanes,
            [&](Value i) { storeRows(number(0), sums, i); });
  k.forEach(k.index(0), k.index(tileRows), lanes, [&](Value i) {
    storeRows(number(-std::numeric_limits<double>::infinity()), largest, i);
    storeRows(number(0), totals, i);
  });
}

//===- Tiles ----------------------------------------------------------------------------------===//

void AttentionSchedule::emitBlock(Value firstKey, Value endKey) {
  Value count = k.smaller(k.builder.createOrFold<arith::SubIOp>(k.loc, endKey, firstKey),
                          k.index(kBlockKeys));
  k.forEach(k.index(0), count, 1, [&](Value i) {
    k.math.bindLoop(key, k.add(firstKey, i));
    copyLine(scores, a.keyTerm, scoreLoops, depth, width, keys, k.mul(i, k.index(keyApart())));
    copyLine(k.emitter, a.valueTerm, sumLoops, column, columns, values, k.mul(i, k.index(columns)));
  });
  int64_t groupRows = 2 * lanes;
  Value whole = k.mul(k.divide(rowCount, k.index(groupRows)), k.index(groupRows));
  k.forEach(k.index(0), whole, groupRows,
            [&](Value first) { emitGroup({first, 2, {}, {}}, firstKey, count); });
  k.forEach(whole, rowCount, lanes, [&](Value first) {
    Value rest = k.builder.createOrFold<arith::SubIOp>(k.loc, rowCount, first);
    emitGroup({first, 1, k.laneMask(rest, lanes), {}}, firstKey, count);
  });
}

void AttentionSchedule::emitGroup(Group group, Value firstKey, Value blockKeys) {
  group.numKeys = blockKeys;
  auto emit = [&] {
    multiplyKeys(group);
    SmallVector<Value> most = finishScores(group, firstKey);
    multiplyValues(group, formWeights(group, most));
  };
  if (!lastSeen)
    return emit();
  Value last = k.smaller(k.add(group.first, k.index(group.vectors * lanes)), rowCount);
  Value end = endOfSeen(k.builder.createOrFold<arith::SubIOp>(k.loc, last, k.index(1)));
  Value seen = k.builder.createOrFold<arith::SubIOp>(k.loc, end, firstKey);
  group.numKeys = k.smaller(blockKeys, seen);
  k.when(k.less(k.index(0), seen), emit);
}

void AttentionSchedule::emitResults() {
  Value one = number(1);
  k.forEach(k.index(0), rowCount, lanes, [&](Value i) {
    // A sum over no keys is 0.
    Value total = loadRows(totals, i);
    Value hasKeys = k.less(k.index(0), k.value(numKeys));
    total = arith::SelectOp::create(k.builder, k.loc, hasKeys, total, one);
    Value factor = arith::DivFOp::create(k.builder, k.loc, one, total);
    k.forEach(k.index(0), k.index(columns), 1, [&](Value c) {
      Value at = k.add(k.mul(c, k.index(rowsApart())), i);
      storeRows(arith::MulFOp::create(k.builder, k.loc, loadRows(sums, at), factor), sums, at);
    });
  });
  k.copyTurned({sums, k.index(0), k.index(rowsApart())}, {turned, k.index(0), k.index(columns)},
               k.index(columns), rowCount);
  bool isScalar = k.emitter.needsScalarAlong(column, y, key);
  k.forEach(k.index(0), rowCount, 1, [&](Value i) {
    bindRow(i);
    Value line = k.mul(i, k.index(columns));
    auto store = [&] {
      Value at = k.add(line, k.value(column)), total;
      if (!k.vector) {
        total = memref::LoadOp::create(k.builder, k.loc, turned, at);
      } else {
        auto type = VectorType::get({k.vector->lanes}, k.builder.getF32Type());
        if (k.vector->mask) {
          Value zero = arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(type));
          total = vector::MaskedLoadOp::create(k.builder, k.loc, type, turned, at, k.vector->mask,
                                               zero);
        } else {
          total = vector::LoadOp::create(k.builder, k.loc, type, turned, at);
        }
      }
      k.store(k.emitter.emitResult(k.builder, y, total), k.emitter.resultOffset(y));
    };
    if (!isScalar) {
      k.forVector(column, k.index(0), k.index(columns), store);
      return;
    }
    k.forEach(k.index(0), k.index(columns), 1, [&](Value c) {
      k.math.bindLoop(column, c);
      store();
    });
  });
}

void AttentionSchedule::emitTile() {
  copyQuery();
  clearSums();
  Value end = k.value(numKeys);
  if (lastSeen)
    end = k.smaller(end,
                    endOfSeen(k.builder.createOrFold<arith::SubIOp>(k.loc, rowCount, k.index(1))));
  k.forEach(k.index(0), end, kBlockKeys, [&](Value first) { emitBlock(first, end); });
  emitResults();
}

CpuLaunch AttentionSchedule::run() {
  SmallVector<AffineExpr> variables, extents;
  for (unsigned dim = 0; dim < y.size(); ++dim)
    if (dim != dims.row && dim != dims.column) {
      variables.push_back(y[dim]);
      extents.push_back(sum.parallel[dim]);
    }
  extents.push_back(numRows.ceilDiv(tileRows));
  variables.push_back(k.math.addLoop(extents.back()));
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    k.delinearize(tile, variables, extents);
    firstRow = k.value(variables.back() * tileRows);
    rowCount = k.smaller(k.builder.createOrFold<arith::SubIOp>(k.loc, k.value(numRows), firstRow),
                         k.index(tileRows));
    emitTile();
  });
  return {dl::normalize(dl::product(extents, k.builder.getContext())), scratchBytes};
}

CpuLaunch scheduleAttention(CpuKernel &kernel) {
  return AttentionSchedule(kernel, *kernel.attention).run();
}

} // namespace dlc::codegen
