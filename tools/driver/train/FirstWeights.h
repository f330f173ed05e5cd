//===- FirstWeights.h - Weights before the first step -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_FIRSTWEIGHTS_H
#define DLC_TOOLS_DRIVER_TRAIN_FIRSTWEIGHTS_H

#include "mlir/IR/Value.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dlc {

/// How a weight begins.
struct FirstWeight {
  enum Kind {
    Stored, // as its file has it
    Zeros,
    Ones,
    Uniform, // between -scale and scale
    Normal   // of the deviation scale
  };
  std::string name;
  std::vector<int64_t> dims;
  Kind kind = Zeros;
  double scale = 0;
  std::vector<uint8_t> bytes = {}; // of one that is stored
};

/// How PyTorch's layer that reads the weight begins it: by the op that uses it, in which the fan of
/// a bias is that of the weight beside it. dl.weight ops that have bytes are Stored.
FirstWeight firstWeightOf(mlir::Value weight);

/// Numbers of a weight that is not Stored, from the seed and its name alone.
std::vector<float> drawWeight(const FirstWeight &weight, uint64_t seed);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_FIRSTWEIGHTS_H
