//===- CalibratedPruning.cpp - Zeros chosen by what the layers read -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/prune/CalibratedPruning.h"

#include "passes/compress/prune/SparseGpt.h"
#include "passes/compress/prune/SparsityAllocation.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/compress/prune/LayerMatrix.h"

#include <array>
#include <cmath>

using namespace mlir;

namespace dlc {

namespace {

class CalibratedPruning {
public:
  CalibratedPruning(PrunedModel &model, ModuleOp plain, ArrayRef<ChosenWeight> chosen,
                    const PruneOptions &options)
      : model(model), plain(plain), chosen(chosen), options(options) {}
  int run();

private:
  int runStage(ArrayRef<size_t> stage);
  int allocate(ArrayRef<const PrunableWeight *> weights);
  SparseGptOptions sparseGptOptions(double share) const;
  SensitivityCurve sensitivityOf(const ChosenWeight &weight, ArrayRef<LayerMatrix> matrices);
  std::vector<double> scoresOf(const ChosenWeight &weight, ArrayRef<LayerMatrix> matrices);
  void pruneByScores(ArrayRef<size_t> stage, ArrayRef<std::vector<LayerMatrix>> matrices);
  void pruneBySparseGpt(size_t index, ArrayRef<LayerMatrix> matrices);

  PrunedModel &model;
  ModuleOp plain;
  ArrayRef<ChosenWeight> chosen;
  const PruneOptions &options;
  std::vector<double> shares; // of zeros, of each chosen weight
};

} // namespace

/// The shares of zeros at which a layer's sensitivity is measured; no layer gets more than the last
/// one.
static constexpr std::array kShares = {0.2,  0.4, 0.5,   0.6,  0.7,  0.75, 0.8,
                                       0.85, 0.9, 0.925, 0.95, 0.97, 0.985};

/// The columns in an order in which four neighbours of the weight's runs follow one another; empty
/// where they do not for every row.
static std::vector<int64_t> orderByFours(const WeightReading &reading, SumRuns runs) {
  const uint64_t span = runs.length * runs.stride;
  auto placeOf = [&](uint64_t position) { // block, run, place in the run
    const uint64_t inside = position % span;
    return std::tuple(position / span, inside % runs.stride, inside / runs.stride);
  };
  std::vector<int64_t> order = inOrder(static_cast<int64_t>(reading.columns.size()));
  const uint64_t first = reading.rows.front();
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return placeOf(first + reading.columns[a]) < placeOf(first + reading.columns[b]);
  });
  if (order.size() % 4 != 0)
    return {};
  for (uint64_t row : reading.rows)
    for (size_t i = 0; i < order.size(); ++i) {
      const uint64_t leader = row + reading.columns[order[i - i % 4]];
      if (std::get<2>(placeOf(leader)) % 4 != 0 ||
          row + reading.columns[order[i]] != leader + i % 4 * runs.stride)
        return {};
    }
  return order;
}

std::string whyNotCalibrated(const PrunableWeight &weight, bool isGrouped) {
  if (weight.readings.empty())
    return "a product reads it in no plain matrix";
  llvm::SmallBitVector counted =
      dl::countedSymbols(weight.readings.front().op->getParentOfType<ModuleOp>());
  for (auto [i, reading] : llvm::enumerate(weight.readings)) {
    auto type = cast<RankedTensorType>(reading.op->getOperand(1 - reading.weight).getType());
    if (dl::mentions(dl::getDims(type), counted))
      return "the data say how many elements its input has";
    if (isGrouped && orderByFours(reading, *weight.runs).empty())
      return "its sums read it in no regular runs";
    // Products share all numbers of the weight or none.
    for (const WeightReading &other : ArrayRef(weight.readings).drop_front(i + 1)) {
      if (reading.groups == other.groups && reading.rows == other.rows &&
          reading.columns == other.columns)
        continue;
      llvm::DenseSet<uint64_t> own;
      for (uint64_t row : reading.rows)
        for (uint64_t column : reading.columns)
          own.insert(row + column);
      for (uint64_t row : other.rows)
        for (uint64_t column : other.columns)
          if (own.contains(row + column))
            return "its products read it in different ways";
    }
  }
  return "";
}

