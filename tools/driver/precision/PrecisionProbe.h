//===- PrecisionProbe.h - What a choice of layers in 16 bits costs on data ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program, compiled once, runs the model with any layers as if they ran in 16 bits (the pass
// simulate-precision): a search over layers compiles nothing. What it finds is held against the
// program that is really compiled so.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_PRECISION_PRECISIONPROBE_H
#define DLC_TOOLS_DRIVER_PRECISION_PRECISIONPROBE_H

#include "passes/precision/NarrowingPlan.h"
#include "tools/driver/calibrate/CpuProgram.h"
#include "tools/driver/calibrate/OutputErrors.h"
#include "tools/driver/measure/RangeEstimator.h"
#include "tools/driver/run/SampleFeed.h"

#include "llvm/ADT/SmallBitVector.h"

#include <functional>

namespace dlc {

/// What a search is asked for.
struct PrecisionGoal {
  Precision dtype = Precision::f16; // or bf16
  ErrorMetric metric = ErrorMetric::rel;
  double maxError = 0; // the most that it may be, for each output
  std::string data;    // .npz of arrays by input name, one row a sample; empty: random inputs
  int64_t batch = 16;  // samples that are run at once, at most
  std::vector<std::string> keepF32; // globs: layers that stay in f32 in any case
  bool bestEffort = false;          // where no choice holds the bound, the nearest one is taken
  bool byName = false;              // what is found shall hold where keepF32 names the layers, too
  /// A package of the model for the CPU whose outputs the error is measured against; empty: the
  /// searched module with all layers in f32.
  std::string reference;
};

/// Problems are reported as they occur; the ExitCode says which kind.
class PrecisionProbe {
public:
  /// The layers, as positions in the plan, that run in 16 bits.
  using Choice = llvm::SmallBitVector;

  PrecisionProbe(const PrecisionGoal &goal, std::function<void(const std::string &)> progress)
      : goal(goal), progress(std::move(progress)) {}

  /// Compiles the program and opens the data. `module` is what phase `compress` left, `plan` its
  /// plan for the goal.
  int open(mlir::ModuleOp module, const NarrowingPlan &plan);
  /// Finds the error of each choice; `what` is told as progress.
  int measure(llvm::ArrayRef<Choice> choices, std::vector<double> &errors, const std::string &what);
  /// The same for a program of the same model that is compiled for the CPU.
  int measure(const std::string &package, double &error);

  /// The numbers that each layer of the plan reads and gives in f32, once something was measured.
  const std::vector<Range> &ranges() const { return seen; }
  int64_t numSamples() const { return feed.numSamples() - feed.numLeftOut(); }

private:
  /// Outputs of one batch, in memory.
  using Outputs = std::vector<HostTensor>;
  /// Calls `visit` with the inputs of each batch, its samples and the outputs in f32.
  int forEachBatch(
      llvm::function_ref<int(const std::vector<dlc_tensor> &, SampleRange, const Outputs &)> visit);
  int runSimulated(const std::vector<dlc_tensor> &inputs, const Choice &choice);
  void noteRanges();
  int checkReference(const Outputs &outputs) const;
  size_t numOwnOutputs() const { return 2 * plan->layers.size(); }

  const PrecisionGoal &goal;
  std::function<void(const std::string &)> progress;
  const NarrowingPlan *plan = nullptr;
  CpuProgram program, original; // the latter of the goal's reference
  SampleFeed feed{/*ownInputs=*/1};
  std::vector<Range> seen;
  /// In f32, of the first batches, as far as they are small enough to be kept.
  std::vector<Outputs> references;
  size_t referenceBytes = 0;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_PRECISION_PRECISIONPROBE_H
