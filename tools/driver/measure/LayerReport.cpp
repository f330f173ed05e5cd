//===- LayerReport.cpp - What a comparison of layers found, as text and as JSON -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/Output.h"
#include "tools/driver/measure/DifferenceReport.h"
#include "tools/driver/measure/ErrorMetric.h"
#include "tools/driver/measure/KernelProfile.h"
#include "tools/driver/measure/LayerComparison.h"

#include <algorithm>

namespace dlc {

/// Kernels that a message names one by one.
static constexpr size_t kMostNamed = 3;

/// The layer that is furthest off; null where nothing is.
const LayerComparison::Layer *LayerComparison::worst() const {
  const Layer *found = nullptr;
  double most = 0;
  for (const auto &[place, layer] : layers) {
    if (!layer.difference.isFinite())
      return &layer; // the first one that leaves the numbers
    if (double error = errorOf(layer); error > most) {
      found = &layer;
      most = error;
    }
  }
  return found;
}

/// An error where the layer is further off than `most`; empty otherwise.
std::string LayerComparison::judge(const Layer &layer, double most) const {
  const OutputDifference &difference = layer.difference;
  const std::string name = "layer '" + layer.name + "', kernel '" + layer.kernel + "'" +
                           (layer.line.empty() ? "" : " (" + layer.line + ")") + ": ";
  if (!difference.isFinite())
    return name + describeNotFinite(difference);
  const double error = errorOf(layer);
  return error <= most
             ? ""
             : name + describeExcess(error, most, errorName(options.metric, false), difference);
}

std::string LayerComparison::asText(const std::vector<std::string> &sources) const {
  std::string text;
  for (const std::string &source : sources)
    text += source + "\n";
  text += format("%lld samples in %lld runs\n", static_cast<long long>(samples),
                 static_cast<long long>(batches));
  std::vector<std::vector<std::string>> rows = {
      {"layer", "kernel", "max abs", "max rel", "SQNR dB", "cosine", "place"}};
  const Layer *marked = worst();
  for (const auto &[place, layer] : layers) {
    if (layer.difference.numElements() == 0)
      continue; // nothing to hold it against
    const OutputDifference &d = layer.difference;
    rows.push_back({layer.name, layer.kernel, format("%.3g", d.maxAbsolute()),
                    format("%.3g", d.maxRelative()), decibels(d.signalToNoise()),
                    format("%.9f", d.cosine()),
                    layer.line + (&layer == marked ? "  <- worst" : "")});
  }
  text += asTable(rows);
  auto hasGrid = [](const auto &entry) { return entry.second.grid.has_value(); };
  if (auto count = std::count_if(layers.begin(), layers.end(), hasGrid))
    text += format("%lld values are bytes, which were made numbers by the line that fits best\n",
                   static_cast<long long>(count));
  if (!alone.empty()) {
    text += format("%zu of the model's kernels give values that the reference does not store; "
                   "they are judged with what reads these: ",
                   alone.size());
    for (const std::string &kernel : alone)
      text += (kernel == *alone.begin() ? "" : ", ") + kernel;
    text += "\n";
  }
  return text;
}

std::string LayerComparison::asJson(const std::vector<std::string> &sources,
                                    const Comparison::Bound &bound) const {
  Json json;
  json.beginObject().beginArray("sources");
  for (const std::string &source : sources)
    json.string(source);
  json.endArray().integer("samples", samples).integer("runs", batches);
  json.string("metric", nameOf(options.metric));
  if (const Layer *marked = worst())
    json.string("worst", marked->name).string("worst_kernel", marked->kernel);
  json.beginArray("layers");
  for (const auto &[place, layer] : layers) {
    if (layer.difference.numElements() == 0)
      continue;
    json.beginObject().string("name", layer.name).string("kernel", layer.kernel);
    json.string("line", layer.line);
    writeFigures(json, layer.difference);
    if (layer.grid)
      json.real("fitted_scale", layer.grid->scale);
    if (auto most = bound(layer.dtype))
      json.real("error", errorOf(layer)).real("bound", *most);
    json.endObject();
  }
  json.endArray().beginArray("not_stored_by_reference");
  for (const std::string &kernel : alone)
    json.string(kernel);
  return json.endArray().endObject().take();
}

int LayerComparison::report(const std::vector<std::string> &sources,
                            const Comparison::Bound &bound) const {
  if (int code = finishOutput(options.json ? asJson(sources, bound) : asText(sources)))
    return code;
  std::vector<const Layer *> wrong;
  for (const auto &[place, layer] : layers)
    if (auto most = bound(layer.dtype); most && !judge(layer, *most).empty())
      wrong.push_back(&layer);
  // In the order in which they are computed, the last word is the worst one.
  if (auto at = std::find(wrong.begin(), wrong.end(), worst()); at != wrong.end())
    std::rotate(at, at + 1, wrong.end());
  if (wrong.size() > kMostNamed) {
    complain(
        format("note: %zu kernels are out of their bounds; the worst is named last", wrong.size()));
    wrong.erase(wrong.begin(), wrong.end() - kMostNamed);
  }
  for (const Layer *layer : wrong)
    fail(kAccuracy, judge(*layer, *bound(layer->dtype)));
  return wrong.empty() ? int(kOk) : int(kAccuracy);
}

} // namespace dlc
