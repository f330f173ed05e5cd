//===- LayerComparison.cpp - Each kernel of a model against its piece of another ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/measure/LayerComparison.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/measure/DifferenceReport.h"
#include "tools/driver/measure/ErrorMetric.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlc {

using rt::Status;

/// Samples in one run, at most: the values of all layers are kept while it lasts.
static constexpr int64_t kMostRows = 8;

int LayerComparison::checkOptions(const ComparisonOptions &options) {
  if (!options.layers)
    return kOk;
  if (!options.labels.empty() || !options.outputs.empty() || options.metric == ErrorMetric::top1)
    return fail(kUsage, "--layers is about the values between kernels, and --labels, --output and "
                        "--metric top1 about outputs; expected one or the other");
  return kOk;
}

static bool isFloat(dlc_dtype dtype) {
  return dtype <= DLC_BF16 || (dtype >= DLC_F8E4M3FN && dtype <= DLC_F4E2M1);
}

Status LayerComparison::runModel(SteppedProgram &model) {
  records.clear();
  std::vector<uint32_t> written;
  for (size_t i = 0; i < model.numCommands(); ++i) {
    DLC_TRY(model.step(i, written));
    for (uint32_t buffer : written)
      records[model.keyOf(buffer)].push_back({i, buffer, model.value(buffer)});
  }
  return {};
}

/// How often the reference writes a value of each key.
Status LayerComparison::countValues(SteppedProgram &reference) {
  std::vector<uint32_t> written;
  for (size_t i = 0; i < reference.numCommands(); ++i) {
    DLC_TRY(reference.step(i, written));
    for (uint32_t buffer : written)
      ++counts[reference.keyOf(buffer)];
  }
  return {};
}

Status LayerComparison::runReference(SteppedProgram &model, SteppedProgram &reference,
                                     SampleRange range) {
  Counts seen;
  std::vector<uint32_t> written;
  for (size_t i = 0; i < reference.numCommands(); ++i) {
    DLC_TRY(reference.step(i, written));
    for (uint32_t buffer : written) {
      const std::string key = reference.keyOf(buffer);
      const size_t number = seen[key]++;
      auto found = records.find(key);
      // Values of one key, such as those of the turns of a loop, are told apart by their order
      // alone.
      if (found == records.end() || found->second.size() != counts[key])
        continue;
      Record &record = found->second[number];
      HostTensor expected = reference.value(buffer);
      Layer &layer = layerOf(model, record);
      if (!isComparable(layer, record, expected))
        continue;
      record.isTaken = true;
      add(layer, record.value, std::move(expected), range);
      if (reference.takesValuesOf(buffer, record.value.dtype))
        reference.setValue(buffer, record.value);
    }
  }
  for (const auto &[key, those] : records)
    for (const Record &record : those)
      if (const schema::Kernel *kernel = model.kernelOf(record.command); kernel && !record.isTaken)
        alone.insert(kernel->name()->str());
  return {};
}

/// Whether main commands launch the kernel once, so that its layers are those of one value.
static bool isLaunchedOnce(const SteppedProgram &model, const schema::Kernel *kernel) {
  int launches = 0;
  for (size_t i = 0; i < model.numCommands(); ++i)
    launches += model.kernelOf(i) == kernel;
  return launches == 1;
}

LayerComparison::Layer &LayerComparison::layerOf(const SteppedProgram &model,
                                                 const Record &record) {
  Layer &layer = layers[{record.command, record.buffer}];
  if (!layer.name.empty())
    return layer;
  const schema::Buffer &described = model.bufferTable(record.buffer);
  const schema::Kernel *kernel = model.kernelOf(record.command);
  auto addNames = [&](const auto *names) {
    for (uint32_t i = 0; names && i < names->size(); ++i)
      layer.name += (i ? ", " : "") + names->Get(i)->str();
  };
  layer.kernel = kernel ? kernel->name()->str() : "copy";
  layer.line = described.line() ? described.line()->str() : "";
  layer.dtype = record.value.dtype;
  addNames(described.layers());
  if (layer.name.empty())
    layer.name = model.interfaceName(record.buffer);
  if (layer.name.empty() && kernel && isLaunchedOnce(model, kernel))
    addNames(kernel->layers());
  if (layer.name.empty())
    layer.name = layer.line.empty() ? layer.kernel : layer.line;
  return layer;
}

