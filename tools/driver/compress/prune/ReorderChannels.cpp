//===- ReorderChannels.cpp - Channels change places before zeros are chosen ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/prune/ReorderChannels.h"

#include "passes/compress/prune/ChannelGroups.h"
#include "passes/compress/prune/ChannelOrder.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/compress/prune/LayerMatrix.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>
#include <map>

using namespace mlir;

namespace dlc {

/// Looks at four numbers of a row that the search for an order may take, for each list of channels:
/// some seconds.
static constexpr int64_t kBudget = int64_t{1} << 32;

namespace {

class Reordering {
public:
  Reordering(PrunedModel &model, ModuleOp plain, ArrayRef<ChosenWeight> chosen,
             const PruneOptions &options, const ChannelGroups &groups)
      : model(model), plain(plain), chosen(chosen), options(options), groups(groups) {}
  int run(PruneReport::Reordering &report);

private:
  int measure();
  void addReader(const ChosenWeight &weight, ArrayRef<LayerMatrix> matrices);
  void order(ArrayRef<size_t> channels, PruneReport::Reordering &report);
  void move();
  double keptShare() const;

  /// A weight that is pruned, and the dim along which its sums run.
  struct Reader {
    unsigned dim;
    ChannelReader numbers;
    double squares;
  };

  PrunedModel &model;
  ModuleOp plain;
  ArrayRef<ChosenWeight> chosen;
  const PruneOptions &options;
  const ChannelGroups &groups;
  llvm::MapVector<Operation *, Reader> readers; // by the dl.weight of the model
  /// For each dim of a weight that moves the index from where each of its indices comes.
  std::map<std::pair<Operation *, unsigned>, std::vector<int64_t>> sources;
};

} // namespace

static ArrayRef<int64_t> shapeOf(Operation *weight) {
  return dl::typeOf(cast<dl::WeightOp>(weight).getY()).getShape();
}

/// The numbers that are one index of `dim` apart.
static int64_t strideOf(ArrayRef<int64_t> shape, unsigned dim) {
  int64_t stride = 1;
  for (int64_t size : shape.drop_front(dim + 1))
    stride *= size;
  return stride;
}

void Reordering::addReader(const ChosenWeight &weight, ArrayRef<LayerMatrix> matrices) {
  dl::WeightOp op;
  model.module().walk([&](dl::WeightOp other) {
    if (other.getName() == weight.weight->name)
      op = other;
  });
  ArrayRef<int64_t> shape = shapeOf(op);
  const SumRuns runs = *weight.weight->runs;
  unsigned dim = 0;
  while (dim < shape.size() && (static_cast<uint64_t>(shape[dim]) != runs.length ||
                                static_cast<uint64_t>(strideOf(shape, dim)) != runs.stride))
    ++dim;
  if (dim == shape.size()) // sums that run along several dims at once
    return;
  StoredNumbers stored = model.numbersOf(*weight.place);
  std::vector<double> worth(stored.size());
  for (uint64_t i = 0; i < worth.size(); ++i)
    worth[i] = stored.at(i) * stored.at(i);
  for (const LayerMatrix &matrix : matrices)
    for (int64_t group = 0; group < matrix.reading->groups; ++group) {
      ArrayRef<double> products = matrix.moment.productsOf(group);
      for (int64_t row = 0; row < matrix.rows(); ++row)
        for (int64_t column = 0; column < matrix.columns(); ++column)
          worth[matrix.position(group, row, column)] *=
              products[column * (matrix.columns() + 1)] / static_cast<double>(matrix.moment.rows);
    }
  Reader reader{dim, {}, 0};
  const int64_t stride = strideOf(shape, dim);
  reader.numbers.rows = static_cast<int64_t>(worth.size()) / shape[dim];
  reader.numbers.columns.resize(shape[dim]);
  for (uint64_t position = 0; position < worth.size(); ++position) {
    const double number = worth[PrunedModel::positionInFile(*weight.place, position)];
    reader.numbers.columns[static_cast<int64_t>(position) / stride % shape[dim]].push_back(
        static_cast<float>(number));
    reader.squares += number;
  }
  readers.insert({op, std::move(reader)});
}

int Reordering::measure() {
  std::vector<std::vector<LayerMatrix>> matrices(chosen.size());
  if (!options.calibration.data.empty()) {
    std::vector<const PrunableWeight *> all;
    for (const ChosenWeight &weight : chosen) {
      if (int code = checkFinite(model, *weight.place))
        return code;
      all.push_back(weight.weight);
    }
    model.keepBefore();
    matrices.clear();
    if (int code = measureLayers(model, plain, all, options.calibration, matrices))
      return code;
  }
  for (auto [weight, own] : llvm::zip_equal(chosen, matrices))
    addReader(weight, own);
  return kOk;
}

/// Finds the order of `channels`, groups that may change their places.
void Reordering::order(ArrayRef<size_t> channels, PruneReport::Reordering &report) {
  std::vector<ChannelReader> own;
  std::vector<ChannelReader *> from;
  for (auto &[op, reader] : readers) {
    ChannelReader &numbers = reader.numbers;
    numbers.ofChannel.assign(channels.size(), {});
    for (auto [channel, group] : llvm::enumerate(channels))
      for (const ChannelGroups::Slice &slice : groups.slicesOf(group))
        if (slice.weight == op && slice.dim == reader.dim)
          numbers.ofChannel[channel].push_back(slice.index);
    if (numbers.ofChannel.front().empty())
      continue;
    own.push_back(std::move(numbers));
    from.push_back(&numbers);
  }
  if (own.empty())
    return;
  const std::vector<size_t> places = orderChannels(own, channels.size(), kBudget);
  for (auto [numbers, to] : llvm::zip_equal(own, from))
    *to = std::move(numbers);
  for (auto [place, channel] : llvm::enumerate(places)) {
    report.channels += place != channel;
    for (auto [to, source] :
         llvm::zip_equal(groups.slicesOf(channels[place]), groups.slicesOf(channels[channel]))) {
      Operation *op = dl::WeightOp(to.weight);
      std::vector<int64_t> &indices = sources[{op, to.dim}];
      if (indices.empty())
        indices = inOrder(shapeOf(op)[to.dim]);
      indices[to.index] = source.index;
    }
  }
}

void Reordering::move() {
  for (auto &[what, indices] : sources) {
    auto [op, dim] = what;
    ArrayRef<int64_t> shape = shapeOf(op);
    const PrunedModel::Place &place = *model.find(cast<dl::WeightOp>(op).getName());
    StoredNumbers numbers = model.numbersOf(place);
    const std::vector<uint8_t> before = numbers.bytes.vec();
    const int64_t stride = strideOf(shape, dim), width = numbers.width();
    for (int64_t position = 0, size = static_cast<int64_t>(numbers.size()); position < size;
         ++position) {
      const int64_t index = position / stride % shape[dim],
                    source = position + (indices[index] - index) * stride;
      std::memcpy(numbers.bytes.data() + PrunedModel::positionInFile(place, position) * width,
                  before.data() + PrunedModel::positionInFile(place, source) * width, width);
    }
  }
}

/// The part of what all weights hold that zeros leave, each weight counting alike.
double Reordering::keptShare() const {
  double sum = 0;
  for (auto &[op, reader] : readers)
    sum += reader.squares > 0 ? reader.numbers.kept() / reader.squares : 1;
  return readers.empty() ? 1 : sum / static_cast<double>(readers.size());
}

int Reordering::run(PruneReport::Reordering &report) {
  if (int code = measure())
    return code;
  report.keptBefore = keptShare();
  for (const std::vector<size_t> &channels : groups.interchangeable())
    order(channels, report);
  report.keptAfter = keptShare();
  move();
  return kOk;
}

int reorderChannels(PrunedModel &model, ModuleOp plain, ArrayRef<PrunableWeight> weights,
                    ArrayRef<ChosenWeight> chosen, const PruneOptions &options,
                    PruneReport::Reordering &report) {
  llvm::StringSet<> skipped;
  for (const PrunableWeight &weight : weights)
    if (weight.isSkipped)
      skipped.insert(weight.name);
  llvm::DenseMap<const frontend::StoredTensor *, unsigned> uses;
  model.module().walk([&](dl::WeightOp op) {
    if (const PrunedModel::Place *place = model.find(op.getName()))
      ++uses[place->tensor];
  });
  // What cannot move keeps the order of all that hangs together with it.
  ChannelGroups groups(*model.module().getOps<func::FuncOp>().begin(), [&](dl::WeightOp op) {
    const PrunedModel::Place *place = model.find(op.getName());
    return !place || skipped.contains(op.getName()) || uses[place->tensor] > 1 ||
           !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(
               dl::typeOf(op.getY()).getElementType());
  });
  return Reordering(model, plain, chosen, options, groups).run(report);
}

} // namespace dlc
