//===- PruneLowRank.cpp - dlc prune --pattern low-rank ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/prune/PruneLowRank.h"

#include "passes/compress/prune/ChannelGroups.h"
#include "passes/compress/prune/LowRank.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/compress/prune/LayerMatrix.h"
#include "tools/driver/compress/prune/PruneReport.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {

namespace {

/// Added to the diagonal of x^T x, as a part of its mean.
constexpr double kDampening = 0.01;

/// A linear layer that becomes two.
struct Factored {
  const PrunableWeight *weight;
  const PrunedModel::Place *place;
  dl::WeightOp op; // of the model
  int64_t rank = 0;
  LowRankFactors factors = {};

  int64_t rows() const { return static_cast<int64_t>(weight->readings.front().rows.size()); }
  int64_t columns() const { return static_cast<int64_t>(weight->readings.front().columns.size()); }
};

class LowRankPruning {
public:
  LowRankPruning(PrunedModel &model, ModuleOp plain, ArrayRef<PrunableWeight> weights,
                 const PruneOptions &options)
      : model(model), plain(plain), weights(weights), options(options) {}
  int run();

private:
  std::string whyKept(const PrunableWeight &weight, dl::WeightOp op) const;
  int choose();
  int chooseRanks();
  int measure(ArrayRef<size_t> chosen, std::vector<LayerMatrix> &matrices);
  int factor();
  void factor(Factored &layer, const LayerMatrix &matrix, bool isMeasured);
  std::vector<uint8_t> stored(const Factored &layer, ArrayRef<double> numbers);
  void split(Factored &layer);
  int write();

  PrunedModel &model;
  ModuleOp plain;
  ArrayRef<PrunableWeight> weights;
  const PruneOptions &options;
  std::vector<Factored> layers;
  llvm::StringMap<std::vector<uint8_t>> numbers; // of the new model's weights
  SmallerReport report;
};

} // namespace

/// The only op that multiplies by the weight, where that is x w^T for all rows of x.
static Operation *linearOf(dl::WeightOp op) {
  if (!op->hasOneUse() || dl::typeOf(op.getY()).getRank() != 2)
    return nullptr;
  OpOperand &use = *op->use_begin();
  if (use.getOperandNumber() != 1)
    return nullptr;
  if (auto product = dyn_cast<dl::MatmulOp>(use.getOwner()))
    return dl::typeOf(product.getX()).getRank() > 1 ? product.getOperation() : nullptr;
  return isa<dl::LinearOp>(use.getOwner()) ? use.getOwner() : nullptr;
}

std::string LowRankPruning::whyKept(const PrunableWeight &weight, dl::WeightOp op) const {
  if (!weight.whyKept.empty())
    return weight.whyKept;
  if (weight.readings.size() != 1 || weight.readings.front().groups != 1 || !linearOf(op))
    return "not of a linear layer";
  const WeightReading &reading = weight.readings.front();
  const auto rows = static_cast<int64_t>(reading.rows.size()),
             columns = static_cast<int64_t>(reading.columns.size());
  if (rows + columns >= rows * columns)
    return "two layers would multiply more";
  if (dl::mentions(dl::dimsOf(reading.op->getOperand(1 - reading.weight)),
                   dl::countedSymbols(model.module())))
    return "the data say how many elements its input has";
  return "";
}

int LowRankPruning::choose() {
  llvm::StringMap<dl::WeightOp> ops;
  model.module().walk([&](dl::WeightOp op) { ops[op.getName()] = op; });
  std::string reasons;
  for (const PrunableWeight &weight : weights) {
    const PrunedModel::Place &place = *model.find(weight.name);
    dl::WeightOp op = ops[weight.name];
    const std::string why = whyKept(weight, op);
    if (!why.empty()) {
      reasons += (reasons.empty() ? "" : ", ") + place.path + " (" + why + ")";
      continue;
    }
    layers.push_back({&weight, &place, op});
  }
  return layers.empty()
             ? fail(kModelError, "no weight of '" + options.input + "' can be pruned: " + reasons)
             : static_cast<int>(kOk);
}