/// The line of least squares through numbers that are bytes on one side, but for the ends of the
/// bytes' range, which stand for all that lies beyond; nothing where the bytes are all the same.
std::optional<LayerComparison::Grid> LayerComparison::fitGrid(const HostTensor &bytes,
                                                              const HostTensor &numbers) {
  const double low = bytes.dtype == DLC_U8 ? 0 : -128, high = low + 255;
  double count = 0, sumX = 0, sumY = 0, sumXX = 0, sumXY = 0;
  for (int64_t i = 0; i < bytes.size(); ++i) {
    const double x = bytes.at(i), y = numbers.at(i);
    if (x <= low || x >= high || !std::isfinite(y))
      continue;
    ++count;
    sumX += x;
    sumY += y;
    sumXX += x * x;
    sumXY += x * y;
  }
  const double spread = count * sumXX - sumX * sumX;
  if (!(spread > 0))
    return std::nullopt;
  const double scale = (count * sumXY - sumX * sumY) / spread;
  return Grid{scale, (sumY - scale * sumX) / count};
}

/// Whether the value may be held against what is expected; bytes in place of floats become floats
/// by the layer's grid, which its first batch gives.
bool LayerComparison::isComparable(Layer &layer, Record &record, const HostTensor &expected) const {
  HostTensor &value = record.value;
  if (value.dims != expected.dims)
    return false;
  if (value.dtype == expected.dtype || (isFloat(value.dtype) && isFloat(expected.dtype)))
    return true;
  if ((value.dtype != DLC_U8 && value.dtype != DLC_I8) || !isFloat(expected.dtype))
    return false;
  if (!layer.grid)
    layer.grid = fitGrid(value, expected);
  if (!layer.grid)
    return false;
  HostTensor numbers = {DLC_F32, value.dims, {}};
  numbers.data.resize(static_cast<size_t>(value.size()) * sizeof(float));
  for (int64_t i = 0; i < value.size(); ++i) {
    const auto number = static_cast<float>(layer.grid->scale * value.at(i) + layer.grid->offset);
    std::memcpy(numbers.data.data() + size_t(i) * sizeof(float), &number, sizeof(float));
  }
  value = std::move(numbers);
  return true;
}

void LayerComparison::add(Layer &layer, HostTensor actual, HostTensor expected, SampleRange range) {
  // Elements that one of them has not written yet are no difference, nor are NaN of what both have
  // read.
  auto clear = [](HostTensor &tensor, int64_t position) {
    const size_t width = dlc_dtype_size(tensor.dtype);
    std::memset(tensor.data.data() + size_t(position) * width, 0, width);
  };
  for (int64_t i = 0, size = actual.size(); i < size; ++i)
    if (!SteppedProgram::isWritten(actual, i) || !SteppedProgram::isWritten(expected, i) ||
        (std::isnan(actual.at(i)) && std::isnan(expected.at(i)))) {
      clear(actual, i);
      clear(expected, i);
    }
  layer.difference.add(actual, expected, range);
}

int LayerComparison::run(SampleFeed &feed, const ModelRun &first, const ModelRun &model,
                         const ModelRun &reference, const DeviceOptions &device) {
  std::unique_ptr<SteppedProgram> ours, theirs;
  if (int code = SteppedProgram::open(model.getPath(), model.getDevice(), device, ours))
    return code;
  if (int code = SteppedProgram::open(reference.getPath(), reference.getDevice(), device, theirs))
    return code;
  return runSamples(feed, first.inputNames(), *ours, *theirs);
}

int LayerComparison::runSamples(SampleFeed &feed, const std::vector<std::string> &names,
                                SteppedProgram &model, SteppedProgram &reference) {
  feed.setBatch(std::min(options.batch, kMostRows));
  const int64_t total = feed.numSamples() - feed.numLeftOut();
  std::vector<dlc_tensor> inputs;
  for (feed.rewind(); feed.next(inputs); ++batches) {
    SampleRange range = {samples, feed.rows()};
    auto runBatch = [&]() -> Status {
      DLC_TRY(model.begin(inputs, names));
      DLC_TRY(runModel(model));
      DLC_TRY(reference.begin(inputs, names));
      if (counts.empty()) {
        DLC_TRY(countValues(reference));
        DLC_TRY(reference.begin(inputs, names));
      }
      return runReference(model, reference, range);
    };
    if (Status status = runBatch(); status.failed()) {
      showSamples(total, total);
      return fail(static_cast<int>(status.code()), status.message());
    }
    samples += range.rows;
    showSamples(samples, total);
  }
  return kOk;
}

double LayerComparison::errorOf(const Layer &layer) const {
  return errorBy(options.metric, layer.difference, {}, /*hasLabels=*/false);
}

} // namespace dlc
