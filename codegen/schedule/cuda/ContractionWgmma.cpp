//===- ContractionWgmma.cpp - Matrix products on Hopper's tensor cores -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls contract_wgmma (dlc_contract90.cuh). TMA reads the operands where they lie, so nothing may be computed on their
// way in, each is one matrix with rows at multiples of 16 bytes, and there is no batch.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cuda/ContractionTemplate.h"

using namespace mlir;

namespace dlc::codegen {

/// What a launch and a map can count.
static constexpr int64_t kMostBlocks = INT32_MAX, kLongestSide = INT32_MAX - 4096;

namespace {
class WgmmaSchedule : ContractionTemplate {
public:
  explicit WgmmaSchedule(Contraction &c) : ContractionTemplate(c, c.storesAlongM()) {}

  /// Fills the kernel; 0 and nothing done where it cannot, else from how many blocks on it pays.
  int64_t run(bool always);

private:
  /// An operand as it lies in memory.
  struct Matrix {
    unsigned input;
    bool alongRows;
    AffineExpr step; // elements from one row (alongRows: step of k) to the next
  };
  std::optional<Matrix> matrixOf(unsigned term, const Side &side) const;
  /// Offsets of the result need no less than one row and column.
  bool hasSides() const;
  Attribute mapOf(const Matrix &matrix, const Side &side, int64_t boxRows) const;
  int64_t leastBlocks(const WgmmaTile &tile) const;
};
} // namespace

std::optional<WgmmaSchedule::Matrix> WgmmaSchedule::matrixOf(unsigned term,
                                                             const Side &side) const {
  auto input = plainInput(term, side);
  if (!input)
    return std::nullopt;
  SmallVector<AffineExpr> offsets;
  c.visitTerm(term, c.loops(), [&](AffineExpr offset) { offsets.push_back(offset); });
  if (offsets.size() != 1)
    return std::nullopt;
  AffineExpr row = side.groups.front().variable, depth = c.depth.groups.front().variable;
  AffineExpr zero = k.math.constant(0), one = k.math.constant(1);
  auto stepAlong = [&](AffineExpr variable) {
    llvm::DenseMap<AffineExpr, AffineExpr> unit = {{row, zero}, {depth, zero}};
    unit[variable] = one;
    return k.math.simplify(offsets.front().replace(unit));
  };
  AffineExpr alongRow = stepAlong(row), alongDepth = stepAlong(depth);
  if (!alongRow.isSymbolicOrConstant() || !alongDepth.isSymbolicOrConstant() ||
      k.math.simplify(row * alongRow + depth * alongDepth - offsets.front()) != zero)
    return std::nullopt;
  // TMA walks lines that begin at multiples of 16 bytes.
  auto isLine = [&](AffineExpr step) {
    return step.isMultipleOf(16 / elementBytes) && k.smallest(step).value_or(0) > 0;
  };
  if (alongDepth == one && isLine(alongRow))
    return Matrix{*input, false, alongRow};
  if (alongRow == one && isLine(alongDepth) && elementBytes == 2)
    return Matrix{*input, true, alongDepth};
  return std::nullopt;
}

bool WgmmaSchedule::hasSides() const {
  auto isSide = [&](const Side &side) {
    auto most = k.largest(side.extent);
    return side.groups.size() == 1 && most && *most <= kLongestSide;
  };
  return isSide(rows) && isSide(columns) && isSide(c.depth) && c.batch.groups.empty() &&
         k.smallest(c.depth.extent).value_or(0) > 0;
}

Attribute WgmmaSchedule::mapOf(const Matrix &matrix, const Side &side, int64_t boxRows) const {
  int64_t line =
      128 / elementBytes; // elements of a line of shared memory: also the steps of k in a slab
  AffineExpr across = side.extent, along = c.depth.extent;
  if (matrix.alongRows)
    std::swap(across, along);
  auto shape = AffineMapAttr::get(dl::dimsMap({along, across, matrix.step}, k.b.getContext()));
  return k.b.getDictionaryAttr(
      {k.b.getNamedAttr("input", k.b.getI64IntegerAttr(matrix.input)),
       k.b.getNamedAttr("shape", shape),
       k.b.getNamedAttr("box",
                        k.b.getDenseI64ArrayAttr({line, matrix.alongRows ? line : boxRows}))});
}

/// From how many tiles on this is estimated to be faster than mma.sync on the same GPU, rows growing; 0: never.
int64_t WgmmaSchedule::leastBlocks(const WgmmaTile &tile) const {
  ProductShape all = shape();
  auto isFaster = [&](int64_t tileRows) {
    ProductShape part = all;
    part.m = std::min(all.m, tileRows * WgmmaTile::m);
    return estimatedClocks(tile, part) <
           estimatedClocks(chooseTile(ProductUnit::tensorCores, part, kHopper), part, kHopper);
  };
  int64_t tiles = (all.m + WgmmaTile::m - 1) / WgmmaTile::m, least = 0;
  int64_t fewest = k.smallest(rows.extent).value_or(0) / WgmmaTile::m;
  for (; tiles > fewest && isFaster(tiles); --tiles)
    least = tiles;
  return least * ((all.n + tile.n - 1) / tile.n);
}

int64_t WgmmaSchedule::run(bool always) {
  if (!hasSides())
    return 0;
  auto a = matrixOf(swapped ? 1 : 0, rows), b = matrixOf(swapped ? 0 : 1, columns);
  if (!a || !b)
    return 0;
  WgmmaTile tile = chooseWgmmaTile(shape());
  int64_t least = always ? 1 : leastBlocks(tile), width = lanes();
  AffineExpr grid =
      dl::normalize(k.ceilDiv(rows.extent, WgmmaTile::m) * k.ceilDiv(columns.extent, tile.n));
  if (least == 0 || k.largest(grid).value_or(INT64_MAX) > kMostBlocks)
    return 0;

  Value maps[] = {k.tensorMap("a_map"), k.tensorMap("b_map")};
  SmallVector<Value> values = {k.index(rows.extent), k.index(columns.extent),
                               k.index(c.depth.extent), maps[0], maps[1]};
  SmallVector<StringRef> roles = {"m", "n", "total"};
  SmallVector<NamedAttribute> config;
  for (auto [name, value] :
       std::initializer_list<std::pair<StringRef, int64_t>>{{"tile_n", tile.n},
                                                            {"stages", tile.stages},
                                                            {"chunk", tile.chunk},
                                                            {"along_m", a->alongRows},
                                                            {"along_n", b->alongRows},
                                                            {"vector", width}})
    config.push_back(k.b.getNamedAttr(name, k.b.getI64IntegerAttr(value)));
  auto call = dlk::CallOp::create(k.b, k.loc, "contract_wgmma", "dlc_contract90.cuh",
                                  storageType(elementType()), k.b.getDictionaryAttr(config),
                                  k.b.getArrayAttr({k.b.getStrArrayAttr(roles)}), values,
                                  /*bodiesCount=*/1);
  finish(call, 0, width);
  k.makePersistentForHopper({mapOf(*a, rows, WgmmaTile::m), mapOf(*b, columns, tile.n)});
  k.finish(WgmmaTile::threads, {grid}, tile.sharedBytes());
  return least;
}

int64_t scheduleWgmma(Contraction &c, bool always) { return WgmmaSchedule(c).run(always); }

} // namespace dlc::codegen