/// The matrices of these layers, without moments where there are no data.
int LowRankPruning::measure(ArrayRef<size_t> chosen, std::vector<LayerMatrix> &matrices) {
  std::vector<const PrunableWeight *> own;
  for (size_t index : chosen)
    own.push_back(layers[index].weight);
  matrices.clear();
  if (options.calibration.data.empty()) {
    for (size_t index : chosen)
      matrices.push_back({layers[index].place, layers[index].weight->readings.data(), {}});
    return kOk;
  }
  std::vector<std::vector<LayerMatrix>> all;
  if (int code = measureLayers(model, plain, own, options.calibration, all))
    return code;
  for (std::vector<LayerMatrix> &each : all)
    matrices.push_back(std::move(each.front()));
  return kOk;
}

/// Ranks by what the layers read before any of them has changed.
int LowRankPruning::chooseRanks() {
  std::vector<size_t> all;
  for (size_t index = 0; index < layers.size(); ++index)
    all.push_back(index);
  std::vector<LayerMatrix> matrices;
  if (int code = measure(all, matrices))
    return code;
  std::vector<RankedWeight> ranked;
  for (auto [layer, matrix] : llvm::zip_equal(layers, matrices)) {
    const std::vector<int64_t> order = inOrder(layer.columns());
    std::vector<double> moment;
    if (!options.calibration.data.empty())
      moment = matrix.momentOf(0, order, static_cast<bool>(shiftOf(*layer.weight, model)));
    ranked.push_back(
        {layer.rows(), layer.columns(),
         singularSquares(matrix.weightsOf(model, 0, order), layer.rows(), moment, kDampening)});
  }
  auto ranks = dlc::chooseRanks(ranked, 1 - *options.sparsity);
  if (!ranks)
    return fail(kModelError, llvm::formatv("--sparsity {0} of the linear layers cannot go: rank 1 "
                                           "of each leaves more; expected less",
                                           *options.sparsity)
                                 .str());
  for (auto [layer, rank] : llvm::zip_equal(layers, *ranks))
    layer.rank = rank;
  llvm::erase_if(layers, [](const Factored &layer) { return layer.rank == 0; });
  return kOk;
}

void LowRankPruning::factor(Factored &layer, const LayerMatrix &matrix, bool isMeasured) {
  const std::vector<int64_t> order = inOrder(layer.columns());
  if (!isMeasured) {
    layer.factors =
        factorLowRank(matrix.weightsOf(model, 0, order), layer.rows(), {}, kDampening, layer.rank);
    return;
  }
  const LayerShift shift = shiftOf(*layer.weight, model);
  const bool isCentred = static_cast<bool>(shift);
  const std::vector<double> moment = matrix.momentOf(0, order, isCentred);
  layer.factors = factorLowRank(matrix.targetOf(model, 0, order, moment, isCentred, kDampening),
                                layer.rows(), moment, kDampening, layer.rank);
  // The layers after it see what it gives now.
  std::vector<double> product(layer.rows() * layer.columns());
  for (int64_t row = 0; row < layer.rows(); ++row)
    for (int64_t k = 0; k < layer.rank; ++k)
      for (int64_t column = 0; column < layer.columns(); ++column)
        product[row * layer.columns() + column] +=
            layer.factors.left[row * layer.rank + k] *
            layer.factors.right[k * layer.columns() + column];
  matrix.replace(model, 0, order, product, shift);
}

int LowRankPruning::factor() {
  std::vector<const PrunableWeight *> all;
  for (const Factored &layer : layers)
    all.push_back(layer.weight);
  for (auto &[level, stage] : layerStages(plain, all)) {
    std::vector<LayerMatrix> matrices;
    if (int code = measure(stage, matrices))
      return code;
    for (auto [i, index] : llvm::enumerate(stage))
      factor(layers[index], matrices[i], !options.calibration.data.empty());
  }
  return kOk;
}

/// The numbers in the type of the layer's weight.
std::vector<uint8_t> LowRankPruning::stored(const Factored &layer, ArrayRef<double> values) {
  StoredNumbers before = model.numbersOf(*layer.place);
  std::vector<uint8_t> bytes(values.size() * before.width());
  StoredNumbers after{before.type, bytes};
  for (auto [at, value] : llvm::enumerate(values))
    after.set(at, value);
  return bytes;
}

