//===- TileEstimates.cpp - What the compiler estimates of measured tiles ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   tile-estimates TILES.csv
//
// The file is one of test/bench/results/tiles-*.csv. The first line of output is the rates that
// kHopper has, by name. Each line of input gives values for all of them; the answer is one line
// with the estimated microseconds of each row of the file. costs/tile_fit.py fits the rates with
// it, so that the equations are in ContractionChoice.cpp alone.
//===------------------------------------------------------------------------------------------===//
#include "test/bench/MeasuredTiles.h"

#include <fstream>
#include <iostream>
#include <sstream>

using namespace dlc;
using namespace dlc::codegen;

int main(int argc, char **argv) {
  std::ifstream file(argc == 2 ? argv[1] : "");
  std::vector<MeasuredTile> tiles = readMeasuredTiles(file);
  if (tiles.empty()) {
    std::cerr << "usage: tile-estimates TILES.csv "
                 "(m,n,k,unit,tile_m,tile_n,tile_k,parts,stages,min_us)\n";
    return 2;
  }
  GpuModel gpu = kHopper;
  const std::pair<const char *, double *> rates[] = {{"launch", &gpu.launch},
                                                     {"bytesOnce", &gpu.bytesOnce},
                                                     {"mma.products", &gpu.mma.products},
                                                     {"mma.bytes", &gpu.mma.bytes},
                                                     {"mma.latency", &gpu.mma.latency},
                                                     {"mma.ends", &gpu.mma.ends},
                                                     {"mma.total", &gpu.mma.total},
                                                     {"mma.exchange", &gpu.mma.exchange},
                                                     {"mma.meeting", &gpu.mma.meeting},
                                                     {"wgmma.products", &gpu.wgmma.products},
                                                     {"wgmma.bytes", &gpu.wgmma.bytes},
                                                     {"wgmma.latency", &gpu.wgmma.latency},
                                                     {"wgmma.ends", &gpu.wgmma.ends},
                                                     {"wgmma.total", &gpu.wgmma.total}};
  for (const auto &[name, value] : rates)
    std::cout << name << ' ' << *value << ' ';
  std::cout << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream given(line);
    for (const auto &[name, value] : rates)
      given >> *value;
    for (const MeasuredTile &tile : tiles)
      std::cout << estimatedMicroseconds(tile, gpu) << ' ';
    std::cout << std::endl;
  }
  return 0;
}
