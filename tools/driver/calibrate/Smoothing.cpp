//===- Smoothing.cpp - Large channels of activations, made smaller for 8 bits -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/Smoothing.h"

#include "ir/analysis/SourcePlaces.h"
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/contraction/DLContraction.h"
#include "passes/buffers/PrependResults.h"
#include "passes/compress/quantize/QuantizableProducts.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/calibrate/channels/ChannelFactors.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace dlc {

/// No channel is made larger than this many times.
static constexpr double kLeastScale = 1e-5;

namespace {

/// An activation with its channels along one dim, and the products that sum over these.
struct SmoothedReads {
  Value activation;
  int64_t dim;
  std::vector<QuantizableProduct> products;
};

class Smoothing {
public:
  Smoothing(ModuleOp module, const CompileOptions &options, const Progress &progress)
      : module(module), function(*module.getOps<func::FuncOp>().begin()), options(options),
        progress(progress) {}
  int run();
  size_t numSmoothed() const { return reads.size(); }

private:
  void findReads(const LayerPatterns &kept);
  int measure(std::vector<std::vector<double>> &largest);
  Value storedInverse(const SmoothedReads &read, ArrayRef<double> largest);
  void divide(const SmoothedReads &read, Value inverse);

  ModuleOp module;
  func::FuncOp function;
  const CompileOptions &options;
  const Progress &progress;
  std::vector<SmoothedReads> reads;
};

} // namespace

/// The dim of a product's weight that its sums run over; nullopt where these are several.
static std::optional<int64_t> summedDimOf(ArrayRef<int64_t> resultDims) {
  SmallVector<int64_t> summed = summedDims(resultDims);
  return summed.size() == 1 ? std::optional(summed.front()) : std::nullopt;
}

void Smoothing::findReads(const LayerPatterns &kept) {
  llvm::MapVector<std::pair<Value, int64_t>, std::vector<QuantizableProduct>> found;
  for (QuantizableProduct &product : findQuantizableProducts(function, kept, options.quantize)) {
    auto ofX = dl::resultDimsOf(product.op, 1 - product.weight);
    if (!product.whyKept.empty() || !ofX || !summedDimOf(product.weightDims))
      continue;
    if (auto dim = summedDimOf(*ofX))
      found[{product.getActivation(), *dim}].push_back(std::move(product));
  }
  for (auto &[place, products] : found)
    reads.push_back({place.first, place.second, std::move(products)});
}

/// The largest magnitude along each index of `dim`, [size of dim].
static Value largestAlong(Value x, int64_t dim, dl::Builder &builder) {
  Value sizes = builder.make<dl::AbsOp>(x);
  SmallVector<int64_t> others;
  for (int64_t other = 0; other < dl::typeOf(x).getRank(); ++other)
    if (other != dim)
      others.push_back(other);
  if (others.empty()) // an empty list is all dims
    return sizes;
  return builder.make<dl::AmaxOp>(sizes, builder.getDenseI64ArrayAttr(others),
                                  builder.getBoolAttr(false));
}

/// For each of `reads` the largest magnitudes of the activation's channels on the data, then those
/// of the weights'.
int Smoothing::measure(std::vector<std::vector<double>> &largest) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
  auto tapped = *copy->getOps<func::FuncOp>().begin();
  dl::Builder builder(tapped.front().getTerminator());
  SmallVector<Value> taps;
  std::vector<std::string> tapNames;
  for (const SmoothedReads &read : reads) {
    Value ofWeights;
    for (const QuantizableProduct &product : read.products) {
      Value own = largestAlong(mapping.lookup(product.getWeight()),
                               *summedDimOf(product.weightDims), builder);
      ofWeights = ofWeights ? builder.make<dl::MaximumOp>(ofWeights, own) : own;
    }
    Value both[] = {largestAlong(mapping.lookup(read.activation), read.dim, builder), ofWeights};
    taps.push_back(builder.make<dl::CatOp>(ValueRange(both), uint64_t(0)));
    tapNames.push_back("largest." + std::to_string(taps.size()));
  }
  prependResults(tapped, taps, tapNames);
  largest.resize(reads.size());
  auto read = [&](const std::vector<HostTensor> &outputs, int64_t) -> int {
    for (auto [tap, numbers] : llvm::enumerate(largest)) {
      const HostTensor &values = outputs[tap];
      numbers.resize(values.size());
      for (int64_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values.at(i)))
          return fail(kModelError,
                      llvm::formatv("--calib: on this data '{0}' reads numbers that are NaN or "
                                    "infinite; expected finite numbers alone",
                                    shownNameOf(*reads[tap].products.front().op))
                          .str());
        numbers[i] = std::max(numbers[i], values.at(i));
      }
    }
    return kOk;
  };
  int64_t samples = 0;
  return runTapped(*copy, options.calibration, "smoothing", progress, read, samples);
}

/// 1 / s of the channels, f32, as a weight that is held for the package.
Value Smoothing::storedInverse(const SmoothedReads &read, ArrayRef<double> largest) {
  const size_t size = largest.size() / 2;
  const double exponent = *options.smooth->fixed;
  std::vector<float> inverse;
  for (size_t i = 0; i < size; ++i) {
    const double ofX = largest[i], ofWeights = largest[size + i];
    const double scale =
        ofX > 0 && ofWeights > 0 ? std::pow(ofX, exponent) / std::pow(ofWeights, 1 - exponent) : 1;
    inverse.push_back(static_cast<float>(1 / std::max(scale, kLeastScale)));
  }
  const QuantizableProduct &first = read.products.front();
  return holdChannelFactors(function, first.op->getLoc(), weightNameOf(first.getWeight()), inverse);
}

void Smoothing::divide(const SmoothedReads &read, Value inverse) {
  ChannelReads reads{read.activation, read.dim, {}};
  for (const QuantizableProduct &product : read.products)
    reads.uses.push_back(&product.op->getOpOperand(1 - product.weight));
  multiplyChannels(reads, inverse);
  for (const QuantizableProduct &product : read.products) {
    dl::Builder builder(read.activation.getLoc(), product.op->getContext());
    builder.setInsertionPoint(product.op);
    Value weight = product.getWeight();
    weight = builder.make<dl::DivOp>(
        weight, repeatChannels(inverse, weight, *summedDimOf(product.weightDims), builder));
    product.op->setOperand(product.weight, weight);
  }
}

int Smoothing::run() {
  auto kept = LayerPatterns::create(options.keepF32);
  if (!kept)
    return fail(kUsage, "--keep-f32: " + llvm::toString(kept.takeError()));
  findReads(*kept);
  if (reads.empty())
    return kOk;
  std::vector<std::vector<double>> largest;
  if (int code = measure(largest))
    return code;
  for (auto [read, numbers] : llvm::zip_equal(reads, largest))
    divide(read, storedInverse(read, numbers));
  return kOk;
}

int smoothActivations(ModuleOp module, const CompileOptions &options, const Progress &progress,
                      size_t &numSmoothed) {
  Smoothing smoothing(module, options, progress);
  int code = smoothing.run();
  numSmoothed = smoothing.numSmoothed();
  return code;
}

} // namespace dlc
