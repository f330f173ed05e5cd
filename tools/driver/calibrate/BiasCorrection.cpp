//===- BiasCorrection.cpp - The mean of what 8 bits change, taken back --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/BiasCorrection.h"

#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "passes/Passes.h"
#include "passes/buffers/PrependResults.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/compiler/QuantizationGrids.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc {

/// The dim of the result that is the weight's own, one number of the bias for each index; -1 where
/// these are several.
static int64_t channelDimOf(const QuantizableProduct &product) {
  int64_t channels = -1;
  for (int64_t at : product.weightDims) {
    if (at >= 0 && channels >= 0)
      return -1;
    channels = std::max(channels, at);
  }
  return channels;
}

/// The mean over all dims but `dim`.
static Value meanAlong(Value x, int64_t dim, dl::Builder &builder) {
  SmallVector<int64_t> others;
  for (int64_t other = 0; other < dl::typeOf(x).getRank(); ++other)
    if (other != dim)
      others.push_back(other);
  if (others.empty()) // an empty list is all dims
    return x;
  return builder.make<dl::MeanOp>(x, builder.getDenseI64ArrayAttr(others),
                                  builder.getBoolAttr(false), TypeAttr());
}

/// A copy of the model whose first results are the means of what is lost, product by product.
static FailureOr<OwningOpRef<ModuleOp>> tappedCopy(ModuleOp module, const CompileOptions &options,
                                                   ArrayRef<QuantizableProduct> products) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
  auto function = *copy->getOps<func::FuncOp>().begin();
  SmallVector<Value> taps;
  std::vector<std::string> names;
  for (const QuantizableProduct &product : products) {
    Operation *exact = mapping.lookup(product.op);
    dl::Builder builder(exact->getLoc(), exact->getContext());
    builder.setInsertionPointAfter(exact);
    // The copy has the range that makes quantize-products turn it into integers.
    Operation *rounded = builder.clone(*exact);
    exact->removeAttr(kActivationRange);
    Value lost = builder.make<dl::SubOp>(exact->getResult(0), rounded->getResult(0));
    taps.push_back(meanAlong(lost, channelDimOf(product), builder));
    names.push_back("lost." + std::to_string(taps.size()));
  }
  prependResults(function, taps, names);
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  // A product that stays in f32 has no range.
  PipelineOptions quantize = quantizationOf(options);
  quantize.keepF32.clear();
  addQuantize(manager.nest<func::FuncOp>(), quantize);
  if (failed(manager.run(*copy)))
    return failure();
  return copy;
}

/// Adds `lost` to the channels of the product's result.
static void addTo(const QuantizableProduct &product, Value lost) {
  Operation *op = product.op;
  dl::Builder builder(op);
  if (op->getNumOperands() > 2) {
    Value sum = builder.make<dl::AddOp>(op->getOperand(2), lost);
    sum.getDefiningOp()->setAttr(dl::kCorrection, builder.getUnitAttr());
    op->setOperand(2, sum);
    return;
  }
  builder.setInsertionPointAfter(op);
  Value y = op->getResult(0);
  dl::Dims whole = dl::dimsOf(y), along(whole.size(), dl::constantDim(1, builder.getContext()));
  along[channelDimOf(product)] = whole[channelDimOf(product)];
  Value repeated = builder.broadcast(builder.reshape(lost, along), whole);
  Value sum = builder.make<dl::AddOp>(y, repeated);
  sum.getDefiningOp()->setAttr(dl::kCorrection, builder.getUnitAttr());
  y.replaceAllUsesExcept(sum, sum.getDefiningOp());
}

int correctBiases(ModuleOp module, const CompileOptions &options,
                  ArrayRef<QuantizableProduct> products, const Progress &progress) {
  std::vector<QuantizableProduct> corrected;
  for (const QuantizableProduct &product : products)
    if (product.op->hasAttr(kActivationRange) && channelDimOf(product) >= 0)
      corrected.push_back(product);
  auto copy = tappedCopy(module, options, corrected);
  if (failed(copy))
    return kInternal;
  std::vector<std::vector<double>> sums(corrected.size());
  auto read = [&](const std::vector<HostTensor> &outputs, int64_t rows) -> int {
    for (auto [tap, sum] : llvm::enumerate(sums)) {
      sum.resize(outputs[tap].size());
      for (int64_t i = 0; i < outputs[tap].size(); ++i)
        sum[i] += outputs[tap].at(i) * static_cast<double>(rows);
    }
    return kOk;
  };
  int64_t samples = 0;
  if (int code = runTapped(**copy, options.calibration, "correction", progress, read, samples))
    return code;
  OpBuilder builder = OpBuilder::atBlockBegin(&(*module.getOps<func::FuncOp>().begin()).front());
  llvm::StringSet<> names;
  for (auto [product, sum] : llvm::zip_equal(corrected, sums)) {
    std::vector<float> means;
    for (double number : sum)
      means.push_back(static_cast<float>(number / static_cast<double>(samples)));
    const std::string base = weightNameOf(product.getWeight()) + ".correction";
    std::string name = base;
    for (unsigned number = 2; !names.insert(name).second; ++number)
      name = base + std::to_string(number);
    addTo(product, holdVector(builder, product.op->getLoc(), name, means));
  }
  return kOk;
}

} // namespace dlc
