//===- NarrowingPlan.h - The layers that one may keep out of 16 bits, each by itself ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a layer stays in f32, the ops that follow it do so too. The plan says which: what
// convert-precision makes of a graph for each choice of layers that are kept.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_PRECISION_NARROWINGPLAN_H
#define DLC_PASSES_PRECISION_NARROWINGPLAN_H

#include "passes/precision/LayerPatterns.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace dlc {

struct NarrowingPlan {
  /// The ops of one name that run in 16 bits whatever the others do: products, convolutions,
  /// recurrences, and rows of a table of weights.
  struct Layer {
    std::string name; // its path, the ONNX node or the place; no other layer has it
    llvm::SmallVector<mlir::Operation *, 1> ops;
  };
  /// An op that runs in 16 bits where all layers of `conditions[condition]` do.
  struct Step {
    mlir::Operation *op;
    size_t condition;
  };

  std::vector<Layer> layers; // in the order of their first ops
  std::vector<std::vector<unsigned>>
      conditions;          // positions in `layers`, ascending; no two are equal
  std::vector<Step> steps; // in program order
};

/// The plan for the dtype of 16 bits `narrow`. What `kept` matches is in f32 and in no plan.
NarrowingPlan planNarrowing(mlir::func::FuncOp function, mlir::FloatType narrow,
                            const LayerPatterns &kept);

} // namespace dlc

#endif // DLC_PASSES_PRECISION_NARROWINGPLAN_H
