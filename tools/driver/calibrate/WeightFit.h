//===- WeightFit.h - Weights of a model in few bits ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_WEIGHTFIT_H
#define DLC_TOOLS_DRIVER_WEIGHTFIT_H

#include "passes/compress/quantize/ErrorFeedback.h"
#include "passes/compress/quantize/QuantizationGain.h"
#include "tools/driver/cli/Compiler.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dlc {

/// What became of one weight.
struct FittedWeight {
  std::string layer, name;
  int64_t rows, columns;
  unsigned bits;
  std::string whyKept; // empty where it is stored in few bits
  /// In dB, how far the squares of the weights lie above those of their errors, and of what the products of the data
  /// give (nullopt without data).
  double signalToNoise = 0;
  std::optional<double> ofOutputs = {};
  std::vector<TargetGain> gains = {};
};

/// Finds the few bits for each weight that quantize-weights packs, and holds them for the package (WeightReader.h): the
/// nearest numbers, or with `--calib` those of GPTQ, on what the products read of these data.
class WeightFit {
public:
  /// `progress` is told what goes on, now and then.
  WeightFit(const CompileOptions &options, std::function<void(const std::string &)> progress)
      : options(options), progress(std::move(progress)) {}

  /// `module` is what the import or phase `simplify` left. An ExitCode; all but kOk are reported.
  int run(mlir::ModuleOp module);

  /// The kind of command that makes these weights: what `dlc refit` names where it refuses.
  std::string commandText() const;
  /// A table of all weights of products, and what they take now.
  std::string asText() const;
  std::string asJson() const;

private:
  bool isCalibrated() const { return !options.calibration.data.empty(); }
  /// "4 bits, groups of 32"
  std::string formatText() const;
  std::string wideText() const;
  WeightFormat format() const;
  /// Marks the weights that --keep-w8 names.
  int markWide(mlir::ModuleOp module, llvm::ArrayRef<PackableWeight> found);
  /// Sums of what each value was on the data, in the order of `activations`.
  int measure(mlir::ModuleOp module, llvm::ArrayRef<mlir::Value> activations,
              std::vector<SecondMoments> &moments);
  int fit(const PackableWeight &weight, const SecondMoments *moments, FittedWeight &fitted);

  const CompileOptions &options;
  std::function<void(const std::string &)> progress;
  std::vector<FittedWeight> weights;
  int64_t samples = 0;
  uint64_t bytesBefore = 0, bytesAfter = 0; // of the weights in few bits
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_WEIGHTFIT_H
