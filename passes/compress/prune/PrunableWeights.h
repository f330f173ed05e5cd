//===- PrunableWeights.h - The weights that products read ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_PRUNE_PRUNABLEWEIGHTS_H
#define DLC_PASSES_COMPRESS_PRUNE_PRUNABLEWEIGHTS_H

#include "passes/compress/prune/MagnitudeMask.h"
#include "passes/precision/LayerPatterns.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

/// A product's weight as the matrices w of y = x w^T (SecondMoment.h): the number of group g at
/// row r and column k lies at rows[g * (rows.size() / groups) + r] + columns[k] of the weight.
struct WeightReading {
  mlir::Operation *op;
  unsigned weight; // the operand of `op`, 0 or 1; the other is the activation
  int64_t groups;
  std::vector<uint64_t> rows, columns;
};

/// A float weight that matrix products or convolutions multiply with.
struct PrunableWeight {
  std::string name; // of its dl.weight
  /// Why it has to stay as it is: it is also read by something else, or its layer was named. Empty:
  /// its numbers may become zero.
  std::string whyKept;
  bool isSkipped; // its layer was named
  /// Where its numbers that enter one sum lie: of a convolution along the input channels.
  /// Nothing where they lie in no regular runs, or where its readers sum along different ones.
  std::optional<SumRuns> runs;
  /// One for each product that reads it, in program order; empty where anything else reads it.
  std::vector<WeightReading> readings;
};

/// Follows each dl.weight of the module, whose ops that stand for others have been decomposed, over
/// transposes, reshapes, slices and casts to what reads it, in program order. Layers that `kept`
/// names are in the list, with the reason. Weights that no product reads are not.
std::vector<PrunableWeight> findPrunableWeights(mlir::ModuleOp module, const LayerPatterns &kept);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_PRUNE_PRUNABLEWEIGHTS_H
