//===- MeasuredTiles.h - Times of tiles that a GPU measured -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TEST_BENCH_MEASUREDTILES_H
#define DLC_TEST_BENCH_MEASUREDTILES_H

#include "codegen/cuda/schedule/contraction/ContractionChoice.h"

#include <istream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace dlc::codegen {

/// A product of halves, the tile that it was forced to take, and the least time of its repetitions.
struct MeasuredTile {
  ProductShape shape;
  std::variant<ProductTile, WgmmaTile> tile;
  double microseconds;
};

/// The rows of a file of test/bench/results/tiles-*.csv; those of tiles that the compiler no longer
/// has are left out.
inline std::vector<MeasuredTile> readMeasuredTiles(std::istream &file) {
  std::vector<MeasuredTile> rows;
  std::string line;
  std::getline(file, line); // the names of the columns
  while (std::getline(file, line)) {
    for (char &c : line)
      if (c == ',')
        c = ' ';
    std::istringstream words(line);
    std::string unit;
    int64_t m, n, k, tileM, tileN, tileK, parts, stages;
    double microseconds;
    if (!(words >> m >> n >> k >> unit >> tileM >> tileN >> tileK >> parts >> stages >>
          microseconds))
      continue;
    ProductShape shape = {m, n, k, 1, 2};
    if (unit == "wgmma") {
      for (WgmmaTile tile : wgmmaTiles())
        if (tile.n == tileN && tile.parts == parts && !tile.pingpong) {
          tile.stages = stages;
          rows.push_back({shape, tile, microseconds});
        }
      continue;
    }
    for (ProductTile tile : tensorCoreTiles())
      if (tile.m == tileM && tile.n == tileN && tile.k == tileK) {
        tile.parts = parts;
        tile.stages = stages;
        rows.push_back({shape, tile, microseconds});
      }
  }
  return rows;
}

/// The time that the compiler estimates for a measured row.
inline double estimatedMicroseconds(const MeasuredTile &row, const GpuModel &gpu) {
  double clocks =
      std::visit([&](const auto &tile) { return estimatedClocks(tile, row.shape, gpu); }, row.tile);
  return gpu.launch + clocks / gpu.gigahertz / 1e3;
}

} // namespace dlc::codegen

#endif // DLC_TEST_BENCH_MEASUREDTILES_H
