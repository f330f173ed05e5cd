//===- WeightFit.cpp - Weights of a model in few bits ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/WeightFit.h"

#include "ir/analysis/SourcePlaces.h"
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "passes/Passes.h"
#include "tools/driver/calibrate/QuantizationGrids.h"
#include "tools/driver/calibrate/TappedRun.h"
#include "tools/driver/cli/Output.h"
#include "tools/driver/compress/QuantizationChoice.h"
#include "tools/driver/compress/WeightReader.h"

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

int WeightFit::measure(ModuleOp module, ArrayRef<Value> activations,
                       std::vector<SecondMoments> &moments) {
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

int WeightFit::fit(const PackableWeight &weight, const SecondMoments *moments,
                   FittedWeight &fitted) {
  dl::WeightOp op = weight.op;
  if (!op.getFile())
    return fail(kModelError, "--quantize " + options.quantize + ": weight '" + fitted.name +
                                 "' is bound to no file; its numbers must be known: add `weights "
                                 "\"file.safetensors\"` to the model or pass --weights");
  auto bytes = readWeightBytes(op);
  if (failed(bytes))
    return kModelError;
  const std::vector<float> numbers = numbersOf(weight, *bytes);
  const WeightFormat format = weight.formatOf(this->format());
  const auto notFinite =
      llvm::count_if(numbers, [](float number) { return !std::isfinite(number); });
  if (notFinite > 0)
    return fail(kModelError, llvm::formatv("--quantize {0}: {1} of the {2} numbers of weight '{3}' "
                                           "are NaN or infinite; expected finite numbers, or "
                                           "--keep-f32 '{4}'",
                                           options.quantize, notFinite, numbers.size(), fitted.name,
                                           fitted.layer)
                                 .str());
  const PackedMatrix packed =
      moments ? roundWithFeedback(numbers, fitted.rows, fitted.columns, format, *moments)
              : roundToNearest(numbers, fitted.rows, fitted.columns, format);
  double squares = 0, errors = 0;
  for (int64_t row = 0; row < fitted.rows; ++row)
    for (int64_t column = 0; column < fitted.columns; ++column) {
      const double number = numbers[row * fitted.columns + column],
                   error = number - packed.at(row, column);
      squares += number * number;
      errors += error * error;
    }
  fitted.signalToNoise = decibels(squares, errors);
  if (moments) {
    const OutputError output = outputErrorOf(numbers, packed, *moments);
    fitted.ofOutputs = decibels(output.squares, output.errors);
  }
  bytesBefore += bytes->size();
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
                "--quantize " + options.quantize +
                    (weights.empty()
                         ? ": no matrix product of the model multiplies by a weight of f32, and no "
                           "look-up takes rows of one"
                         : ": every weight stays in f32; the first, '" + weights.front().name +
                               "', because: " + weights.front().whyKept +
                               (isKeptByCost ? kTakeAll : "")));
  std::vector<SecondMoments> moments;
  const SmallVector<Value> activations = activationsOf(found);
  if (isCalibrated())
    if (int code = measure(module, activations, moments))
      return code;
  for (auto [weight, fitted] : llvm::zip_equal(found, weights)) {
    if (isKept(fitted))
      continue;
    progress("weights in few bits, " + fitted.name);
    // A weight that several products read is to serve all of them.
    std::optional<SecondMoments> all;
    llvm::SmallPtrSet<const void *, 4> added;
    for (size_t product = 0; isCalibrated() && product < weight.products.size(); ++product) {
      Value activation = weight.getActivation(product);
      const SecondMoments &own = moments[llvm::find(activations, activation) - activations.begin()];
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
    if (int code = fit(weight, all ? &*all : nullptr, fitted))
      return code;
  }
  return kOk;
}

} // namespace dlc
