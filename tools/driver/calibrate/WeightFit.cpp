//===- WeightFit.cpp - Weights of a model in few bits -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/WeightFit.h"

#include "ir/analysis/SourcePlaces.h"
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "passes/Passes.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/calibrate/QuantizationChoice.h"
#include "tools/driver/calibrate/TappedRun.h"
#include "tools/driver/compiler/QuantizationGrids.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace dlc {

static double decibels(double squares, double errors) {
  return errors > 0 ? 10 * std::log10(squares / errors) : HUGE_VAL;
}

/// The layer of the first product that reads the weight, or of the first look-up: an ONNX node or a
/// place.
static std::string layerOf(const PackableWeight &weight) {
  const auto &uses = weight.products.empty() ? weight.tables : weight.products;
  SourcePlaces places = sourcePlacesOf(*uses.front()->getOwner());
  for (const std::vector<std::string> *names : {&places.layers, &places.lines})
    if (!names->empty())
      return names->front();
  return "";
}

/// The numbers of `weight`, as [N, K]; those of a file are little-endian.
static std::vector<float> numbersOf(const PackableWeight &weight, ArrayRef<uint8_t> bytes) {
  const int64_t rows = weight.rows(), columns = weight.columns();
  std::vector<float> numbers(rows * columns);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t place = weight.isTransposed ? column * rows + row : row * columns + column;
      numbers[row * columns + column] =
          llvm::bit_cast<float>(llvm::support::endian::read32le(bytes.data() + place * 4));
    }
  return numbers;
}

WeightFormat WeightFit::format() const { return weightFormatOf(options.quantize, options.grids); }

int WeightFit::measure(ModuleOp module) {
  for (Value activation : activations)
    moments.emplace_back(*dl::asConstant(dl::dimsOf(activation).back()));
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext());
  TapActivationsOptions tap;
  tap.packable = true;
  tap.keepF32.assign(options.keepF32.begin(), options.keepF32.end());
  manager.addNestedPass<func::FuncOp>(createTapActivations(tap));
  if (failed(manager.run(*copy)))
    return kInternal;
  auto read = [&](const std::vector<HostTensor> &outputs, int64_t) -> int {
    for (auto [tap, sums] : llvm::enumerate(moments)) {
      const HostTensor &values = outputs[tap];
      sums.add(reinterpret_cast<const float *>(values.data.data()), values.size() / sums.length());
    }
    return kOk;
  };
  return runTapped(*copy, options.calibration, "calibration", progress, read, samples);
}

int WeightFit::readNumbers(const PackableWeight &weight, const FittedWeight &fitted,
                           std::vector<float> &numbers) const {
  dl::WeightOp op = weight.op;
  if (!op.getFile())
    return fail(kModelError, std::string("--quantize ") + nameOf(options.quantize) + ": weight '" +
                                 fitted.name +
                                 "' is bound to no file; its numbers must be known: add `weights "
                                 "\"file.safetensors\"` to the model or pass --weights");
  auto bytes = readWeightBytes(op);
  if (failed(bytes))
    return kModelError;
  numbers = numbersOf(weight, *bytes);
  const auto notFinite =
      llvm::count_if(numbers, [](float number) { return !std::isfinite(number); });
  if (notFinite > 0)
    return fail(kModelError, llvm::formatv("--quantize {0}: {1} of the {2} numbers of weight '{3}' "
                                           "are NaN or infinite; expected finite numbers, or "
                                           "--keep-f32 '{4}'",
                                           nameOf(options.quantize), notFinite, numbers.size(),
                                           fitted.name, fitted.layer)
                                 .str());
  return kOk;
}

int WeightFit::readMoments(const PackableWeight &weight, const FittedWeight &fitted,
                           std::optional<SecondMoments> &all) const {
  llvm::SmallPtrSet<const void *, 4> added;
  for (size_t product = 0; isCalibrated() && product < weight.products.size(); ++product) {
    const SecondMoments &own = momentsOf(weight.getActivation(product));
    if (own.numNotFinite() > 0)
      return fail(kModelError,
                  llvm::formatv("--calib: on this data '{0}' reads {1} numbers that are NaN or "
                                "infinite; expected finite numbers alone",
                                fitted.layer, own.numNotFinite())
                      .str());
    if (!added.insert(&own).second)
      continue;
    if (all)
      *all += own;
    else
      all = own;
  }
  return kOk;
}

int WeightFit::findScales(ArrayRef<PackableWeight> found) {
  groups = scaleGroupsOf(found);
  for (ScaleGroup &group : groups) {
    std::vector<const SecondMoments *> ofGroup;
    for (Value activation : group.activations)
      ofGroup.push_back(&momentsOf(activation));
    const std::vector<double> magnitudes = meanMagnitudes(ofGroup);
    if (options.smooth->fixed) {
      group.exponent = *options.smooth->fixed;
    } else {
      ExponentSearch search(magnitudes);
      for (size_t place : group.weights) {
        const FittedWeight &fitted = weights[place];
        progress("smoothing, " + fitted.name);
        std::vector<float> numbers;
        std::optional<SecondMoments> moments;
        if (int code = readNumbers(found[place], fitted, numbers))
          return code;
        if (int code = readMoments(found[place], fitted, moments))
          return code;
        search.add(numbers, fitted.rows, found[place].formatOf(format()), *moments);
      }
      group.exponent = search.best();
    }
    std::vector<float> inverse = inverseScales(magnitudes, group.exponent);
    if (areOnes(inverse))
      continue;
    group.inverse = std::move(inverse);
    for (size_t place : group.weights) {
      weights[place].exponent = group.exponent;
      weights[place].inverse = group.inverse;
    }
  }
  return kOk;
}

