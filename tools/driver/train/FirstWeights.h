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

/// Returns how a weight begins, which is a dl.weight. If it is not bound to a file, it begins as
/// the layer of PyTorch does that corresponds to its user.
FirstWeight firstWeightOf(mlir::Value weight);

/// Draws the numbers of a weight that is not Stored. They depend only on the seed and the name.
std::vector<float> drawWeight(const FirstWeight &weight, uint64_t seed);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_FIRSTWEIGHTS_H
