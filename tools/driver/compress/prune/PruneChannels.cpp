//===- PruneChannels.cpp - dlc prune --pattern channels -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/prune/PruneChannels.h"

#include "passes/compress/ColumnFit.h"
#include "passes/compress/prune/ChannelGroups.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/compress/prune/CalibratedPruning.h"
#include "tools/driver/compress/prune/LayerMatrix.h"
#include "tools/driver/compress/prune/PruneReport.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace dlc {

namespace {

/// Added to the diagonal of x^T x, as a part of its mean.
constexpr double kDampening = 0.01;

/// A weight that is multiplied with channels which may go.
struct Consumer {
  const PrunableWeight *weight;
  std::vector<std::optional<size_t>> groups; // of each column
  std::vector<ColumnCosts> parts = {};       // of each group of a convolution; empty without data
  double squares = 0;                        // of all that the layer gives
};

class ChannelPruning {
public:
  ChannelPruning(PrunedModel &model, ModuleOp plain, ArrayRef<PrunableWeight> weights,
                 const PruneOptions &options, const ChannelGroups &groups)
      : model(model), plain(plain), weights(weights), options(options), groups(groups),
        removed(groups.size()), costs(groups.size()) {}
  int run();

private:
  void findConsumers();
  int learnCosts();
  void addNorms();
  void updateCosts(ArrayRef<size_t> changed);
  void remove(ArrayRef<size_t> chosen);
  int select();
  int fit();
  int write();
  std::vector<uint8_t> numbersLeft(dl::WeightOp op);

  bool isCalibrated() const { return !options.calibration.data.empty(); }
  bool usesCosts() const { return options.method == "obs"; }

  PrunedModel &model;
  ModuleOp plain;
  ArrayRef<PrunableWeight> weights;
  const PruneOptions &options;
  const ChannelGroups &groups;
  llvm::BitVector removed; // groups
  std::vector<double> costs;
  std::vector<Consumer> consumers;
  llvm::StringMap<dl::WeightOp> ops; // of the model, by name
};

} // namespace

/// Which of a weight's dims its products sum over shows where the columns differ. A weight of which
/// products read other columns is none: what reads it is not fitted.
void ChannelPruning::findConsumers() {
  model.module().walk([&](dl::WeightOp op) { ops[op.getName()] = op; });
  for (const PrunableWeight &weight : weights) {
    if (!whyNotCalibrated(weight, /*isGrouped=*/false).empty())
      continue;
    const WeightReading &reading = weight.readings.front();
    dl::WeightOp op = ops.at(weight.name);
    ArrayRef<int64_t> shape = dl::typeOf(op.getY()).getShape();
    auto indexOf = [&](uint64_t position, size_t dim) {
      for (size_t inner = shape.size(); --inner > dim;)
        position /= shape[inner];
      return static_cast<int64_t>(position % shape[dim]);
    };
    Consumer consumer{&weight, std::vector<std::optional<size_t>>(reading.columns.size())};
    for (unsigned dim = 0; dim < shape.size(); ++dim) {
      if (llvm::all_of(reading.columns, [&](uint64_t column) { return indexOf(column, dim) == 0; }))
        continue;
      if (llvm::any_of(weight.readings, [&](const WeightReading &other) {
            return other.columns != reading.columns || indexOf(other.rows.front(), dim) != 0;
          })) {
        consumer.groups.clear();
        break;
      }
      for (auto [group, column] : llvm::zip_equal(consumer.groups, reading.columns))
        if (auto found = groups.groupOf(op.getY(), dim, indexOf(column, dim)))
          group = found;
    }
    if (llvm::any_of(consumer.groups, [](auto group) { return group.has_value(); }))
      consumers.push_back(std::move(consumer));
  }
}

/// Measures all consumers on the model as it is.
int ChannelPruning::learnCosts() {
  std::vector<const PrunableWeight *> all;
  for (const Consumer &consumer : consumers)
    all.push_back(consumer.weight);
  std::vector<std::vector<LayerMatrix>> matrices;
  if (int code = measureLayers(model, plain, all, options.calibration, matrices))
    return code;
  for (auto [consumer, own] : llvm::zip_equal(consumers, matrices)) {
    const bool isCentred = static_cast<bool>(shiftOf(*consumer.weight, model));
    for (const LayerMatrix &matrix : own)
      for (int64_t group = 0; group < matrix.reading->groups; ++group) {
        const std::vector<int64_t> order = inOrder(matrix.columns());
        std::vector<double> numbers = matrix.weightsOf(model, group, order),
                            moment = matrix.momentOf(group, order, isCentred);
        consumer.squares += squaresOf(numbers, moment, matrix.columns());
        consumer.parts.emplace_back(std::move(numbers), moment, matrix.columns(), kDampening);
      }
  }
  std::vector<size_t> every(groups.size());
  for (size_t group = 0; group < every.size(); ++group)
    every[group] = group;
  updateCosts(every);
  return kOk;
}

