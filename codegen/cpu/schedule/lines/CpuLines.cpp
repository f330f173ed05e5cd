//===- CpuLines.cpp - The lines of a tensor as tiles of a CPU kernel ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/lines/CpuLines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

void CpuLines::bindLines(Value tile, int64_t linesOfTile, AffineExpr length) {
  dl::Dims dims = dl::getDims(x);
  for (auto [number, extent] : llvm::enumerate(dims)) {
    AffineExpr variable = k.math.addLoop(number == work.dim ? length : extent);
    indices.push_back(variable);
    if (number == work.dim) {
      along = variable;
      continue;
    }
    bool isCut = linesOfTile > 1 && number + 1 == dims.size();
    lineDims.push_back(isCut ? k.math.addLoop(extent.ceilDiv(linesOfTile)) : variable);
    lineExtents.push_back(isCut ? dl::normalize(extent.ceilDiv(linesOfTile)) : extent);
  }
  k.delinearize(tile, lineDims, lineExtents);
  if (linesOfTile > 1)
    k.math.bindLoop(indices.back(), k.value(lineDims.back() * linesOfTile));
}

Value CpuLines::linesLeft(int64_t linesOfTile) {
  Value first = k.value(lineDims.back() * linesOfTile);
  return arith::SubIOp::create(k.builder, k.loc, k.value(dl::getDims(x).back()), first);
}

Value lanesFrom(CpuKernel &k, Value first, int64_t lanes, Type type) {
  SmallVector<APInt> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.emplace_back(type.getIntOrFloatBitWidth(), lane);
  auto shape = VectorType::get({lanes}, type);
  Value offsets = arith::ConstantOp::create(k.builder, k.loc, DenseElementsAttr::get(shape, steps));
  Value begin = arith::IndexCastOp::create(k.builder, k.loc, type, first);
  return arith::AddIOp::create(k.builder, k.loc, k.splat(begin, lanes), offsets);
}

Value sumsOfLanes(CpuKernel &k, Value lanes) {
  auto shape = cast<VectorType>(lanes.getType());
  int64_t count = shape.getNumElements();
  Value zeros = arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(shape));
  for (int64_t step = 1; step < count; step *= 2) {
    SmallVector<int64_t> from;
    for (int64_t lane = 0; lane < count; ++lane)
      from.push_back(lane < step ? count : lane - step);
    Value moved = vector::ShuffleOp::create(k.builder, k.loc, lanes, zeros, from);
    lanes = arith::AddIOp::create(k.builder, k.loc, lanes, moved);
  }
  return lanes;
}

CpuLaunch CpuLines::launch(int64_t linesOfTile, AffineExpr scratch) {
  SmallVector<AffineExpr> tiles;
  dl::Dims dims = dl::getDims(x);
  for (auto [number, extent] : llvm::enumerate(dims))
    if (number != work.dim)
      tiles.push_back(linesOfTile > 1 && number + 1 == dims.size() ? extent.ceilDiv(linesOfTile)
                                                                   : extent);
  CpuLaunch asked{dl::product(tiles, k.builder.getContext())};
  asked.scratch = scratch;
  return asked;
}

Value CpuLines::load(Value memory, Value at) {
  return memref::LoadOp::create(k.builder, k.loc, memory, at);
}
void CpuLines::store(Value value, Value memory, Value at) {
  memref::StoreOp::create(k.builder, k.loc, value, memory, at);
}

} // namespace dlc::codegen
