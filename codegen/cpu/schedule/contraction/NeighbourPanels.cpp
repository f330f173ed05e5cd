//===- NeighbourPanels.cpp - The second operand, neighbours side by side ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels [N/16][K][16] hold the columns of one step after another. What multiplies neighbours along
// K wants them side by side, for each column: the steps of a panel are interleaved when they are
// read. Bytes that become i16, and f16 and bf16 that become f32, are also widened then; where a
// chunk has several blocks of rows, once for all of them, into scratch memory, and so are the steps
// of loops that are shorter than the neighbours. Interleaving bytes each time costs less than
// reading them from there.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/contraction/ContractionSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Blocks of a chunk that make up for widening a panel into scratch memory first.
static constexpr int64_t kBlocksOfWidePanel = 3;
/// Steps of a sum whose widened panel still lies in the caches near the processor.
static constexpr int64_t kMostWideSteps = 8192;

/// Steps of a sum whose panels are worth asking for ahead: 8 KiB each.
static constexpr int64_t kLeastPrefetched = 512;
/// Blocks that share the panels at hand, among which the asking for the next ones is divided, at
/// least.
static constexpr int64_t kBlocksOfPrefetch = 4;

/// Where `count` is less than the neighbours that are multiplied at once, the others are 0.
SmallVector<Value> ContractionSchedule::readStepsOfB(int64_t count) {
  if (!widePanels)
    return makeStepsOfB(count);
  SmallVector<Value> vectors;
  auto type = VectorType::get({neighbours * lanes}, wideType());
  for (int64_t j = 0; j < numVectors; ++j)
    vectors.push_back(
        vector::LoadOp::create(k.builder, k.loc, type, widePanels, k.value(wideOffset(j * lanes))));
  return vectors;
}

SmallVector<Value> ContractionSchedule::makeStepsOfB(int64_t count) {
  if (neighbours == 4)
    return makeQuadsOfB(count);
  if (neighbours == 2)
    return parts.brainFloats ? makeBrainPairsOfB(count) : makePairsOfB(count);
  SmallVector<Value> vectors;
  for (int64_t j = 0; j < numVectors; ++j)
    vectors.push_back(parts.b ? computeB(j) : convertB(j));
  return vectors;
}

/// Pairs of bf16, by their bits; two steps of a panel are one vector.
SmallVector<Value> ContractionSchedule::makeBrainPairsOfB(int64_t count) {
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < kPanel; ++lane)
    order.append({lane, kPanel + lane});
  SmallVector<Value> vectors;
  for (int64_t j = 0; j < numVectors; ++j) {
    Value pairs;
    if (count == 2) {
      Value steps = loadB(j * kPanel, 2 * kPanel);
      pairs = vector::ShuffleOp::create(k.builder, k.loc, steps, steps, order);
    } else {
      Value step = loadB(j * kPanel, kPanel);
      Value zero =
          arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(step.getType()));
      pairs = vector::ShuffleOp::create(k.builder, k.loc, step, zero, order);
    }
    auto bits = VectorType::get({2 * kPanel}, k.builder.getI16Type());
    vectors.push_back(arith::BitcastOp::create(k.builder, k.loc, bits, pairs));
  }
  return vectors;
}

/// Pairs of i16.
SmallVector<Value> ContractionSchedule::makePairsOfB(int64_t count) {
  unsigned dim = parts.reduction.back();
  Type element = bType.getElementType();
  SmallVector<Value> vectors;
  Value first, second;
  for (int64_t j = 0; j < numVectors; ++j) {
    int64_t column = j * lanes % kPanel; // in its panel
    if (column == 0) {
      first = loadB(j * lanes, kPanel);
      AffineExpr at = reductionAt[dim];
      reductionAt[dim] = at + 1;
      second = count == 2 ? loadB(j * lanes, kPanel)
                          : arith::ConstantOp::create(k.builder, k.loc,
                                                      k.builder.getZeroAttr(first.getType()))
                                .getResult();
      reductionAt[dim] = at;
    }
    SmallVector<int64_t> order;
    for (int64_t lane = column; lane < column + lanes; ++lane)
      order.append({lane, kPanel + lane});
    Value pairs = vector::ShuffleOp::create(k.builder, k.loc, first, second, order);
    pairs =
        Scalar(k.builder, k.loc, fromStorage(k.builder, k.loc, pairs, element), scalarKind(element))
            .convertTo(k.builder.getI16Type(), ScalarKind::signedInt)
            .value();
    vectors.push_back(pairs);
  }
  return vectors;
}

/// Four bytes of each column; four steps of a panel are one vector.
SmallVector<Value> ContractionSchedule::makeQuadsOfB(int64_t count) {
  unsigned dim = parts.reduction.back();
  // First the columns of each quarter of a vector go there, then the bytes of each column.
  SmallVector<int64_t> quarters, columns;
  for (int64_t at = 0; at < 4 * kPanel; ++at) {
    int64_t quarter = at / 16, line = at / 4 % 4, place = at % 4;
    quarters.push_back(line * kPanel + quarter * 4 + place);
    columns.push_back(quarter * 16 + place * 4 + line);
  }
  SmallVector<Value> vectors;
  for (int64_t j = 0; j < numVectors; ++j) {
    Value steps;
    if (count == 4) {
      steps = loadB(j * kPanel, 4 * kPanel);
    } else {
      auto type = VectorType::get({kPanel}, k.builder.getI8Type());
      SmallVector<Value> each(
          4, arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(type)));
      AffineExpr at = reductionAt[dim];
      for (int64_t step = 0; step < count; ++step) {
        reductionAt[dim] = at + step;
        each[step] = loadB(j * kPanel, kPanel);
      }
      reductionAt[dim] = at;
      auto joined = [&](Value first, Value second) {
        int64_t length = cast<VectorType>(first.getType()).getNumElements();
        return vector::ShuffleOp::create(k.builder, k.loc, first, second,
                                         llvm::to_vector(llvm::seq<int64_t>(0, 2 * length)))
            .getResult();
      };
      steps = joined(joined(each[0], each[1]), joined(each[2], each[3]));
    }
    steps = vector::ShuffleOp::create(k.builder, k.loc, steps, steps, quarters);
    vectors.push_back(vector::ShuffleOp::create(k.builder, k.loc, steps, steps, columns));
  }
  return vectors;
}

