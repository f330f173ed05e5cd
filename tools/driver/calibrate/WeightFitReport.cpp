//===- WeightFitReport.cpp - What became of the weights of a model ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/Json.h"
#include "tools/driver/calibrate/QuantizationChoice.h"
#include "tools/driver/calibrate/WeightFit.h"
#include "tools/driver/compiler/QuantizationGrids.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace dlc {

std::string WeightFit::formatText() const {
  const WeightFormat all = format();
  std::string text = std::to_string(all.bits) + " bits";
  if (all.group > 0)
    text += ", groups of " + std::to_string(all.group);
  else if (all.isPerTensor)
    text += ", one scale a weight";
  else if (all.bits == 4)
    text += ", one scale a row";
  if (all.isSymmetric != (all.bits == 8))
    text += all.isSymmetric ? ", symmetric" : ", asymmetric";
  return text;
}

/// The layers in 8 bits, as they were named.
std::string WeightFit::wideText() const {
  std::string text;
  for (const std::string &pattern : options.keepW8)
    text += " --keep-w8 '" + pattern + "'";
  return text;
}

static std::string exponentText(double exponent) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", exponent);
  return text;
}

std::string WeightFit::commandText() const {
  return std::string("dlc compile MODEL --quantize ") + nameOf(options.quantize) +
         textOf(options.grids) + wideText() + smoothText() +
         (isCalibrated() ? " --calib DATA.npz" : "") + " --weights NEW.safetensors";
}

std::string WeightFit::smoothText() const {
  if (!options.smooth)
    return "";
  return " --smooth " + (options.smooth->fixed ? exponentText(*options.smooth->fixed) : "auto");
}

size_t WeightFit::numScaled() const {
  size_t scaled = 0;
  for (const ScaleGroup &group : groups)
    scaled += group.inverse.empty() ? 0 : group.activations.size();
  return scaled;
}

std::string WeightFit::scalesText() const {
  if (!options.smooth)
    return "";
  const size_t scaled = numScaled();
  double least = 1, most = 0;
  for (const ScaleGroup &group : groups)
    if (!group.inverse.empty()) {
      least = std::min(least, group.exponent);
      most = std::max(most, group.exponent);
    }
  std::string text = llvm::formatv("; {0} activation{1} scaled", scaled, scaled == 1 ? "" : "s");
  if (scaled > 0)
    text += least == most
                ? llvm::formatv(", exponent {0}", exponentText(least)).str()
                : llvm::formatv(", exponents {0} to {1}", exponentText(least), exponentText(most))
                      .str();
  return text;
}

static std::string inDecibels(double value) {
  return std::isinf(value) ? "exact" : llvm::formatv("{0:F1} dB", value).str();
}

std::string WeightFit::asText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  size_t nameWidth = 6, layerWidth = 5, packed = 0, wide = 0;
  for (const FittedWeight &weight : weights) {
    nameWidth = std::max(nameWidth, weight.name.size());
    layerWidth = std::max(layerWidth, weight.layer.size());
  }
  auto columns = [&](llvm::StringRef layer, llvm::StringRef name, llvm::StringRef dims) {
    os << llvm::left_justify(layer, layerWidth) << "  " << llvm::left_justify(name, nameWidth)
       << "  " << llvm::left_justify(dims, 12) << "  ";
  };
  auto padded = [&](const std::string &errors) {
    return llvm::formatv("{0}", llvm::left_justify(errors, isCalibrated() ? 27 : 11)).str();
  };
  columns("Layer", "Weight", "Dims");
  std::string header = isCalibrated() ? "SNR        SNR of outputs" : "SNR";
  os << (options.targets.empty() ? header : padded(header) + "Gain") << '\n';
  for (const FittedWeight &weight : weights) {
    columns(weight.layer, weight.name,
            std::to_string(weight.rows) + "x" + std::to_string(weight.columns));
    packed += weight.whyKept.empty();
    const bool isWide = weight.whyKept.empty() && weight.bits > recordOf(options.quantize).bits;
    wide += isWide;
    if (!weight.whyKept.empty())
      os << "kept in f32: " << weight.whyKept;
    else {
      std::string errors = inDecibels(weight.signalToNoise);
      if (weight.ofOutputs)
        errors =
            llvm::formatv("{0}{1}", llvm::left_justify(errors, 11), inDecibels(*weight.ofOutputs))
                .str();
      os << (weight.gains.empty() ? errors
                                  : padded(errors) + gainText(weight.gains, keepsLosses(options)));
    }
    os << (isWide ? "  in 8 bits\n" : "\n");
  }
  std::vector<std::vector<TargetGain>> gains; // of the weights in few bits
  for (const FittedWeight &weight : weights)
    if (weight.whyKept.empty())
      gains.push_back(weight.gains);
  os << llvm::formatv("{0}: {1} of {2} weights in {3}{4}, ", nameOf(options.quantize), packed,
                      weights.size(), formatText(), countsByTarget(gains, options));
  if (wide > 0)
    os << llvm::formatv("{0} of them in 8 bits, ", wide);
  if (isCalibrated())
    os << llvm::formatv("fitted to {0} samples", samples);
  else
    os << "rounded to nearest";
  os << llvm::formatv("; {0:N} bytes became {1:N}{2}\n", bytesBefore, bytesAfter, scalesText());
  return text;
}

std::string WeightFit::asJson() const {
  Json json;
  json.beginObject().string("scheme", nameOf(options.quantize));
  const WeightFormat all = format();
  json.string("granularity", nameOf(all.group > 0     ? Granularity::group
                                    : all.isPerTensor ? Granularity::tensor
                                                      : Granularity::channel));
  if (all.group > 0)
    json.integer("group", all.group);
  json.string("weight_grid", nameOf(all.isSymmetric ? GridKind::symmetric : GridKind::asymmetric));
  json.string("method", isCalibrated() ? "gptq" : "nearest");
  if (isCalibrated())
    json.integer("samples", samples);
  if (options.smooth) {
    if (options.smooth->fixed)
      json.real("smooth", *options.smooth->fixed);
    else
      json.string("smooth", "auto");
    json.integer("scaled", static_cast<int64_t>(numScaled()));
  }
  json.integer("bytes_before", static_cast<int64_t>(bytesBefore))
      .integer("bytes_after", static_cast<int64_t>(bytesAfter))
      .beginArray("weights");
  for (const FittedWeight &weight : weights) {
    json.beginObject()
        .string("layer", weight.layer)
        .string("weight", weight.name)
        .integer("rows", weight.rows)
        .integer("columns", weight.columns);
    if (!weight.whyKept.empty())
      json.string("type", "f32").string("why", weight.whyKept);
    else
      json.string("type",
                  nameOf(weight.bits == 8 ? QuantizationScheme::w8 : QuantizationScheme::w4))
          .real("snr_db", weight.signalToNoise);
    if (weight.exponent)
      json.real("exponent", *weight.exponent);
    if (weight.ofOutputs)
      json.real("snr_of_outputs_db", *weight.ofOutputs);
    writeGains(json, weight.gains, options);
    json.endObject();
  }
  json.endArray().endObject();
  return json.take();
}

} // namespace dlc
