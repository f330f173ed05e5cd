//===- Calibration.h - The ranges of activations on a user's data -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_CALIBRATION_H
#define DLC_TOOLS_DRIVER_CALIBRATE_CALIBRATION_H

#include "passes/compress/quantize/QuantizableProducts.h"
#include "passes/compress/quantize/QuantizationGain.h"
#include "tools/driver/base/CompileOptions.h"
#include "tools/driver/measure/RangeEstimator.h"

#include <functional>
#include <string>
#include <vector>

namespace dlc {

/// How one product is computed, and what that does to the numbers that it reads.
struct QuantizedLayer {
  std::string name;         // its layer, ONNX node or place
  std::string op;           // "conv2d"
  std::string whyKept;      // empty where it runs on integers of 8 bits
  Range seen, range;        // of its activation: on the data, and what 8 bits hold
  double signalToNoise = 0; // of its activation in 8 bits, in dB
  std::vector<TargetGain> gains = {};
};

/// A table of which look-ups take rows, and how it is stored.
struct QuantizedTable {
  std::string name, op; // of its first look-up
  int64_t rows, width;
  std::string whyKept; // empty where it becomes integers of 8 bits
  std::vector<TargetGain> gains;
  std::string keptOn = {}; // "cpu: ...": targets of some where it stays in f32, and why
};

/// Finds the products that quantize-products lets run on integers, and the tables that it makes
/// integers of. For --quantize int8 it runs a copy of the model on `--calib` and writes the range
/// of each activation that a product reads to the product, where the pass finds it.
class Calibration {
public:
  /// `progress` is told what goes on, now and then.
  Calibration(const CompileOptions &options, std::function<void(const std::string &)> progress)
      : options(options), progress(std::move(progress)) {}

  /// `module` is what the import or phase `simplify` left. An ExitCode; all but kOk are reported.
  int run(mlir::ModuleOp module);

  /// The kind of command that makes these weights, where data have changed them: what `dlc refit`
  /// names where it refuses. Empty where new weights may take their place.
  std::string commandText() const;
  /// A table of all look-ups and products of weights, and how many run on integers.
  std::string asText() const;
  std::string asJson() const;

private:
  int measure(const std::string &package, std::vector<RangeEstimator> &estimators);
  void noteTables(mlir::func::FuncOp function, const LayerPatterns &kept,
                  llvm::ArrayRef<QuantizableProduct> products);
  int findRanges(mlir::ModuleOp module, llvm::ArrayRef<QuantizableProduct> products);
  bool isDynamic() const { return options.quantize == QuantizationScheme::dynamic; }
  bool isFloat8() const { return options.quantize == QuantizationScheme::fp8; }
  bool showsGains() const { return recordOf(options.quantize).hasGains; }
  std::string tableRow(const QuantizedTable &table) const;
  /// Floats have the same precision over many ranges: there is no gain in a smaller one.
  RangeMethod method() const {
    return isFloat8() ? RangeMethod::minmax : options.calibration.method;
  }

  const CompileOptions &options;
  std::function<void(const std::string &)> progress;
  std::vector<QuantizedTable> tables;
  std::vector<QuantizedLayer> layers;
  int64_t samples = 0;
  size_t numSmoothed = 0; // activations
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_CALIBRATION_H