/// The part of what all consumers of a group give that would change.
void ChannelPruning::updateCosts(ArrayRef<size_t> changed) {
  std::vector<bool> isChanged(groups.size());
  for (size_t group : changed) {
    isChanged[group] = true;
    costs[group] = 0;
  }
  for (const Consumer &consumer : consumers) {
    llvm::MapVector<size_t, std::vector<int64_t>> columns;
    for (auto [column, group] : llvm::enumerate(consumer.groups))
      if (group && isChanged[*group] && !removed.test(*group))
        columns[*group].push_back(static_cast<int64_t>(column));
    for (auto &[group, own] : columns)
      for (const ColumnCosts &part : consumer.parts)
        if (consumer.squares > 0)
          costs[group] += part.costOf(own) / consumer.squares;
  }
}

/// For each group the norms of its slices of products, each as a part of the whole weight's.
void ChannelPruning::addNorms() {
  const bool isSquared = options.method == "l2";
  llvm::StringMap<std::vector<std::vector<double>>> norms; // by dim and index
  llvm::StringMap<double> wholes;
  for (const PrunableWeight &weight : weights) {
    ArrayRef<int64_t> shape = dl::typeOf(ops[weight.name].getY()).getShape();
    const PrunedModel::Place &place = *model.find(weight.name);
    StoredNumbers numbers = model.numbersOf(place);
    auto &own = norms[weight.name];
    for (int64_t size : shape)
      own.emplace_back(size);
    double &whole = wholes[weight.name];
    for (uint64_t at = 0, size = numbers.size(); at < size; ++at) {
      const double number = numbers.at(PrunedModel::positionInFile(place, at));
      const double part = isSquared ? number * number : std::fabs(number);
      whole += part;
      uint64_t rest = at;
      for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
        own[dim][rest % shape[dim]] += part;
    }
  }
  for (size_t group = 0; group < groups.size(); ++group)
    for (const ChannelGroups::Slice &slice : groups.slicesOf(group)) {
      dl::WeightOp op = slice.weight;
      auto found = norms.find(op.getName());
      if (found != norms.end() && wholes[op.getName()] > 0)
        costs[group] += found->second[slice.dim][slice.index] / wholes[op.getName()];
    }
}

void ChannelPruning::remove(ArrayRef<size_t> chosen) {
  for (size_t group : chosen)
    removed.set(group);
  if (!usesCosts())
    return;
  llvm::SetVector<size_t> changed;
  for (Consumer &consumer : consumers) {
    std::vector<int64_t> columns;
    for (auto [column, group] : llvm::enumerate(consumer.groups))
      if (group && llvm::is_contained(chosen, *group))
        columns.push_back(static_cast<int64_t>(column));
    if (columns.empty())
      continue;
    for (ColumnCosts &part : consumer.parts)
      part.remove(columns);
    for (auto group : consumer.groups)
      if (group && !removed.test(*group))
        changed.insert(*group);
  }
  updateCosts(changed.getArrayRef());
}

/// Again and again the channels of that layer whose loss costs least for each multiplication saved.
int ChannelPruning::select() {
  const double all = groups.multiplications(removed), wanted = all * (1 - *options.sparsity);
  double now = all;
  while (now > wanted) {
    std::map<unsigned, std::vector<size_t>> left; // by set
    for (size_t group = 0; group < groups.size(); ++group)
      if (!removed.test(group))
        left[groups.setOf(group)].push_back(group);
    double best = HUGE_VAL;
    std::vector<size_t> chosen;
    for (auto &[set, own] : left) {
      const auto multiple = static_cast<size_t>(options.channelMultiple);
      const size_t count = own.size() % multiple ? own.size() % multiple : multiple;
      llvm::sort(
          own, [&](size_t a, size_t b) { return std::pair(costs[a], a) < std::pair(costs[b], b); });
      own.resize(count);
      llvm::BitVector next = removed;
      double cost = 0;
      for (size_t group : own) {
        next.set(group);
        cost += costs[group];
      }
      const double saved = now - groups.multiplications(next);
      if (saved > 0 && cost / saved < best && groups.leavesEach(next)) {
        best = cost / saved;
        chosen = own;
      }
    }
    if (chosen.empty())
      return fail(kModelError,
                  llvm::formatv("--sparsity {0} of the multiplications cannot go with whole "
                                "channels: {1:F2} % are the most; expected less",
                                *options.sparsity, 100 * (1 - now / all))
                      .str());
    remove(chosen);
    now = groups.multiplications(removed);
  }
  return kOk;
}

