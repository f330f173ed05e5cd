//===- FirstWeights.h - Weights before the first step -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_STEP_FIRSTWEIGHTS_H
#define DLC_TOOLS_DRIVER_TRAIN_STEP_FIRSTWEIGHTS_H

#include "mlir/IR/Value.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dlc {

/// How a weight begins.
struct FirstWeight {
  enum Kind {
    Stored,   // as its file has it
    Constant, // all numbers are scale
    Uniform,  // between -scale and scale
    Normal    // of the deviation scale
  };
  std::string name;
  std::vector<int64_t> dims;
  Kind kind = Constant;
  double scale = 0;
  int64_t zeroRow = -1;            // a row that is zeros; -1: none
  std::vector<uint8_t> bytes = {}; // of one that is stored
};

/// Returns how a weight begins, which is a dl.weight. If it is not bound to a file, it begins as
/// the layer of PyTorch does that corresponds to its user.
FirstWeight firstWeightOf(mlir::Value weight);

/// The bytes of a weight, in f32 unless it is Stored in another dtype. Those that are drawn depend
/// only on the seed and the name.
std::vector<uint8_t> firstBytes(const FirstWeight &weight, uint64_t seed);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_STEP_FIRSTWEIGHTS_H
