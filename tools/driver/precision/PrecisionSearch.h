//===- PrecisionSearch.h - The fewest layers in f32 with which a bound holds --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_PRECISION_PRECISIONSEARCH_H
#define DLC_TOOLS_DRIVER_PRECISION_PRECISIONSEARCH_H

#include "tools/driver/precision/PrecisionProbe.h"

namespace dlc {

class Json;

/// One layer, and what was decided about it.
struct LayerPrecision {
  std::string name, op; // "encoder.fc", "linear"
  Range seen;           // of the numbers that it reads and gives, in f32
  double alone = 0;     // the error of the outputs where this layer alone runs in 16 bits
  bool overflows = false, runsNarrow = true;
};

/// Where the bound does not hold with all layers in 16 bits: measures each layer by itself, keeps
/// as many of the costliest ones in f32 as the bound needs, and takes back those that it holds
/// without. Then the model is compiled so, and run: where that one misses the bound, more layers
/// are kept.
class PrecisionSearch {
public:
  /// `progress` is told what goes on, now and then. `option` begins the messages: "--precision
  /// mixed".
  PrecisionSearch(PrecisionGoal goal, std::string option,
                  std::function<void(const std::string &)> progress)
      : goal(std::move(goal)), option(std::move(option)), progress(std::move(progress)),
        probe(this->goal, this->progress) {}

  /// `module` is what phase `compress` left. Ops that stay in f32 get kKeepF32. An ExitCode; all
  /// but kOk are reported, kAccuracy where no layer may run in 16 bits, unless the goal is content
  /// with less: then a warning says how far the nearest choice is off, and kOk.
  int run(mlir::ModuleOp module);

  llvm::ArrayRef<LayerPrecision> getLayers() const { return layers; }
  /// Globs for --keep-f32 that name the layers which were found to need f32.
  std::vector<std::string> patterns() const;
  /// That of the compiled program.
  double getError() const { return error; }

  /// A table of the layers, and a line about them together.
  std::string asText() const;
  std::string asJson() const;
  /// Adds the members of asJson() to an object.
  void addTo(Json &json) const;

private:
  using Choice = PrecisionProbe::Choice;
  int measureAlone();
  int checkReference();
  int holds(const Choice &narrow, bool &result);
  int search(mlir::ModuleOp module, Choice &narrow);
  int compileAndMeasure(mlir::ModuleOp module, const Choice &narrow);
  int keepMore(mlir::ModuleOp module, Choice &narrow);
  /// Globs that name the layers which stay in f32, but for those that the goal names.
  std::vector<std::string> patternsFor(const Choice &narrow) const;
  void mark(mlir::ModuleOp module, const Choice &narrow) const;
  int missUnreachable(mlir::ModuleOp module, size_t layer, double least, Choice &narrow);
  int miss(const std::string &what);
  size_t numNarrow() const;

  PrecisionGoal goal;
  std::string option;
  std::function<void(const std::string &)> progress;
  PrecisionProbe probe;
  NarrowingPlan plan;
  std::vector<LayerPrecision> layers; // of the plan
  std::vector<size_t> order; // those that do not overflow, the cheapest to have in 16 bits first
  double error = 0;
  bool isMissed = false; // no choice holds the bound, and the goal asks for the nearest one
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_PRECISION_PRECISIONSEARCH_H