/// |w| times the root mean square of what it is multiplied with, in the order of the file.
std::vector<double> CalibratedPruning::scoresOf(const ChosenWeight &weight,
                                                ArrayRef<LayerMatrix> matrices) {
  StoredNumbers numbers = model.numbersOf(*weight.place);
  std::vector<double> scores(numbers.size());
  for (uint64_t i = 0; i < scores.size(); ++i)
    scores[i] = std::fabs(numbers.at(i));
  for (const LayerMatrix &matrix : matrices)
    for (int64_t group = 0; group < matrix.reading->groups; ++group) {
      ArrayRef<double> products = matrix.moment.productsOf(group);
      for (int64_t row = 0; row < matrix.rows(); ++row)
        for (int64_t column = 0; column < matrix.columns(); ++column)
          scores[matrix.position(group, row, column)] *=
              std::sqrt(products[column * (matrix.columns() + 1)] / matrix.moment.rows);
    }
  return scores;
}

static StoredNumbers stored(std::vector<double> &numbers) {
  return {FloatStorage::f64, {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * 8}};
}

void CalibratedPruning::pruneByScores(ArrayRef<size_t> stage,
                                      ArrayRef<std::vector<LayerMatrix>> matrices) {
  std::vector<std::vector<double>> scores;
  for (auto [i, index] : llvm::enumerate(stage))
    scores.push_back(scoresOf(chosen[index], matrices[i]));
  std::vector<StoredNumbers> all;
  for (std::vector<double> &own : scores)
    all.push_back(stored(own));
  std::vector<ZeroMask> masks;
  if (options.pattern == "global")
    masks = smallestNumbers(all, *options.sparsity);
  for (auto [i, index] : llvm::enumerate(stage)) {
    const ChosenWeight &weight = chosen[index];
    if (options.pattern == "block")
      masks.push_back(smallestBlocks(
          all[i], PrunedModel::blocksInFile(*weight.place, *weight.weight), *options.sparsity));
    else if (options.pattern == "layer")
      masks.push_back(std::move(smallestNumbers(all[i], *options.sparsity).front()));
    else if (options.pattern == "2:4")
      masks.push_back(
          smallestTwoOfFour(all[i], *PrunedModel::runsInFile(*weight.place, weight.weight->runs)));
    weight.report->effect = makeZero(model.numbersOf(*weight.place), masks[i]);
  }
}

SparseGptOptions CalibratedPruning::sparseGptOptions(double share) const {
  SparseGptOptions method;
  if (options.pattern != "2:4")
    method.share = share;
  if (options.pattern == "block")
    method.rowsTogether = kBlockRows;
  return method;
}

/// The error that zeros in the weight make in the output of its layer, as a part of the squares of
/// that output.
SensitivityCurve CalibratedPruning::sensitivityOf(const ChosenWeight &weight,
                                                  ArrayRef<LayerMatrix> matrices) {
  const LayerShift shift = shiftOf(*weight.weight, model);
  SensitivityCurve curve;
  double squares = 0;
  std::vector<double> changed(kShares.size());
  for (const LayerMatrix &matrix : matrices)
    for (int64_t group = 0; group < matrix.reading->groups; ++group) {
      const std::vector<int64_t> order = inOrder(matrix.columns());
      const std::vector<double> moment = matrix.momentOf(group, order, static_cast<bool>(shift));
      const std::vector<double> whole = matrix.weightsOf(model, group, order);
      curve.numbers += whole.size();
      squares += squaresOf(whole, moment, matrix.columns());
      for (auto [share, change] : llvm::zip_equal(kShares, changed)) {
        std::vector<double> own = whole;
        sparseGpt(own, matrix.rows(), moment, sparseGptOptions(share));
        for (size_t i = 0; i < own.size(); ++i)
          own[i] -= whole[i];
        change += squaresOf(own, moment, matrix.columns());
      }
    }
  curve.points.push_back({0, 0});
  for (auto [share, change] : llvm::zip_equal(kShares, changed))
    curve.points.push_back({share, squares > 0 ? change / squares : 0});
  return curve;
}

