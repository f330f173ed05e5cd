//===- ContractionPairs.cpp - Sums of products of pairs of 16-bit integers -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vpmaddwd multiplies two pairs of i16 and adds the products in i32, exactly for all that i16 holds (wrapping as i32 does), so
// that one instruction and an addition take two steps of a sum. A pair of the first operand lies in memory as 32 bits, which one
// load gives to all lanes. The second operand stays in bytes in its panels [N/16][K][16]. Two rows of a panel are interleaved and
// widened when they are read; where a chunk has several blocks of rows, once for all of them, into scratch memory.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cpu/ContractionSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

//===- Panels in scratch memory ---------------------------------------------------------------------===//

void ContractionSchedule::planWidePanels() {
  int64_t steps = 1; // of a panel, each row of pairs whole
  for (unsigned dim : parts.reduction) {
    auto extent = dl::asConstant(nest.reduction[dim]);
    if (!parts.pairs || !extent || *extent > kMostWideSteps)
      return;
    steps *= dim == parts.reduction.back() ? llvm::alignTo(*extent, 2) : *extent;
  }
  if (steps > kMostWideSteps || chunkRows < kBlocksOfWidePanel * rowsFor(1))
    return;
  // Equal for all instruction sets.
  Type i16 = k.builder.getI16Type();
  int64_t begin = llvm::alignTo(scratchBytes, 64), elements = groupPanels * steps * kPanel;
  widePanels = k.scratchView(i16, elements, begin);
  scratchBytes = begin + elements * 2;
}

AffineExpr ContractionSchedule::wideOffset(int64_t column) const {
  AffineExpr step = k.math.constant(0);
  int64_t steps = 1;
  for (unsigned dim : parts.reduction) {
    int64_t extent = *dl::asConstant(nest.reduction[dim]);
    if (dim == parts.reduction.back())
      extent = llvm::alignTo(extent, 2);
    step = step * extent + reductionAt[dim];
    steps *= extent;
  }
  return k.math.simplify((step + column / kPanel * steps) * kPanel + column % kPanel * 2);
}

void ContractionSchedule::widenPanels(Value firstPanel, int64_t panels) {
  numVectors = panels * vectorsPerPanel();
  k.math.bindLoop(panel, firstPanel);
  // The second operand has no index of a row.
  Row row;
  row.parallel.assign(nest.parallel.size(), k.math.constant(0));
  for (auto [dim, variable] : llvm::zip(parts.batch, batch))
    row.parallel[dim] = variable;
  rows = {row};
  reductionAt = reduction;
  unsigned innermost = parts.reduction.back();
  auto store = [&](bool both) {
    for (auto [j, pairs] : llvm::enumerate(makePairsOfB(both)))
      vector::StoreOp::create(k.builder, k.loc, pairs, widePanels, k.value(wideOffset(j * lanes)));
  };
  auto walk = [&](auto &&self, unsigned depth) -> void {
    unsigned dim = parts.reduction[depth];
    int64_t extent = *dl::asConstant(nest.reduction[dim]);
    int64_t step = dim == innermost ? 2 : 1;
    k.forEach(k.index(0), k.index(extent / step * step), step, [&](Value at) {
      k.math.bindLoop(reduction[dim], at);
      if (dim == innermost)
        store(/*both=*/true);
      else
        self(self, depth + 1);
    });
    if (extent % step != 0) {
      reductionAt[dim] = k.math.constant(extent - 1);
      store(/*both=*/false);
      reductionAt[dim] = reduction[dim];
    }
  };
  walk(walk, 0);
}

//===- Sums -----------------------------------------------------------------------------------------===//

SmallVector<Value> ContractionSchedule::reducePairs(unsigned dim, SmallVector<Value> accs) {
  AffineExpr extent = nest.reduction[dim];
  auto steps = dl::asConstant(extent);
  auto takeAt = [&](AffineExpr at, ArrayRef<Value> from, bool both) {
    reductionAt[dim] = at;
    return pairStep(from, both);
  };
  int64_t done = 0; // of a constant number of steps
  if (!steps || *steps > 2 * kUnrolledSteps) {
    int64_t atOnce = 2;
    if (steps)
      done = *steps / atOnce * atOnce;
    Value whole =
        steps ? k.index(done) : k.mul(k.divide(k.value(extent), k.index(atOnce)), k.index(atOnce));
    accs = k.fold(k.index(0), whole, atOnce, accs, [&](Value at, ValueRange carried) {
      k.math.bindLoop(reduction[dim], at);
      SmallVector<Value> next(carried);
      for (int64_t step = 0; step < atOnce; step += 2)
        next = takeAt(reduction[dim] + step, next, /*both=*/true);
      return next;
    });
  }
  if (!steps) {
    Value isOdd = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ne,
                                        k.remainder(k.value(extent), k.index(2)), k.index(0));
    SmallVector<Type> types(accs.size(), accs.front().getType());
    return k.branch(
        isOdd, types, [&] { return takeAt(extent - 1, accs, /*both=*/false); },
        [&] { return accs; });
  }
  for (; done + 1 < *steps; done += 2)
    accs = takeAt(k.math.constant(done), accs, /*both=*/true);
  return done < *steps ? takeAt(k.math.constant(done), accs, /*both=*/false) : accs;
}