void ContractionSchedule::planPrefetch(Value firstRow, Value row, int64_t panels,
                                       int64_t blockRows) {
  int64_t steps = 1;
  for (unsigned dim : parts.reduction)
    steps *= dl::asConstant(nest.reduction[dim]).value_or(0);
  int64_t blocks = llvm::divideCeil(chunkRows, blockRows);
  if (neighbours != 4 || widePanels || steps < kLeastPrefetched || blocks < kBlocksOfPrefetch ||
      dl::asConstant(nest.reduction[parts.reduction.back()]) != steps)
    return;
  SmallVector<AffineExpr> loops(nest.numLoops(), k.math.constant(0)), indices;
  for (auto [dim, variable] : llvm::zip(parts.batch, batch))
    loops[dim] = variable;
  loops[parts.column] = (panel + panels) * kPanel;
  for (AffineExpr index : nest.terms[1].map.getResults())
    indices.push_back(k.math.simplify(index.replaceDims(loops)));
  prefetchStep = llvm::divideCeil(panels * kPanel, blocks);
  Value block = k.builder.createOrFold<arith::SubIOp>(k.loc, row, firstRow);
  block = k.divide(block, k.index(blockRows));
  prefetchFrom = k.add(k.value(k.math.simplify(k.emitter.offset(bType, indices))),
                       k.mul(block, k.index(prefetchStep * steps)));
}

void ContractionSchedule::prefetchB() {
  static constexpr int kIntoSecondCache = 2;
  if (!prefetchFrom || readsZeroPoint)
    return;
  Value at = k.mul(k.value(reductionAt[parts.reduction.back()]), k.index(prefetchStep));
  memref::PrefetchOp::create(k.builder, k.loc, k.input(parts.bInput), k.add(prefetchFrom, at),
                             /*isWrite=*/false, kIntoSecondCache, /*isDataCache=*/true);
}

//===- Panels in scratch memory ---------------------------------------------------------------===//

/// The panels at hand, for what reads the second operand alone: it has no index of a row.
void ContractionSchedule::bindPanels(Value firstPanel, int64_t panels) {
  numVectors = panels * vectorsPerPanel();
  k.math.bindLoop(panel, firstPanel);
  Row row;
  row.parallel.assign(nest.parallel.size(), k.math.constant(0));
  for (auto [dim, variable] : llvm::zip(parts.batch, batch))
    row.parallel[dim] = variable;
  rows = {row};
  reductionAt = reduction;
}

void ContractionSchedule::planWidePanels() {
  bool isWidened = neighbours == 2 || isShort() ||
                   (neighbours == 1 && !parts.b && isNarrowFloat(bType.getElementType()));
  if (!isWidened)
    return;
  int64_t steps = 1; // of a panel, the neighbours of each column whole
  for (unsigned dim : parts.reduction) {
    auto extent = dl::asConstant(nest.reduction[dim]);
    if (!extent || *extent > kMostWideSteps)
      return;
    steps *= dim == parts.reduction.back() ? llvm::alignTo(*extent, neighbours) : *extent;
  }
  if (steps > kMostWideSteps || chunkRows < kBlocksOfWidePanel * rowsFor(1))
    return;
  int64_t begin = llvm::alignTo(scratchBytes, 64), elements = mostPanelsAtOnce() * steps * kPanel;
  widePanels = k.scratchView(wideType(), elements, begin);
  scratchBytes = begin + elements * wideType().getIntOrFloatBitWidth() / 8;
}

AffineExpr ContractionSchedule::wideOffset(int64_t column) const {
  AffineExpr step = k.math.constant(0);
  int64_t steps = 1;
  for (unsigned dim : parts.reduction) {
    int64_t extent = *dl::asConstant(nest.reduction[dim]);
    if (dim == parts.reduction.back())
      extent = llvm::alignTo(extent, neighbours);
    step = step * extent + reductionAt[dim];
    steps *= extent;
  }
  return k.math.simplify((step + column / kPanel * steps) * kPanel + column % kPanel * neighbours);
}

void ContractionSchedule::widenPanels(Value firstPanel, int64_t panels) {
  bindPanels(firstPanel, panels);
  unsigned innermost = parts.reduction.back();
  auto store = [&](int64_t count) {
    for (auto [j, columns] : llvm::enumerate(makeStepsOfB(count)))
      vector::StoreOp::create(k.builder, k.loc, columns, widePanels,
                              k.value(wideOffset(j * lanes)));
  };
  auto walk = [&](auto &&self, unsigned depth) -> void {
    unsigned dim = parts.reduction[depth];
    int64_t extent = *dl::asConstant(nest.reduction[dim]);
    int64_t step = dim == innermost ? neighbours : 1;
    k.forEach(k.index(0), k.index(extent / step * step), step, [&](Value at) {
      k.math.bindLoop(reduction[dim], at);
      if (dim == innermost)
        store(neighbours);
      else
        self(self, depth + 1);
    });
    if (int64_t rest = extent % step) {
      reductionAt[dim] = k.math.constant(extent - rest);
      store(rest);
      reductionAt[dim] = reduction[dim];
    }
  };
  walk(walk, 0);
}

} // namespace dlc::codegen
