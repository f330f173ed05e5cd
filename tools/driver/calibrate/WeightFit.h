//===- WeightFit.h - Weights of a model in few bits ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_WEIGHTFIT_H
#define DLC_TOOLS_DRIVER_CALIBRATE_WEIGHTFIT_H

#include "passes/compress/quantize/ActivationScales.h"
#include "passes/compress/quantize/QuantizationGain.h"
#include "tools/driver/base/CompileOptions.h"
#include "tools/driver/calibrate/channels/ScaleGroups.h"

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
  /// In dB, how far the squares of the weights lie above those of their errors, and of what the
  /// products of the data give (nullopt without data).
  double signalToNoise = 0;
  std::optional<double> ofOutputs = {};
  std::vector<TargetGain> gains = {};
  /// Where its columns are multiplied by scales of --smooth: the exponent, and 1 / s of each.
  std::optional<double> exponent = {};
  std::vector<float> inverse = {};
};

/// Finds the few bits for each weight that quantize-weights packs, and holds them for the package
/// (WeightReader.h): the nearest numbers, or with `--calib` those of GPTQ, on what the products
/// read of these data. With `--smooth` the channels of activations are divided by scales first, and
/// the weights multiplied by them (ActivationScales.h).
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
  /// Takes the second moments of `activations` on the data.
  int measure(mlir::ModuleOp module);
  const SecondMoments &momentsOf(mlir::Value activation) const {
    return moments[llvm::find(activations, activation) - activations.begin()];
  }
  /// The numbers of the weight as [N, K], all finite.
  int readNumbers(const PackableWeight &weight, const FittedWeight &fitted,
                  std::vector<float> &numbers) const;
  /// The moments of all that the products multiply the weight by: one that several read is to serve
  /// all of them. None without data, and of tables.
  int readMoments(const PackableWeight &weight, const FittedWeight &fitted,
                  std::optional<SecondMoments> &all) const;
  /// Makes `groups`, and tells the weights what they are multiplied by.
  int findScales(llvm::ArrayRef<PackableWeight> found);
  int fit(const PackableWeight &weight, std::optional<SecondMoments> moments, FittedWeight &fitted);
  /// " --smooth auto"; empty without it.
  std::string smoothText() const;
  /// The activations that are divided by scales.
  size_t numScaled() const;
  /// "; 12 activations scaled, exponents 0.1 to 0.6"; empty without --smooth.
  std::string scalesText() const;

  const CompileOptions &options;
  std::function<void(const std::string &)> progress;
  std::vector<FittedWeight> weights;
  llvm::SmallVector<mlir::Value> activations; // that the weights in few bits multiply
  std::vector<SecondMoments> moments;         // of each of them; none without data
  std::vector<ScaleGroup> groups;
  int64_t samples = 0;
  uint64_t bytesBefore = 0, bytesAfter = 0; // of the weights in few bits, with their scales
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_WEIGHTFIT_H