/// Finds the share of zeros of each weight by what it costs its own layer, on what the whole model
/// gives.
int CalibratedPruning::allocate(ArrayRef<const PrunableWeight *> weights) {
  std::vector<std::vector<LayerMatrix>> matrices;
  if (int code = measureLayers(model, plain, weights, options.calibration, matrices))
    return code;
  std::vector<SensitivityCurve> curves;
  for (auto [weight, own] : llvm::zip_equal(chosen, matrices))
    curves.push_back(sensitivityOf(weight, own));
  shares = allocateSparsity(curves, *options.sparsity);
  return kOk;
}

void CalibratedPruning::pruneBySparseGpt(size_t index, ArrayRef<LayerMatrix> matrices) {
  const ChosenWeight &weight = chosen[index];
  StoredNumbers numbers = model.numbersOf(*weight.place);
  const LayerShift shift = shiftOf(*weight.weight, model);
  std::vector<double> before(numbers.size());
  for (uint64_t i = 0; i < before.size(); ++i)
    before[i] = numbers.at(i);
  const SparseGptOptions method = sparseGptOptions(shares[index]);
  double squares = 0, changed = 0;
  for (const LayerMatrix &matrix : matrices) {
    const std::vector<int64_t> order = method.share
                                           ? inOrder(matrix.columns())
                                           : orderByFours(*matrix.reading, *weight.weight->runs);
    for (int64_t group = 0; group < matrix.reading->groups; ++group) {
      const bool isCentred = static_cast<bool>(shift);
      const std::vector<double> moment = matrix.momentOf(group, order, isCentred);
      const std::vector<double> target =
          matrix.targetOf(model, group, order, moment, isCentred, method.dampening);
      std::vector<double> own = target;
      if (options.steps > 1) {
        sparsifyInSteps(own, target, matrix.rows(), moment,
                        cubicSchedule(shares[index], options.steps), method);
      } else {
        sparseGpt(own, matrix.rows(), moment, method);
        fitWeights(own, target, matrix.rows(), moment, method.dampening);
      }
      matrix.replace(model, group, order, own, shift);
      squares += squaresOf(target, moment, matrix.columns());
      for (size_t i = 0; i < own.size(); ++i)
        own[i] -= target[i];
      changed += squaresOf(own, moment, matrix.columns());
    }
  }
  weight.report->effect = effectOf(numbers, before);
  weight.report->outputError = squares > 0 ? std::sqrt(changed / squares) : 0;
}

int CalibratedPruning::runStage(ArrayRef<size_t> stage) {
  std::vector<const PrunableWeight *> weights;
  for (size_t index : stage)
    weights.push_back(chosen[index].weight);
  std::vector<std::vector<LayerMatrix>> matrices;
  if (int code = measureLayers(model, plain, weights, options.calibration, matrices))
    return code;
  if (options.method == "wanda") {
    pruneByScores(stage, matrices);
    return kOk;
  }
  for (auto [i, index] : llvm::enumerate(stage))
    pruneBySparseGpt(index, matrices[i]);
  return kOk;
}

int CalibratedPruning::run() {
  std::vector<const PrunableWeight *> weights;
  std::vector<size_t> all;
  for (auto [index, weight] : llvm::enumerate(chosen)) {
    if (int code = checkFinite(model, *weight.place))
      return code;
    weights.push_back(weight.weight);
    all.push_back(index);
  }
  model.keepBefore();
  shares.assign(chosen.size(), options.sparsity.value_or(0.5));
  if (options.allocation == "sensitivity")
    if (int code = allocate(weights))
      return code;
  if (options.pattern == "global")
    return runStage(all);
  for (auto &[level, stage] : layerStages(plain, weights))
    if (int code = runStage(stage))
      return code;
  return kOk;
}

int pruneCalibrated(PrunedModel &model, ModuleOp plain, ArrayRef<ChosenWeight> chosen,
                    const PruneOptions &options) {
  return CalibratedPruning(model, plain, chosen, options).run();
}

} // namespace dlc
