//===- Calibration.cpp - The ranges of activations on a user's data --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/Calibration.h"

#include "ir/analysis/SourcePlaces.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "passes/compress/QuantizableProducts.h"
#include "tools/driver/CpuProgram.h"
#include "tools/driver/Json.h"
#include "tools/driver/Output.h"
#include "tools/driver/SampleFeed.h"

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

int Calibration::run(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  auto kept = LayerPatterns::create(options.keepF32);
  if (!kept)
    return fail(kUsage, "--keep-f32: " + llvm::toString(kept.takeError()));
  std::vector<QuantizableProduct> products = findQuantizableProducts(function, *kept);
  SmallVector<Value> activations = activationsOf(products);
  for (const QuantizableProduct &product : products)
    layers.push_back({shownNameOf(*product.op),
                      product.op->getName().stripDialect().str(),
                      product.whyKept,
                      {},
                      {}});
  if (activations.empty())
    return fail(kModelError,
                layers.empty()
                    ? "--quantize int8: no product of the model multiplies f32 by weights"
                    : "--quantize int8: every product of weights stays in f32; the first, '" +
                          layers.front().name + "', because " + layers.front().whyKept);

  progress("calibration");
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
      activations.size(), RangeEstimator(*rangeMethodNamed(options.calibration.method)));
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
    layer.range = seen.range();
    layer.signalToNoise = seen.signalToNoise(layer.range);
    product.op->setAttr(kActivationRange,
                        builder.getDenseF64ArrayAttr({layer.range.low, layer.range.high}));
  }
  return kOk;
}

std::string Calibration::asText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  size_t width = 5, quantized = 0;
  for (const QuantizedLayer &layer : layers)
    width = std::max(width, layer.name.size());
  os << llvm::left_justify("Layer", width)
     << "  Op       Range seen           Range kept           SNR\n";
  for (const QuantizedLayer &layer : layers) {
    os << llvm::left_justify(layer.name, width) << "  " << llvm::left_justify(layer.op, 7) << "  ";
    if (!layer.whyKept.empty()) {
      os << "kept in f32: " << layer.whyKept << '\n';
      continue;
    }
    ++quantized;
    auto range = [](const Range &shown) {
      return llvm::left_justify(llvm::formatv("{0:F3} .. {1:F3}", shown.low, shown.high).str(), 19);
    };
    os << range(layer.seen) << "  " << range(layer.range) << "  "
       << llvm::formatv("{0:F1} dB\n", layer.signalToNoise);
  }
  os << llvm::formatv("int8: {0} of {1} products, calibrated on {2} samples by {3}\n", quantized,
                      layers.size(), samples, options.calibration.method);
  return text;
}

std::string Calibration::asJson() const {
  Json json;
  json.beginObject()
      .string("scheme", options.quantize)
      .string("method", options.calibration.method)
      .integer("samples", samples)
      .beginArray("layers");
  for (const QuantizedLayer &layer : layers) {
    json.beginObject().string("layer", layer.name).string("op", layer.op);
    if (!layer.whyKept.empty())
      json.string("type", "f32").string("why", layer.whyKept);
    else
      json.string("type", "int8")
          .real("seen_low", layer.seen.low)
          .real("seen_high", layer.seen.high)
          .real("low", layer.range.low)
          .real("high", layer.range.high)
          .real("snr_db", layer.signalToNoise);
    json.endObject();
  }
  json.endArray().endObject();
  return json.take();
}

} // namespace dlc