/// x w^T + b becomes (x right^T) left^T + b: layers "fc.0" and "fc.1" where there was "fc".
void LowRankPruning::split(Factored &layer) {
  StringRef base = layer.place->path;
  base.consume_back(".weight");
  Operation *product = linearOf(layer.op);
  dl::Builder builder(layer.op);
  auto narrow = [&](StringRef index, ArrayRef<int64_t> shape, ArrayRef<double> values) -> Value {
    auto op = cast<dl::WeightOp>(builder.clone(*layer.op));
    op.setName((base + "." + index + ".weight").str());
    op.getY().setType(RankedTensorType::get(shape, dl::typeOf(op.getY()).getElementType()));
    numbers[op.getName()] = stored(layer, values);
    return op.getY();
  };
  Value right = narrow("0", {layer.rank, layer.columns()}, layer.factors.right),
        left = narrow("1", {layer.rows(), layer.rank}, layer.factors.left), bias;
  if (product->getNumOperands() > 2) {
    bias = product->getOperand(2);
    auto own = bias.getDefiningOp<dl::WeightOp>();
    if (own && own->hasOneUse() && own.getName() == (base + ".bias").str()) {
      auto held = numbers.find(own.getName());
      own.setName((base + ".1.bias").str());
      numbers[own.getName()] = held->second;
    }
  }
  builder.setInsertionPoint(product);
  builder.setLoc(product->getLoc());
  Value y = builder.make<dl::LinearOp>(product->getOperand(0), right, Value());
  y = builder.make<dl::LinearOp>(y, left, bias);
  product->getResult(0).replaceAllUsesWith(y);
  product->erase();
  layer.op.erase();
}

static double multiplicationsOf(ModuleOp module) {
  ChannelGroups groups(*module.getOps<func::FuncOp>().begin(), [](dl::WeightOp) { return true; });
  return groups.multiplications(llvm::BitVector(groups.size()));
}

int LowRankPruning::write() {
  report.multiplicationsBefore = multiplicationsOf(model.module());
  llvm::StringMap<std::vector<int64_t>> before; // dims
  model.module().walk([&](dl::WeightOp op) {
    if (const PrunedModel::Place *place = model.find(op.getName())) {
      numbers[op.getName()] = model.bytesNow(*place);
      before[place->path] = {place->tensor->shape.begin(), place->tensor->shape.end()};
    }
  });
  for (Factored &layer : layers)
    split(layer);
  if (failed(verify(model.module())))
    return kInternal;
  report.multiplicationsAfter = multiplicationsOf(model.module());
  ImportedText written;
  if (int code = model.writeChanged(options, numbers, written))
    return code;
  for (const Factored &layer : layers)
    report.weights.push_back({layer.place->path, before[layer.place->path], {}});
  for (const onnx::NamedWeight &weight : written.weights) {
    std::vector<int64_t> after =
        dl::typeOf(cast<dl::WeightOp>(weight.weight).getY()).getShape().vec();
    if (weight.isTransposed)
      std::reverse(after.begin(), after.end());
    StringRef path = weight.path;
    std::string old = path.consume_back(".1.bias") ? (path + ".bias").str() : weight.path;
    auto known = before.find(weight.path);
    if (known == before.end())
      known = before.find(old);
    const bool isNew = known == before.end();
    report.weights.push_back({weight.path, isNew ? std::vector<int64_t>() : known->second, after});
  }
  return finishReport(report, options);
}

int LowRankPruning::run() {
  if (int code = choose())
    return code;
  for (const Factored &layer : layers)
    if (int code = checkFinite(model, *layer.place))
      return code;
  model.keepBefore();
  if (int code = chooseRanks())
    return code;
  if (int code = factor())
    return code;
  return write();
}

int pruneLowRank(PrunedModel &model, ModuleOp plain, ArrayRef<PrunableWeight> weights,
                 const PruneOptions &options) {
  return LowRankPruning(model, plain, weights, options).run();
}

} // namespace dlc