/// Layer after layer, what reads removed channels takes over what they gave.
int ChannelPruning::fit() {
  std::vector<const PrunableWeight *> fitted;
  std::vector<llvm::BitVector> gone; // columns
  for (const Consumer &consumer : consumers) {
    llvm::BitVector columns(consumer.groups.size());
    for (auto [column, group] : llvm::enumerate(consumer.groups))
      if (group && removed.test(*group))
        columns.set(column);
    if (columns.none())
      continue;
    fitted.push_back(consumer.weight);
    gone.push_back(std::move(columns));
  }
  for (auto &[level, stage] : layerStages(plain, fitted)) {
    std::vector<const PrunableWeight *> own;
    for (size_t index : stage)
      own.push_back(fitted[index]);
    std::vector<std::vector<LayerMatrix>> matrices;
    if (int code = measureLayers(model, plain, own, options.calibration, matrices))
      return code;
    for (auto [i, index] : llvm::enumerate(stage)) {
      const LayerShift shift = shiftOf(*fitted[index], model);
      for (const LayerMatrix &matrix : matrices[i])
        for (int64_t group = 0; group < matrix.reading->groups; ++group) {
          const std::vector<int64_t> order = inOrder(matrix.columns());
          const bool isCentred = static_cast<bool>(shift);
          const std::vector<double> moment = matrix.momentOf(group, order, isCentred);
          std::vector<double> numbers =
              matrix.targetOf(model, group, order, moment, isCentred, kDampening);
          fitColumns(numbers, moment, gone[index], kDampening);
          matrix.replace(model, group, order, numbers, shift);
        }
    }
  }
  return kOk;
}

/// The numbers of a weight without those of removed channels, in the order of the op.
std::vector<uint8_t> ChannelPruning::numbersLeft(dl::WeightOp op) {
  ArrayRef<int64_t> shape = dl::typeOf(op.getY()).getShape();
  std::vector<uint8_t> all = model.bytesNow(*model.find(op.getName())), left;
  SmallVector<SmallVector<int64_t>> kept;
  uint64_t count = 1;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    kept.push_back(groups.keptIndices(op.getY(), dim, removed));
    count *= shape[dim];
  }
  const uint64_t width = count ? all.size() / count : 0;
  std::vector<uint64_t> positions = {0};
  for (auto [size, indices] : llvm::zip_equal(shape, kept)) {
    std::vector<uint64_t> next;
    for (uint64_t position : positions)
      for (int64_t index : indices)
        next.push_back(position * size + index);
    positions = std::move(next);
  }
  for (uint64_t position : positions)
    left.insert(left.end(), all.begin() + position * width, all.begin() + (position + 1) * width);
  return left;
}

int ChannelPruning::write() {
  SmallerReport report;
  report.multiplicationsBefore = groups.multiplications(llvm::BitVector(groups.size()));
  report.multiplicationsAfter = groups.multiplications(removed);
  llvm::StringMap<std::vector<uint8_t>> numbers;
  llvm::StringMap<std::vector<int64_t>> before; // dims
  for (auto &entry : ops) {
    before[entry.first()] = dl::typeOf(entry.second.getY()).getShape().vec();
    if (model.find(entry.first()))
      numbers[entry.first()] = numbersLeft(entry.second);
  }
  removeChannels(*model.module().getOps<func::FuncOp>().begin(), groups, removed);
  if (failed(verify(model.module())))
    return kInternal;
  ImportedText written;
  if (int code = model.writeChanged(options, numbers, written))
    return code;
  for (const onnx::NamedWeight &weight : written.weights) {
    auto op = cast<dl::WeightOp>(weight.weight);
    auto &line = report.weights.emplace_back(SmallerReport::Weight{
        weight.path, before[op.getName()], dl::typeOf(op.getY()).getShape().vec()});
    if (weight.isTransposed) {
      std::reverse(line.before.begin(), line.before.end());
      std::reverse(line.after.begin(), line.after.end());
    }
  }
  return finishReport(report, options);
}

int ChannelPruning::run() {
  findConsumers();
  if (isCalibrated())
    for (const PrunableWeight &weight : weights)
      if (int code = checkFinite(model, *model.find(weight.name)))
        return code;
  model.keepBefore();
  if (!usesCosts())
    addNorms();
  else if (int code = learnCosts())
    return code;
  if (int code = select())
    return code;
  if (isCalibrated())
    if (int code = fit())
      return code;
  return write();
}

int pruneChannels(PrunedModel &model, ModuleOp plain, ArrayRef<PrunableWeight> weights,
                  const PruneOptions &options) {
  llvm::StringSet<> skipped;
  for (const PrunableWeight &weight : weights)
    if (weight.isSkipped)
      skipped.insert(weight.name);
  ChannelGroups groups(*model.module().getOps<func::FuncOp>().begin(),
                       [&](dl::WeightOp op) { return skipped.contains(op.getName()); });
  if (groups.size() == 0)
    return fail(kModelError, "'" + options.input +
                                 "' has no channels that can be removed: all of them reach an "
                                 "output or an op that needs them whole, or --skip names them");
  return ChannelPruning(model, plain, weights, options, groups).run();
}

} // namespace dlc