SmallVector<Value> ContractionSchedule::pairStep(ArrayRef<Value> accs, bool both) {
  StringRef name =
      k.isa == IsaVariant::avx512 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
  auto pairs = VectorType::get({2 * lanes}, k.builder.getI16Type());
  SmallVector<Value> b = readPairsOfB(both), next;
  for (auto [i, row] : llvm::enumerate(rows)) {
    Value a =
        vector::BitCastOp::create(k.builder, k.loc, pairs, k.splat(readPairOfA(row, both), lanes));
    for (int64_t j = 0; j < numVectors; ++j) {
      Value acc = accs[i * numVectors + j];
      Value products =
          LLVM::CallIntrinsicOp::create(k.builder, k.loc, acc.getType(),
                                        k.builder.getStringAttr(name), ValueRange{a, b[j]})
              .getResult(0);
      next.push_back(arith::AddIOp::create(k.builder, k.loc, acc, products));
    }
  }
  return next;
}

/// Two neighbours along the innermost loop as the halves of an i32, the first one below; or one, and 0.
Value ContractionSchedule::readPairOfA(const Row &row, bool both) {
  Type i16 = k.builder.getI16Type(), i32 = k.builder.getI32Type();
  auto low = [&] {
    return arith::ExtUIOp::create(k.builder, k.loc, i32, readStoredA(row)).getResult();
  };
  if (!both)
    return low();
  unsigned dim = parts.reduction.back();
  if (parts.pairsAreNeighbours && (row.source || !row.inside)) {
    Value buffer = row.source, at;
    if (row.source) {
      at = k.add(row.first, k.value(reductionAt[dim]));
    } else {
      buffer = k.input(cast<BlockArgument>(aTensor).getArgNumber());
      at = k.value(
          k.emitter.offset(cast<RankedTensorType>(aTensor.getType()), aIndices(row.parallel)));
    }
    Value pair = vector::LoadOp::create(k.builder, k.loc, VectorType::get({2}, i16), buffer, at);
    pair = vector::BitCastOp::create(k.builder, k.loc, VectorType::get({1}, i32), pair);
    return vector::ExtractOp::create(k.builder, k.loc, pair, 0);
  }
  Value first = low();
  AffineExpr at = reductionAt[dim];
  reductionAt[dim] = at + 1;
  Value second = low();
  reductionAt[dim] = at;
  Value bits = arith::ConstantOp::create(k.builder, k.loc, k.builder.getI32IntegerAttr(16));
  second = arith::ShLIOp::create(k.builder, k.loc, second, bits);
  return arith::OrIOp::create(k.builder, k.loc, first, second);
}

/// For each vector of a row of results the pairs of its columns.
SmallVector<Value> ContractionSchedule::readPairsOfB(bool both) {
  if (!widePanels)
    return makePairsOfB(both);
  SmallVector<Value> vectors;
  auto pairs = VectorType::get({2 * lanes}, k.builder.getI16Type());
  for (int64_t j = 0; j < numVectors; ++j)
    vectors.push_back(vector::LoadOp::create(k.builder, k.loc, pairs, widePanels,
                                             k.value(wideOffset(j * lanes))));
  return vectors;
}

/// The same from the panels as they are stored.
SmallVector<Value> ContractionSchedule::makePairsOfB(bool both) {
  unsigned dim = parts.reduction.back();
  Type i16 = k.builder.getI16Type();
  SmallVector<Value> vectors;
  Value first, second;
  for (int64_t j = 0; j < numVectors; ++j) {
    int64_t column = j * lanes % kPanel; // in its panel
    if (column == 0) {
      first = loadB(j * lanes, kPanel);
      AffineExpr at = reductionAt[dim];
      reductionAt[dim] = at + 1;
      second =
          both ? loadB(j * lanes, kPanel)
               : arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(first.getType()))
                     .getResult();
      reductionAt[dim] = at;
    }
    SmallVector<int64_t> order;
    for (int64_t lane = column; lane < column + lanes; ++lane)
      order.append({lane, kPanel + lane});
    Value pairs = vector::ShuffleOp::create(k.builder, k.loc, first, second, order);
    Type element = bType.getElementType();
    pairs = fromStorage(k.builder, k.loc, pairs, element);
    vectors.push_back(Scalar(k.builder, k.loc, pairs, scalarKind(element))
                          .convertTo(i16, ScalarKind::signedInt)
                          .value());
  }
  return vectors;
}

} // namespace dlc::codegen
