//===- QuantizationGrids.cpp - The grids that --quantize and dlc quantize are asked for -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/QuantizationGrids.h"

#include "tools/driver/base/Output.h"

namespace dlc {

/// Neighbours of a row that share a grid if --granularity group says no number.
static constexpr int64_t kUsualGroup = 32;

int checkGrids(QuantizationScheme scheme, const GridOptions &grids, const std::string &option) {
  const QuantizationRecord &record = recordOf(scheme);
  const bool isOfWeights = record.part == QuantizedPart::weights;
  const std::string ofWeights = option + " " + schemesOf(QuantizedPart::weights) + " with it";
  if (grids.activation && !record.isOfIntegers)
    return fail(kUsage, "--activation-grid says which integers activations become; expected " +
                            option + " " +
                            schemesThat([](const auto &one) { return one.isOfIntegers; }) +
                            " with it");
  if (grids.weight && !isOfWeights)
    return fail(
        kUsage,
        "--weight-grid chooses for weights that stay in memory in few bits; expected " + ofWeights +
            (record.isOfIntegers ? " (the weights of products of integers are symmetric: a zero "
                                   "point of theirs would need the sum of each row of activations)"
                                 : ""));
  if (grids.granularity && scheme == QuantizationScheme::none)
    return fail(kUsage,
                "--granularity says which weights share a scale; expected " + option + " with it");
  if (grids.group != 0 && !isOfWeights)
    return fail(kUsage,
                "--group is how many weights in few bits share a scale; expected " + ofWeights);
  if (grids.group != 0 && grids.granularity.value_or(Granularity::group) != Granularity::group)
    return fail(kUsage, std::string("--group makes groups, and --granularity ") +
                            nameOf(*grids.granularity) + " none; leave one of them out");
  if (grids.granularity == Granularity::group && !isOfWeights)
    return fail(kUsage, "--granularity group is for weights that are made numbers before they are "
                        "multiplied; expected " +
                            ofWeights + ", or channel or tensor");
  return kOk;
}

WeightFormat weightFormatOf(QuantizationScheme scheme, const GridOptions &grids) {
  const QuantizationRecord &record = recordOf(scheme);
  WeightFormat format;
  format.bits = record.bits;
  format.isSymmetric = grids.weight ? *grids.weight == GridKind::symmetric : record.isSymmetric;
  format.isPerTensor = hasPerTensorWeights(grids);
  format.group = grids.group != 0                          ? grids.group
                 : grids.granularity == Granularity::group ? kUsualGroup
                 : grids.granularity                       ? 0
                                                           : record.group;
  return format;
}

bool hasSymmetricActivations(const GridOptions &grids) {
  return grids.activation == GridKind::symmetric;
}

bool hasPerTensorWeights(const GridOptions &grids) {
  return grids.granularity == Granularity::tensor;
}

std::string textOf(const GridOptions &grids) {
  std::string text;
  if (grids.activation)
    text += std::string(" --activation-grid ") + nameOf(*grids.activation);
  if (grids.weight)
    text += std::string(" --weight-grid ") + nameOf(*grids.weight);
  if (grids.granularity)
    text += std::string(" --granularity ") + nameOf(*grids.granularity);
  if (grids.group != 0)
    text += " --group " + std::to_string(grids.group);
  return text;
}

PipelineOptions quantizationOf(const CompileOptions &options) {
  PipelineOptions pipeline;
  pipeline.keepF32 = options.keepF32;
  pipeline.quantize = options.quantize;
  pipeline.weightFormat = weightFormatOf(options.quantize, options.grids);
  pipeline.symmetricActivations = hasSymmetricActivations(options.grids);
  pipeline.perTensorWeights = hasPerTensorWeights(options.grids);
  return pipeline;
}

} // namespace dlc