int WeightFit::fit(const PackableWeight &weight, std::optional<SecondMoments> moments,
                   FittedWeight &fitted) {
  std::vector<float> numbers;
  if (int code = readNumbers(weight, fitted, numbers))
    return code;
  const WeightFormat format = weight.formatOf(this->format());
  // Only weights that read activations of the data have scales.
  const bool isScaled = !fitted.inverse.empty();
  if (isScaled) {
    numbers = scaledWeights(numbers, fitted.inverse);
    moments = moments->multipliedBy(fitted.inverse);
  }
  const PackedMatrix packed =
      moments ? roundWithFeedback(numbers, fitted.rows, fitted.columns, format, *moments)
              : roundToNearest(numbers, fitted.rows, fitted.columns, format);
  double squares = 0, errors = 0;
  for (int64_t row = 0; row < fitted.rows; ++row)
    for (int64_t column = 0; column < fitted.columns; ++column) {
      const double factor = isScaled ? fitted.inverse[column] : 1,
                   number = numbers[row * fitted.columns + column] * factor,
                   error = number - packed.at(row, column) * factor;
      squares += number * number;
      errors += error * error;
    }
  fitted.signalToNoise = decibels(squares, errors);
  if (moments) {
    const OutputError output = outputErrorOf(numbers, packed, *moments);
    fitted.ofOutputs = decibels(output.squares, output.errors);
  }
  bytesBefore += numbers.size() * sizeof(float);
  auto hold = [&](StringRef suffix, std::vector<uint8_t> part) {
    bytesAfter += part.size();
    holdPackedWeight(fitted.name + suffix.str(), std::move(part));
  };
  hold(kCodesSuffix, packed.codeBytes());
  hold(kScaleSuffix, packed.scaleBytes());
  if (!packed.format.isSymmetric)
    hold(kZeroSuffix, packed.zeroBytes());
  return kOk;
}

int WeightFit::markWide(ModuleOp module, ArrayRef<PackableWeight> found) {
  auto wide = LayerPatterns::create(options.keepW8);
  if (!wide)
    return fail(kUsage, "--keep-w8: " + llvm::toString(wide.takeError()));
  if (std::string unmatched = wide->unmatchedIn(module); !unmatched.empty())
    return fail(kUsage, "--keep-w8: " + unmatched);
  for (const PackableWeight &weight : found) {
    auto op = weight.op;
    if (llvm::any_of(weight.readers(),
                     [&](OpOperand *use) { return wide->matches(use->getOwner()); }))
      op->setAttr(kStoredBits, Builder(module.getContext()).getI64IntegerAttr(8));
  }
  return kOk;
}

int WeightFit::run(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  auto kept = LayerPatterns::create(options.keepF32);
  if (!kept)
    return fail(kUsage, "--keep-f32: " + llvm::toString(kept.takeError()));
  if (int code = keepSlowerLayers(module, options))
    return code;
  std::vector<PackableWeight> found = findPackableWeights(function, *kept);
  if (int code = markWide(module, found))
    return code;
  for (const PackableWeight &weight : found) {
    auto op = weight.op;
    const unsigned bits = weight.formatOf(format()).bits;
    weights.push_back({layerOf(weight), op.getName().str(), weight.rows(), weight.columns(), bits,
                       weight.whyKept});
    weights.back().gains = gainsOfFewBits(weight, bits, gainTargets(options));
  }
  auto isKept = [](const FittedWeight &weight) { return !weight.whyKept.empty(); };
  bool isKeptByCost = llvm::any_of(found, [](const PackableWeight &weight) {
    return weight.readers().front()->getOwner()->hasAttr(dl::kKeptByCost);
  });
  if (llvm::all_of(weights, isKept))
    return fail(kModelError,
                std::string("--quantize ") + nameOf(options.quantize) +
                    (weights.empty()
                         ? ": no matrix product of the model multiplies by a weight of f32, and no "
                           "look-up takes rows of one"
                         : ": every weight stays in f32; the first, '" + weights.front().name +
                               "', because: " + weights.front().whyKept +
                               (isKeptByCost ? kTakeAll : "")));
  activations = activationsOf(found);
  if (isCalibrated())
    if (int code = measure(module))
      return code;
  if (options.smooth)
    if (int code = findScales(found))
      return code;
  for (auto [weight, fitted] : llvm::zip_equal(found, weights)) {
    if (isKept(fitted))
      continue;
    progress("weights in few bits, " + fitted.name);
    std::optional<SecondMoments> all;
    if (int code = readMoments(weight, fitted, all))
      return code;
    if (int code = fit(weight, std::move(all), fitted))
      return code;
  }
  for (const ScaleGroup &group : groups) {
    divideActivations(function, found, group);
    bytesAfter += group.inverse.size() * sizeof(float);
  }
  return kOk;
}

} // namespace dlc
