//===- ContractionChoice.cpp - Which tile a matrix product gets ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionChoice.h"

#include "ir/machine/EstimateMargins.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using llvm::divideCeilSigned;

namespace dlc::codegen {

static constexpr WgmmaTile pingpongTile(int64_t n, int64_t stages, int64_t chunk) {
  WgmmaTile tile = {n, stages, chunk};
  tile.pingpong = true;
  return tile;
}

/// Wide tiles read less; the widest has room for fewer columns of totals, and in registers for
/// those of 64 rows alone.
static constexpr WgmmaTile kWgmmaTiles[] = {{256, 4, 32},
                                            {128, 4, 64},
                                            {64, 6, 64},
                                            pingpongTile(128, 5, 64),
                                            pingpongTile(64, 7, 64),
                                            {128, 4, 128, 2},
                                            {128, 4, 128, 3},
                                            {128, 4, 128, 4},
                                            {128, 4, 128, 5},
                                            {128, 4, 128, 6},
                                            {128, 4, 128, 8},
                                            {64, 6, 64, 2},
                                            {64, 6, 64, 3},
                                            {64, 6, 64, 4},
                                            {64, 6, 64, 5},
                                            {64, 6, 64, 6},
                                            {64, 6, 64, 8}};

/// Tiles of tensor cores from large to small. `k` is in 16-bit elements: 64 to 256 bytes of a row.
/// Small grids are slow because each turn of the ring waits for memory: their tiles take long
/// slabs, which several warps share.
static constexpr ProductTile kTensorCoreTiles[] = {
    {128, 128, 32, 2, 4, 1, 4}, {128, 64, 32, 4, 2, 1, 4}, {64, 128, 32, 2, 4, 1, 4},
    {64, 64, 64, 2, 2, 1, 3},   {64, 64, 128, 2, 2, 2, 3}, {128, 32, 64, 4, 1, 1, 3},
    {32, 128, 64, 1, 4, 1, 3},  {64, 32, 64, 2, 2, 1, 3},  {32, 64, 64, 2, 2, 1, 3},
    {64, 32, 128, 2, 1, 2, 3},  {32, 64, 128, 1, 2, 2, 3}, {128, 16, 64, 4, 1, 1, 3},
    {16, 128, 64, 1, 4, 1, 3},  {32, 32, 64, 2, 2, 1, 3},  {32, 32, 128, 1, 2, 4, 3},
    {64, 16, 128, 4, 1, 2, 3},  {16, 64, 128, 1, 4, 2, 3}, {16, 32, 128, 1, 1, 4, 3},
    {32, 16, 128, 1, 1, 4, 3},  {16, 16, 64, 1, 1, 1, 4},  {16, 16, 128, 1, 1, 4, 4}};

/// The same for floats, `k` in floats. A lane's 8 x 8 totals read shared memory half as often as
/// 4 x 8. The steps of the smallest grids take long because they wait: a tile of 16 columns has two
/// warps for each scheduler, one of which multiplies while the other one waits, and tiles of 8
/// columns make twice as many blocks.
static constexpr ProductTile kFloatTiles[] = {
    {128, 128, 16, 2, 4, 1, 3}, {128, 64, 16, 2, 2, 1, 4}, {64, 128, 16, 1, 4, 1, 4},
    {64, 64, 16, 2, 2, 1, 4},   {64, 64, 32, 2, 2, 2, 3},  {128, 32, 16, 4, 1, 1, 4},
    {32, 128, 16, 1, 4, 1, 4},  {64, 32, 32, 2, 1, 2, 3},  {32, 64, 32, 1, 2, 2, 3},
    {128, 16, 32, 4, 1, 1, 3},  {64, 16, 32, 2, 1, 2, 3},  {32, 32, 32, 1, 2, 1, 3},
    {32, 32, 64, 1, 1, 4, 3},   {32, 16, 32, 1, 1, 2, 4},  {32, 16, 64, 1, 1, 8, 4},
    {32, 8, 64, 1, 1, 4, 4}};

/// Tiles of sparse tensor cores. Few rows take long slabs: what counts is how many bytes of the
/// columns are on their way.
static constexpr ProductTile kSparseTiles[] = {
    {128, 128, 64, 4, 2, 1, 3}, {64, 128, 64, 2, 2, 1, 4}, {128, 64, 64, 4, 1, 1, 4},
    {64, 64, 64, 2, 2, 1, 4},   {64, 64, 128, 2, 2, 2, 3}, {32, 128, 64, 1, 4, 1, 4},
    {32, 64, 128, 1, 2, 2, 3},  {32, 32, 128, 1, 2, 2, 4}, {16, 64, 128, 1, 2, 2, 4},
    {16, 32, 128, 1, 1, 4, 4},  {8, 64, 128, 1, 2, 2, 4},  {8, 32, 256, 1, 1, 4, 4},
    {8, 16, 256, 1, 1, 4, 6},   {8, 128, 128, 1, 4, 1, 4}};

std::span<const ProductTile> tensorCoreTiles() { return kTensorCoreTiles; }
std::span<const WgmmaTile> wgmmaTiles() { return kWgmmaTiles; }

int64_t ProductTile::sharedBytes(int64_t elementBytes) const {
  if (unit == ProductUnit::sparseTensorCores) {
    int64_t stage = m * k * elementBytes + n * k * elementBytes / 2 + n * k / 8;
    return std::max(stages * stage, m * (n + 4) * 4);
  }
  // Floats have room for the totals of 32 rows of each warp, then for those of each group along k.
  int64_t totals = unit == ProductUnit::floats
                       ? warpsM * 32 * (n + 4 + (warpsK > 1 ? warpsK * n : 0)) * 4
                       : m * (n + 8) * 4;
  return std::max(stages * (m + n) * k * elementBytes, totals);
}

/// Steps of a ring that a part of k has at least, and parts of a tile at most: one block adds them
/// all.
static constexpr int64_t kFewestSteps = 4, kMostParts = 16;

static const RingRates &ratesOf(const ProductTile &tile, const GpuModel &gpu) {
  return tile.unit == ProductUnit::floats ? gpu.floats : gpu.mma;
}

/// Clocks of a kernel that moves all of the product's bytes once; of rows and columns that windows
/// repeat so many times, what is under the windows.
static double clocksOfBytes(const ProductShape &shape, const GpuModel &gpu, double rowTaps = 1,
                            double columnTaps = 1) {
  double m = double(shape.m), n = double(shape.n), depth = double(shape.k);
  double numbers =
      (m * depth / rowTaps + n * depth / columnTaps + m * n * double(1 + shape.reads)) *
      double(shape.batch);
  return numbers * double(shape.elementBytes) / gpu.bytesOnce;
}

/// Clocks that sharing a tile takes: a block's totals go to memory (L2, in truth), its arrival is
/// counted, and the last block reads the parts of all one after the other.
static double clocksOfExchange(const ProductTile &tile, const RingRates &rates) {
  if (tile.parts == 1)
    return 0;
  double part = double(tile.partFloats() * 4) / rates.exchange;
  return part + rates.meeting + double(tile.parts) * std::max(part, rates.leastPart);
}

/// Returns the clocks of a multiprocessor in which a total becomes a result, its way to memory not
/// counted. A number of another tensor that the result needs takes as long as a total on its way.
static double clocksOfFinishing(const ProductShape &shape, const RingRates &rates,
                                const GpuModel &gpu) {
  return double(shape.finishing) / (2 * gpu.peakFloats * gpu.schedules.arithmetic) +
         double(shape.reads) * rates.total;
}

/// Clocks of a multiprocessor that reads a slab from shared memory into lanes' registers, where
/// that is not hidden by the instruction itself: a warp's read of 16 bytes a lane takes four, and
/// two where half of the lanes ask for the same.
static double clocksOfReads(const ProductTile &tile) {
  if (tile.unit != ProductUnit::floats)
    return 0;
  int64_t rows = tile.m / tile.warpsM, columns = tile.n / tile.warpsN; // of a warp
  double quads = double(rows) / 32 + double(columns) / 16;
  return quads * 3 * double(tile.k * tile.warpsM * tile.warpsN);
}

double estimatedClocks(const ProductTile &tile, const ProductShape &shape, const GpuModel &gpu) {
  const RingRates &rates = ratesOf(tile, gpu);
  int64_t blocks = divideCeilSigned(shape.m, tile.usedRows(shape.window)) *
                   divideCeilSigned(shape.n, tile.n) * shape.batch * tile.parts;
  int64_t fit = std::min(gpu.sharedBytes / tile.sharedBytes(shape.elementBytes),
                         gpu.threads / tile.threads());
  // Blocks that share a multiprocessor also share its rates.
  int64_t together = std::clamp<int64_t>(divideCeilSigned(blocks, gpu.multiprocessors), 1, fit);
  int64_t steps =
      std::max<int64_t>(1, divideCeilSigned(divideCeilSigned(shape.k, tile.k), tile.parts));
  int64_t multiplied = shape.isFloat8 ? 2 : shape.elementBytes; // bytes of an element
  double rate =
      tile.unit == ProductUnit::floats ? rates.products : rates.products * 2 / double(multiplied);
  bool isSparse = tile.unit == ProductUnit::sparseTensorCores;
  if (isSparse)
    rate *= gpu.schedules.sparseProducts;
  double products = double(tile.m * tile.n * tile.k) / rate;
  double stored = isSparse ? kStoredOfSparse : 1; // of the columns
  double copies = (double(tile.m) + double(tile.n) * stored) * double(tile.k * shape.elementBytes) /
                  rates.bytes;
  int64_t apart =
      (shape.areRowsApart ? tile.m : 0) + (shape.areColumnsApart && !isSparse ? tile.n : 0);
  double gathering = double(apart * tile.k) / gpu.schedules.gatheredElements;
  // All blocks of a multiprocessor wait at once: at least a copy's latency for each turn of the
  // ring.
  double step = std::max({products * double(together), copies * double(together),
                          gathering * double(together), clocksOfReads(tile) * double(together),
                          rates.latency / double(tile.stages - 1)});
  double clocks =
      double(divideCeilSigned(blocks, gpu.multiprocessors * together)) *
      (step * double(steps) + rates.ends + clocksOfExchange(tile, rates) +
       (rates.total + clocksOfFinishing(shape, rates, gpu)) * double(tile.m * tile.n * together));
  return std::max(clocks, clocksOfBytes(shape, gpu, 1, 1 / stored));
}

/// Clocks in which the blocks of a cluster add their totals: a block writes its own, all meet, each
/// reads its share of all, and all meet again.
static double clocksOfCluster(const WgmmaTile &tile, const RingRates &rates) {
  return tile.parts == 1 ? 0 : rates.meeting + double(WgmmaTile::m * tile.n * 4) / rates.exchange;
}

double estimatedClocks(const WgmmaTile &tile, const ProductShape &shape, const GpuModel &gpu) {
  const int64_t depth = 128 / shape.elementBytes; // of a slab
  // Totals of a slab and of all slabs before it are both in registers.
  if (shape.isFloat8 && tile.n > WgmmaTile::mostOfFloat8)
    return std::numeric_limits<double>::infinity();
  // Bytes are summed otherwise, and ptxas does the products of 128 rows one by one where there is
  // no loop over slabs.
  if (tile.pingpong && (shape.elementBytes == 1 || shape.k <= depth))
    return std::numeric_limits<double>::infinity();
  const RingRates &rates = gpu.wgmma;
  int64_t tiles =
      divideCeilSigned(shape.m, WgmmaTile::m) * divideCeilSigned(shape.n, tile.n) * shape.batch;
  double products =
      double(WgmmaTile::m * tile.n * depth) / (rates.products * 2 / double(shape.elementBytes));
  // One warpgroup adds its slab while the other one multiplies.
  if (shape.isFloat8)
    products = std::max(products, products / 2 + double(WgmmaTile::m * tile.n) / gpu.peakFloats);
  double copies = double((WgmmaTile::m + tile.n) * 128) / rates.bytes;
  // Copies by threads are as many as half of the ring holds (late_arrivals), and take their turn
  // beside those of TMA.
  bool gathers = tile.gathered != Gathered::none;
  int64_t gatheredRows = tile.gathered == Gathered::rows      ? WgmmaTile::m
                         : tile.gathered == Gathered::columns ? tile.n
                                                              : 0;
  double gathering = double(gatheredRows * 128) / gpu.schedules.gatheredBytes;
  double step = std::max({products, copies, gathering,
                          rates.latency / double(gathers ? tile.stages / 2 : tile.stages)});
  // Blocks stay: the ring is filled once, but without pingpong nothing is multiplied while totals
  // leave, of which fewer columns a turn keep fewer reads of the epilogue on their way. A cluster
  // lies within a group of multiprocessors.
  int64_t atOnce = tile.parts == 1 ? gpu.multiprocessors
                                   : gpu.multiprocessors / gpu.groupOfMultiprocessors *
                                         (gpu.groupOfMultiprocessors / tile.parts);
  double multiplying =
      step * double(divideCeilSigned(divideCeilSigned(shape.k, depth), tile.parts)) +
      (gathers ? gpu.schedules.gatherBegins : 0);
  double finishing = (rates.total * (tile.chunk < 64 ? rates.shortTurn : 1) +
                      clocksOfFinishing(shape, rates, gpu)) *
                         double(WgmmaTile::m * tile.n) / double(tile.parts) +
                     clocksOfCluster(tile, rates);
  double rounds = double(divideCeilSigned(tiles, atOnce));
  double clocks = rounds * (multiplying + finishing + rates.ends);
  if (tile.pingpong) {
    // A warpgroup finishes its tile by itself, while the other one multiplies. Together they finish
    // no faster than both do at once.
    double alone = finishing * gpu.schedules.finishesAlone + rates.ends;
    double turn = std::max({multiplying, finishing, (multiplying + alone) / 2});
    clocks = (rounds - 1) * turn + multiplying + alone;
  }
  bool ofColumns = tile.gathered == Gathered::columns;
  double taps = double(tile.taps);
  return std::max(clocks, clocksOfBytes(shape, gpu, ofColumns ? 1 : taps, ofColumns ? taps : 1));
}

static constexpr SparseWgmmaTile kSparseWgmmaTiles[] = {{128, 4}, {64, 6}};

std::span<const SparseWgmmaTile> sparseWgmmaTiles() { return kSparseWgmmaTiles; }

double estimatedClocks(const SparseWgmmaTile &tile, const ProductShape &shape,
                       const GpuModel &gpu) {
  const RingRates &rates = gpu.wgmma;
  int64_t tiles = divideCeilSigned(shape.m, tile.m) * divideCeilSigned(shape.n, tile.n);
  double products =
      double(tile.m * tile.n * tile.depth) / (rates.products * gpu.schedules.sparseProducts);
  double copies = (double(tile.m) + double(tile.n) * kStoredOfSparse) *
                  double(tile.depth * shape.elementBytes) / rates.bytes;
  double step = std::max({products, copies, rates.latency / double(tile.stages)});
  double clocks = double(divideCeilSigned(tiles, gpu.multiprocessors)) *
                  (step * double(divideCeilSigned(shape.k, tile.depth)) +
                   (rates.total * rates.shortTurn + clocksOfFinishing(shape, rates, gpu)) *
                       double(tile.m * tile.n) +
                   rates.ends);
  return std::max(clocks, clocksOfBytes(shape, gpu, 1, 1 / kStoredOfSparse));
}

SparseWgmmaTile chooseSparseWgmmaTile(const ProductShape &shape) {
  return *std::min_element(std::begin(kSparseWgmmaTiles), std::end(kSparseWgmmaTiles),
                           [&](const SparseWgmmaTile &a, const SparseWgmmaTile &b) {
                             return estimatedClocks(a, shape) < estimatedClocks(b, shape);
                           });
}

WgmmaTile chooseWgmmaTile(const ProductShape &shape, const WgmmaTile &fed, bool maySplit) {
  WgmmaTile best = kWgmmaTiles[0].fedAs(fed);
  double least = estimatedClocks(best, shape);
  for (const WgmmaTile &tile : kWgmmaTiles) {
    double clocks = estimatedClocks(tile.fedAs(fed), shape);
    // The tiles of one block come first, and those that all its warpgroups share.
    double margin = tile.parts > 1 && best.parts == 1 ? kMargins.change
                    : tile.pingpong && !best.pingpong ? kMargins.pingpong
                                                      : 1;
    if ((tile.parts > 1 && !maySplit) || clocks >= least * margin)
      continue;
    best = tile.fedAs(fed);
    least = clocks;
  }
  return best;
}

/// The same tile in as many parts as the estimate likes best, none of which waits for a
/// multiprocessor.
///
/// What it says of the last stage of ResNet-50 at batch 1 (m 49, n 512, k 4608), in clocks: in f32
/// on an H100 29,200 whole (64 blocks, 32 x 16 each) and 15,400 in four parts (128 blocks, 32 x
/// 32); in f16 four parts, too. The parts are 2 MB and 0.5 MB that are written and read once, and
/// stay in L2. An H100 measured four parts as the fastest for 49 x 512 x 2048 in f16 (8.7 us).
static ProductTile splitTile(ProductTile tile, const ProductShape &shape, const GpuModel &gpu) {
  ProductTile best = tile;
  int64_t blocks = divideCeilSigned(shape.m, tile.usedRows(shape.window)) *
                   divideCeilSigned(shape.n, tile.n) * shape.batch,
          steps = divideCeilSigned(shape.k, tile.k), stages = tile.stages;
  int64_t most = std::min(
      {kMostParts, gpu.multiprocessors / std::max<int64_t>(1, blocks), steps / kFewestSteps});
  double least = estimatedClocks(tile, shape, gpu) * kMargins.change;
  for (tile.parts = 2; tile.parts <= most; ++tile.parts) {
    tile.stages = std::min(stages, divideCeilSigned(steps, tile.parts) + 1);
    double clocks = estimatedClocks(tile, shape, gpu);
    if (clocks < least) {
      best = tile;
      least = clocks;
    }
  }
  return best;
}

static std::span<const ProductTile> tilesOf(ProductUnit unit) {
  switch (unit) {
  case ProductUnit::floats:
    return kFloatTiles;
  case ProductUnit::sparseTensorCores:
    return kSparseTiles;
  case ProductUnit::tensorCores:
    break;
  }
  return kTensorCoreTiles;
}

/// The tile of the table as it would be for this shape; nullopt where it cannot be.
static std::optional<ProductTile> fittedTile(ProductTile tile, ProductUnit unit,
                                             const ProductShape &shape) {
  tile.unit = unit;
  // The units of floats finish 32 rows of each warp at a time.
  bool holdsWindows = unit == ProductUnit::floats && 32 % shape.window != 0
                          ? tile.m / tile.warpsM == 32
                          : tile.m >= shape.window;
  if (!holdsWindows)
    return std::nullopt;
  if (unit == ProductUnit::tensorCores)
    tile.k = tile.k * 2 / shape.elementBytes;
  // A ring longer than the sum would stay empty.
  int64_t steps = std::max<int64_t>(1, divideCeilSigned(shape.k, tile.k));
  tile.stages = std::clamp<int64_t>(steps + 1, 2, tile.stages);
  return tile;
}

std::vector<ProductTile> tilesFor(ProductUnit unit, const ProductShape &shape, const GpuModel &gpu,
                                  bool maySplit) {
  std::vector<ProductTile> tiles;
  for (const ProductTile &listed : tilesOf(unit)) {
    std::optional<ProductTile> tile = fittedTile(listed, unit, shape);
    if (!tile)
      continue;
    tiles.push_back(*tile);
    if (ProductTile split = maySplit ? splitTile(*tile, shape, gpu) : *tile; split.parts > 1)
      tiles.push_back(split);
  }
  return tiles;
}

ProductTile chooseTile(ProductUnit unit, const ProductShape &shape, const GpuModel &gpu,
                       bool maySplit) {
  ProductTile best = {}, bestSplit = {};
  double least = 0, leastSplit = 0;
  for (const ProductTile &listed : tilesOf(unit)) {
    std::optional<ProductTile> fitted = fittedTile(listed, unit, shape);
    if (!fitted)
      continue;
    const ProductTile &tile = *fitted;
    double clocks = estimatedClocks(tile, shape, gpu);
    if (best.m == 0 || clocks < least) {
      best = tile;
      least = clocks;
    }
    ProductTile split = maySplit ? splitTile(tile, shape, gpu) : tile;
    clocks = split.parts > 1 ? estimatedClocks(split, shape, gpu) : 0;
    if (split.parts > 1 && (bestSplit.m == 0 || clocks < leastSplit)) {
      bestSplit = split;
      leastSplit = clocks;
    }
  }
  return bestSplit.m > 0 && leastSplit < least * kMargins.change ? bestSplit : best;
}

} // namespace dlc::codegen
