//===- Calibration.cpp - The ranges of activations on a user's data -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/Calibration.h"

#include "ir/analysis/SourcePlaces.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "passes/compress/quantize/QuantizableTables.h"
#include "tools/driver/base/Json.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/calibrate/BiasCorrection.h"
#include "tools/driver/calibrate/CpuProgram.h"
#include "tools/driver/calibrate/QuantizationChoice.h"
#include "tools/driver/calibrate/Smoothing.h"
#include "tools/driver/compiler/QuantizationGrids.h"
#include "tools/driver/run/SampleFeed.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {

int Calibration::measure(const std::string &package, std::vector<RangeEstimator> &estimators) {
  CpuProgram program;
  SampleFeed feed;
  if (int code = program.open(package))
    return code;
  if (int code = feed.open(options.calibration.data, program.getModule()))
    return code;
  feed.setBatch(options.calibration.batch);
  for (bool counts : {false, true}) {
    feed.rewind();
    std::vector<dlc_tensor> inputs;
    for (int64_t done = 0; feed.next(inputs);) {
      if (int code = program.run(inputs))
        return code;
      for (size_t tap = 0; tap < estimators.size(); ++tap) {
        const HostTensor &values = program.outputs[tap];
        auto numbers = reinterpret_cast<const float *>(values.data.data());
        size_t count = values.data.size() / sizeof(float);
        counts ? estimators[tap].count(numbers, count) : estimators[tap].observe(numbers, count);
      }
      done += inputs.front().dims[0];
      progress(llvm::formatv("calibration, {0} of {1}", done, feed.numSamples()).str());
    }
  }
  samples = feed.numSamples() - feed.numLeftOut();
  return kOk;
}

void Calibration::noteTables(func::FuncOp function, const LayerPatterns &kept,
                             ArrayRef<QuantizableProduct> products) {
  for (const QuantizableTable &table :
       findQuantizableTables(function, kept, products, options.quantize)) {
    Operation &lookUp = *table.lookUp();
    tables.push_back({shownNameOf(lookUp), lookUp.getName().stripDialect().str(),
                      table.weight.rows(), table.weight.columns(), table.whyKept,
                      table.isTied() ? std::vector<TargetGain>()
                                     : gainsOfFewBits(table.weight, 8, gainTargets(options))});
    if (auto reasons = lookUp.getAttrOfType<DictionaryAttr>(dl::kKeptOn))
      for (NamedAttribute reason : reasons)
        tables.back().keptOn += (tables.back().keptOn.empty() ? "" : "; ") +
                                reason.getName().str() + ": kept in f32, " +
                                cast<StringAttr>(reason.getValue()).str();
  }
}

int Calibration::run(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  auto kept = LayerPatterns::create(options.keepF32);
  if (!kept)
    return fail(kUsage, "--keep-f32: " + llvm::toString(kept.takeError()));
  if (options.smooth)
    if (int code = smoothActivations(module, options, progress, numSmoothed))
      return code;
  const bool hasGains = showsGains();
  if (int code = keepSlowerLayers(module, options))
    return code;
  std::vector<QuantizableProduct> products =
      findQuantizableProducts(function, *kept, options.quantize);
  for (const QuantizableProduct &product : products)
    layers.push_back({shownNameOf(*product.op),
                      product.op->getName().stripDialect().str(),
                      product.whyKept,
                      {},
                      {},
                      0,
                      hasGains ? gainsOfProduct(product, options.quantize, gainTargets(options))
                               : std::vector<TargetGain>()});
  noteTables(function, *kept, products);
  bool isKeptByCost = llvm::any_of(products, [](const QuantizableProduct &product) {
    return product.op->hasAttr(dl::kKeptByCost);
  });
  const bool hasTables =
      llvm::any_of(tables, [](const QuantizedTable &table) { return table.whyKept.empty(); });
  const bool hasProducts = !activationsOf(products).empty();
  if (!hasProducts && !hasTables)
    return fail(kModelError,
                std::string("--quantize ") + nameOf(options.quantize) +
                    (layers.empty() ? ": no product of the model multiplies f32 by weights"
                                    : ": every product of weights stays in f32; the first, '" +
                                          layers.front().name + "', because " +
                                          layers.front().whyKept + (isKeptByCost ? kTakeAll : "")));
  if (isDynamic() || !hasProducts)
    return kOk;
  if (int code = findRanges(module, products))
    return code;
  return options.biasCorrection ? correctBiases(module, options, products, progress) : int(kOk);
}

