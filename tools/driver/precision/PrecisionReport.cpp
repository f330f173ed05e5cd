//===- PrecisionReport.cpp - What a search for precision found, as text and as JSON -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/Json.h"
#include "tools/driver/measure/KernelProfile.h"
#include "tools/driver/precision/PrecisionSearch.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace dlc {

size_t PrecisionSearch::numNarrow() const {
  return static_cast<size_t>(
      llvm::count_if(layers, [](const LayerPrecision &layer) { return layer.runsNarrow; }));
}

std::string PrecisionSearch::asText() const {
  size_t nameWidth = 5, opWidth = 2;
  for (const LayerPrecision &layer : layers) {
    nameWidth = std::max(nameWidth, layer.name.size());
    opWidth = std::max(opWidth, layer.op.size());
  }
  std::string text;
  auto add = [&](llvm::StringRef name, llvm::StringRef op, llvm::StringRef type,
                 llvm::StringRef alone, const std::string &seen) {
    text += llvm::formatv("{0}  {1}  {2}  {3}  {4}\n", llvm::left_justify(name, nameWidth),
                          llvm::left_justify(op, opWidth), llvm::left_justify(type, 4),
                          llvm::left_justify(alone, 11), seen)
                .str();
  };
  add("Layer", "Op", "Type", "Error alone", "Range seen");
  size_t overflowing = 0;
  for (const LayerPrecision &layer : layers) {
    overflowing += layer.overflows;
    add(layer.name, layer.op, nameOf(layer.runsNarrow ? goal.dtype : Precision::f32),
        format("%.2e", layer.alone),
        format("%.4g .. %.4g", layer.seen.low, layer.seen.high) +
            (layer.overflows ? std::string(", more than ") + nameOf(goal.dtype) + " holds" : ""));
  }
  text += format("%zu of %zu layers in %s; ", numNarrow(), layers.size(), nameOf(goal.dtype)) +
          format("%s %.3g, %s %.3g, on %lld samples\n", errorName(goal.metric, false), error,
                 error <= goal.maxError ? "within" : "not within", goal.maxError,
                 static_cast<long long>(probe.numSamples()));
  if (overflowing && goal.dtype == Precision::f16)
    text += std::to_string(overflowing) +
            " of them reach beyond 65504, the largest number of f16, and so stay in f32; bf16 has "
            "the range of f32\n";
  return text;
}

std::string PrecisionSearch::asJson() const {
  Json json;
  json.beginObject();
  addTo(json);
  return json.endObject().take();
}

void PrecisionSearch::addTo(Json &json) const {
  json.string("narrow", nameOf(goal.dtype))
      .string("metric", nameOf(goal.metric))
      .real("max_error", goal.maxError)
      .real("error", error)
      .integer("samples", probe.numSamples())
      .beginArray("layers");
  for (const LayerPrecision &layer : layers)
    json.beginObject()
        .string("layer", layer.name)
        .string("op", layer.op)
        .string("type", nameOf(layer.runsNarrow ? goal.dtype : Precision::f32))
        .real("error_alone", layer.alone)
        .string("reach", layer.overflows ? std::string("more than ") + nameOf(goal.dtype) + " holds"
                                         : "held")
        .real("seen_low", layer.seen.low)
        .real("seen_high", layer.seen.high)
        .endObject();
  json.endArray();
}

} // namespace dlc
