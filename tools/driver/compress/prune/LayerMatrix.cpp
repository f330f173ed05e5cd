//===- LayerMatrix.cpp - The weights of a layer beside what they are multiplied with ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/prune/LayerMatrix.h"

#include "ir/dl/DLOps.h"
#include "passes/compress/Cholesky.h"
#include "tools/driver/base/Output.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace dlc {

LayerShift shiftOf(const PrunableWeight &weight, PrunedModel &model) {
  if (weight.readings.size() != 1)
    return {};
  const WeightReading &reading = weight.readings.front();
  Operation *op = reading.op;
  auto own = [&](Value value) -> const PrunedModel::Place * {
    auto shift = value.getDefiningOp<dl::WeightOp>();
    const PrunedModel::Place *place =
        shift && shift->hasOneUse() ? model.find(shift.getName()) : nullptr;
    return place && model.numbersOf(*place).size() == reading.rows.size() ? place : nullptr;
  };
  if (op->getNumOperands() > 2)
    if (const PrunedModel::Place *bias = own(op->getOperand(2)))
      return {bias, 1};
  if (!op->hasOneUse())
    return {};
  auto norm = dyn_cast<dl::BatchNormOp>(*op->user_begin());
  if (!norm || norm.getX() != op->getResult(0))
    return {};
  return {own(norm.getRunningMean()), -1};
}

std::vector<double> LayerMatrix::weightsOf(PrunedModel &model, int64_t group,
                                           ArrayRef<int64_t> order) const {
  StoredNumbers numbers = model.numbersOf(*place);
  std::vector<double> weights;
  weights.reserve(rows() * columns());
  for (int64_t row = 0; row < rows(); ++row)
    for (int64_t column : order)
      weights.push_back(numbers.at(position(group, row, column)));
  return weights;
}

std::vector<double> LayerMatrix::targetOf(PrunedModel &model, int64_t group,
                                          ArrayRef<int64_t> order, ArrayRef<double> own,
                                          bool isCentred, double dampening) const {
  const int64_t size = columns();
  std::vector<double> weights = weightsOf(model, group, order);
  double added = 0;
  const std::vector<double> factor = dampedFactor(own, size, dampening, added);
  ArrayRef<double> cross = ArrayRef(moment.cross).slice(group * size * size, size * size),
                   sums = moment.sumsOf(group),
                   others = ArrayRef(moment.referenceSums).slice(group * size, size);
  std::vector<double> together(size * size); // x^T z
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j)
      together[i * size + j] =
          own[i * (size + 1)] == 0
              ? 0
              : cross[order[i] * size + order[j]] -
                    (isCentred ? sums[order[i]] * others[order[j]] / moment.rows : 0);
  std::vector<double> solved(size);
  for (int64_t row = 0; row < rows(); ++row) {
    double *line = weights.data() + row * size;
    for (int64_t i = 0; i < size; ++i) {
      solved[i] = added * line[i];
      for (int64_t j = 0; j < size; ++j)
        solved[i] += together[i * size + j] * line[j];
    }
    solveCholesky(factor, solved);
    llvm::copy(solved, line);
  }
  return weights;
}

void LayerMatrix::replace(PrunedModel &model, int64_t group, ArrayRef<int64_t> order,
                          ArrayRef<double> weights, const LayerShift &shift) const {
  StoredNumbers numbers = model.numbersOf(*place);
  ArrayRef<double> sums = moment.sumsOf(group),
                   others = ArrayRef(moment.referenceSums).slice(group * columns(), columns());
  for (int64_t row = 0; row < rows(); ++row) {
    double lost = 0;
    for (auto [i, column] : llvm::enumerate(order)) {
      const uint64_t at = position(group, row, column);
      const double before = numbers.at(at);
      numbers.set(at, weights[row * columns() + static_cast<int64_t>(i)]);
      lost += before * others[column] - numbers.at(at) * sums[column];
    }
    if (!shift)
      continue;
    StoredNumbers shifts = model.numbersOf(*shift.place);
    const uint64_t at = group * rows() + row;
    shifts.set(at, shifts.at(at) + shift.sign * lost / moment.rows);
  }
}