int Calibration::findRanges(ModuleOp module, ArrayRef<QuantizableProduct> products) {
  progress("calibration");
  SmallVector<Value> activations = activationsOf(products);
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext());
  TapActivationsOptions tap;
  tap.keepF32.assign(options.keepF32.begin(), options.keepF32.end());
  manager.addNestedPass<func::FuncOp>(createTapActivations(tap));
  // A module that is simplified already stays as it is.
  addPhase(manager, Phase::simplify, {});
  if (failed(manager.run(*copy)))
    return kInternal;
  auto package = compileCpuProgram(*copy);
  if (failed(package))
    return kUnsupported;
  std::vector<RangeEstimator> estimators(
      activations.size(), RangeEstimator(method(), hasSymmetricActivations(options.grids)));
  if (int code = measure(*package, estimators))
    return code;

  Builder builder(module.getContext());
  for (auto [product, layer] : llvm::zip_equal(products, layers)) {
    if (!product.whyKept.empty())
      continue;
    const RangeEstimator &seen =
        estimators[llvm::find(activations, product.getActivation()) - activations.begin()];
    if (seen.numNotFinite() > 0)
      return fail(kModelError, llvm::formatv("--calib: on this data '{0}' reads {1} numbers that "
                                             "are NaN or infinite; expected finite numbers alone",
                                             layer.name, seen.numNotFinite())
                                   .str());
    layer.seen = seen.extent();
    layer.range = isFloat8() ? seen.extent() : seen.range();
    layer.signalToNoise =
        isFloat8() ? seen.signalToNoiseOfFloat8() : seen.signalToNoise(layer.range);
    product.op->setAttr(kActivationRange,
                        builder.getDenseF64ArrayAttr({layer.range.low, layer.range.high}));
  }
  return kOk;
}

std::string Calibration::commandText() const {
  if (numSmoothed == 0 && !options.biasCorrection && !options.noRefit)
    return "";
  std::string text = std::string("dlc compile MODEL --quantize ") + nameOf(options.quantize) +
                     textOf(options.grids);
  if (options.noRefit)
    text += " --no-refit";
  if (numSmoothed > 0)
    text += llvm::formatv(" --smooth {0}", *options.smooth->fixed);
  if (options.biasCorrection)
    text += " --bias-correction";
  if (!options.calibration.data.empty())
    text += " --calib DATA.npz";
  return text + " --weights NEW.safetensors";
}

/// The last two columns of a row.
static std::string gainAfter(const std::string &signalToNoise, ArrayRef<TargetGain> gains,
                             bool keepsLosses) {
  return gains.empty() ? signalToNoise
                       : llvm::formatv("{0}{1}", llvm::left_justify(signalToNoise, 11),
                                       gainText(gains, keepsLosses))
                             .str();
}

/// The row of a table in the report, after its name and op.
std::string Calibration::tableRow(const QuantizedTable &table) const {
  if (!table.whyKept.empty())
    return "kept in f32: " + table.whyKept;
  const std::string dims = std::to_string(table.rows) + "x" + std::to_string(table.width);
  std::string text =
      "int8, " +
      std::string(hasPerTensorWeights(options.grids) ? "one scale" : "a scale for each row") +
      " of " + dims;
  if (!table.keptOn.empty())
    return text + "; on " + table.keptOn;
  if (!showsGains() || table.gains.empty())
    return text;
  // Below the ranges and the SNR of products.
  return llvm::formatv("{0}{1}", llvm::left_justify(text, 53),
                       gainText(table.gains, keepsLosses(options)))
      .str();
}

std::string Calibration::asText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  size_t width = 5, opWidth = 7, quantized = 0, quantizedTables = 0;
  std::vector<std::vector<TargetGain>> gains; // of the layers on integers
  for (const QuantizedLayer &layer : layers)
    width = std::max(width, layer.name.size());
  for (const QuantizedTable &table : tables) {
    width = std::max(width, table.name.size());
    opWidth = std::max(opWidth, table.op.size());
    quantizedTables += table.whyKept.empty();
  }
  os << llvm::left_justify("Layer", width) << "  " << llvm::left_justify("Op", opWidth) << "  "
     << (isDynamic() ? "Type" : "Range seen           Range kept           SNR")
     << (showsGains() && !options.targets.empty() ? "        Gain\n" : "\n");
  auto beginRow = [&](const std::string &name, const std::string &op) {
    os << llvm::left_justify(name, width) << "  " << llvm::left_justify(op, opWidth) << "  ";
  };
  for (const QuantizedTable &table : tables) {
    beginRow(table.name, table.op);
    os << tableRow(table) << '\n';
  }
  for (const QuantizedLayer &layer : layers) {
    beginRow(layer.name, layer.op);
    if (!layer.whyKept.empty()) {
      os << "kept in f32: " << layer.whyKept << '\n';
      continue;
    }
    ++quantized;
    if (isDynamic()) {
      os << "int8, with the range of each row\n";
      continue;
    }
    auto range = [](const Range &shown) {
      const std::string text = llvm::formatv("{0:F3} .. {1:F3}", shown.low, shown.high).str();
      return llvm::formatv("{0,-19}", text).str();
    };
    os << range(layer.seen) << "  " << range(layer.range) << "  "
       << gainAfter(llvm::formatv("{0:F1} dB", layer.signalToNoise).str(), layer.gains,
                    keepsLosses(options))
       << '\n';
    gains.push_back(layer.gains);
  }
  os << llvm::formatv("{0}: {1} of {2} products", nameOf(options.quantize), quantized,
                      layers.size())
     << countsByTarget(gains, options);
  if (!tables.empty())
    os << llvm::formatv(", {0} of {1} tables", quantizedTables, tables.size());
  if (samples > 0)
    os << llvm::formatv(", calibrated on {0} samples by {1}", samples, nameOf(method()));
  if (options.smooth)
    os << llvm::formatv("; {0} activations smoothed with exponent {1}", numSmoothed,
                        *options.smooth->fixed);
  if (options.biasCorrection)
    os << "; means corrected";
  if (hasSymmetricActivations(options.grids))
    os << "; activations symmetric";
  if (hasPerTensorWeights(options.grids))
    os << "; one scale a weight";
  os << '\n';
  return text;
}

std::string Calibration::asJson() const {
  Json json;
  json.beginObject().string("scheme", nameOf(options.quantize));
  if (!isDynamic())
    json.string("method", nameOf(method())).integer("samples", samples);
  if (options.smooth)
    json.real("smooth", *options.smooth->fixed)
        .integer("smoothed", static_cast<int64_t>(numSmoothed));
  if (options.biasCorrection)
    json.string("bias_correction", "measured");
  if (!isFloat8())
    json.string("activation_grid", nameOf(options.grids.activation.value_or(GridKind::asymmetric)));
  json.string("granularity", nameOf(options.grids.granularity.value_or(Granularity::channel)));
  json.beginArray("layers");
  for (const QuantizedTable &table : tables) {
    json.beginObject()
        .string("layer", table.name)
        .string("op", table.op)
        .string("type", table.whyKept.empty() ? "int8" : "f32")
        .integer("rows", table.rows)
        .integer("columns", table.width);
    if (!table.whyKept.empty())
      json.string("why", table.whyKept);
    if (!table.keptOn.empty())
      json.string("kept_on", table.keptOn);
    writeGains(json, table.gains, options);
    json.endObject();
  }
  for (const QuantizedLayer &layer : layers) {
    json.beginObject().string("layer", layer.name).string("op", layer.op);
    if (!layer.whyKept.empty())
      json.string("type", "f32").string("why", layer.whyKept);
    else if (isDynamic())
      json.string("type", "int8");
    else
      json.string("type", nameOf(options.quantize))
          .real("seen_low", layer.seen.low)
          .real("seen_high", layer.seen.high)
          .real("low", layer.range.low)
          .real("high", layer.range.high)
          .real("snr_db", layer.signalToNoise);
    writeGains(json, layer.gains, options);
    json.endObject();
  }
  json.endArray().endObject();
  return json.take();
}

} // namespace dlc