std::vector<double> LayerMatrix::momentOf(int64_t group, ArrayRef<int64_t> order,
                                          bool isCentred) const {
  ArrayRef<double> products = moment.productsOf(group), sums = moment.sumsOf(group);
  const int64_t size = columns();
  std::vector<double> result(products.size());
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j) {
      const double mean = isCentred ? sums[order[i]] * sums[order[j]] / moment.rows : 0;
      result[i * size + j] = products[order[i] * size + order[j]] - mean;
    }
  // What rounding in f32 leaves of a column that is constant is no variance.
  for (int64_t i = 0; i < size; ++i)
    if (result[i * (size + 1)] <= 1e-6 * products[order[i] * (size + 1)])
      for (int64_t j = 0; j < size; ++j)
        result[i * size + j] = result[j * size + i] = 0;
  return result;
}

double squaresOf(ArrayRef<double> weights, ArrayRef<double> moment, int64_t columns) {
  double sum = 0;
  for (size_t row = 0; row < weights.size() / columns; ++row) {
    const double *own = weights.data() + row * columns;
    for (int64_t i = 0; i < columns; ++i) {
      double product = 0;
      for (int64_t j = 0; j < columns; ++j)
        product += moment[i * columns + j] * own[j];
      sum += own[i] * product;
    }
  }
  return sum;
}

std::vector<int64_t> inOrder(int64_t size) {
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::map<unsigned, std::vector<size_t>> layerStages(ModuleOp plain,
                                                    ArrayRef<const PrunableWeight *> weights) {
  llvm::DenseMap<Operation *, size_t> products;
  for (auto [index, weight] : llvm::enumerate(weights))
    for (const WeightReading &reading : weight->readings)
      products.try_emplace(reading.op, index);
  std::map<unsigned, std::vector<size_t>> stages;
  llvm::DenseMap<Value, unsigned> levels;
  llvm::DenseSet<size_t> done;
  for (Operation &op : (*plain.getOps<func::FuncOp>().begin()).front()) {
    unsigned level = 0;
    for (Value operand : op.getOperands())
      level = std::max(level, levels.lookup(operand));
    auto product = products.find(&op);
    if (product != products.end()) {
      if (done.insert(product->second).second)
        stages[level].push_back(product->second);
      ++level;
    }
    for (Value result : op.getResults())
      levels[result] = level;
  }
  return stages;
}

static bool isSameMatrix(const WeightReading &a, const WeightReading &b) {
  return a.groups == b.groups && a.rows == b.rows && a.columns == b.columns;
}

int measureLayers(PrunedModel &model, ModuleOp plain, ArrayRef<const PrunableWeight *> weights,
                  const CalibrationOptions &calibration,
                  std::vector<std::vector<LayerMatrix>> &matrices) {
  std::vector<TappedProduct> products;
  for (const PrunableWeight *weight : weights)
    for (const WeightReading &reading : weight->readings)
      products.push_back({reading.op, 1 - reading.weight});
  ProductStatistics statistics;
  auto read = [&](Operation *weight, StringRef file, StringRef name) {
    return model.readNow(weight, file, name);
  };
  model.readFromHere(plain);
  if (int code =
          measureProducts(plain, products, calibration, read, PrunedModel::kBefore, statistics))
    return code;
  auto next = statistics.moments.begin();
  matrices.clear();
  for (const PrunableWeight *weight : weights) {
    std::vector<LayerMatrix> &own = matrices.emplace_back();
    for (const WeightReading &reading : weight->readings) {
      InputMoment moment = std::move(*next++);
      auto known = llvm::find_if(
          own, [&](const LayerMatrix &matrix) { return isSameMatrix(*matrix.reading, reading); });
      if (known == own.end())
        own.push_back({model.find(weight->name), &reading, std::move(moment)});
      else
        known->moment.add(moment);
    }
  }
  return kOk;
}

int checkFinite(PrunedModel &model, const PrunedModel::Place &place) {
  StoredNumbers numbers = model.numbersOf(place);
  for (uint64_t i = 0, size = numbers.size(); i < size; ++i)
    if (!std::isfinite(numbers.at(i)))
      return fail(kModelError, "weight '" + place.path +
                                   "' holds NaN or infinities; expected finite numbers, or leave "
                                   "it alone by --skip");
  return kOk;
}

} // namespace dlc
