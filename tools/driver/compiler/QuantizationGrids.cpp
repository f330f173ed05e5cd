//===- QuantizationGrids.cpp - The grids that --quantize and dlc quantize are asked for -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/QuantizationGrids.h"

#include "tools/driver/base/Output.h"

namespace dlc {

/// Neighbours of a row of w4 that share a grid where nothing else is asked for.
static constexpr int64_t kUsualGroup = 32;

int checkGrids(const std::string &scheme, const GridOptions &grids, const std::string &option) {
  const bool isOfWeights = scheme == "w8" || scheme == "w4";
  const bool isOfIntegers = scheme == "int8" || scheme == "dynamic";
  if (!grids.activation.empty() && !isOfIntegers)
    return fail(kUsage, "--activation-grid says which integers activations become; expected " +
                            option + " int8 or dynamic with it");
  if (!grids.weight.empty() && !isOfWeights)
    return fail(kUsage,
                "--weight-grid chooses for weights that stay in memory in few bits; expected " +
                    option + " w8 or w4 with it" +
                    (isOfIntegers ? " (the weights of products of integers are symmetric: a zero "
                                    "point of theirs would need the sum of each row of activations)"
                                  : ""));
  if (!grids.granularity.empty() && !isOfWeights && !isOfIntegers && scheme != "fp8")
    return fail(kUsage,
                "--granularity says which weights share a scale; expected " + option + " with it");
  if (grids.group != 0 && !isOfWeights)
    return fail(kUsage, "--group is how many weights in few bits share a scale; expected " +
                            option + " w8 or w4 with it");
  if (grids.group != 0 && !grids.granularity.empty() && grids.granularity != "group")
    return fail(kUsage, "--group makes groups, and --granularity " + grids.granularity +
                            " none; leave one of them out");
  if (grids.granularity == "group" && !isOfWeights)
    return fail(kUsage, "--granularity group is for weights that are made numbers before they are "
                        "multiplied; expected " +
                            option + " w8 or w4 with it, or channel or tensor");
  return kOk;
}

WeightFormat weightFormatOf(const std::string &scheme, const GridOptions &grids) {
  WeightFormat format;
  format.bits = scheme == "w4" ? 4 : 8;
  format.isSymmetric = grids.weight.empty() ? scheme == "w8" : grids.weight == "symmetric";
  format.isPerTensor = grids.granularity == "tensor";
  const bool hasGroups = grids.group != 0 || grids.granularity == "group" ||
                         (scheme == "w4" && grids.granularity.empty());
  if (hasGroups)
    format.group = grids.group == 0 ? kUsualGroup : grids.group;
  return format;
}

bool hasSymmetricActivations(const GridOptions &grids) { return grids.activation == "symmetric"; }

bool hasPerTensorWeights(const GridOptions &grids) { return grids.granularity == "tensor"; }

std::string textOf(const GridOptions &grids) {
  std::string text;
  if (!grids.activation.empty())
    text += " --activation-grid " + grids.activation;
  if (!grids.weight.empty())
    text += " --weight-grid " + grids.weight;
  if (!grids.granularity.empty())
    text += " --granularity " + grids.granularity;
  if (grids.group != 0)
    text += " --group " + std::to_string(grids.group);
  return text;
}

QuantizeProductsOptions quantizeProductsOptions(const CompileOptions &options) {
  QuantizeProductsOptions pass;
  pass.scheme = options.quantize;
  pass.symmetric = hasSymmetricActivations(options.grids);
  pass.perTensor = hasPerTensorWeights(options.grids);
  pass.keepF32.assign(options.keepF32.begin(), options.keepF32.end());
  return pass;
}

QuantizeWeightsOptions quantizeWeightsOptions(const CompileOptions &options) {
  const WeightFormat format = weightFormatOf(options.quantize, options.grids);
  QuantizeWeightsOptions pass;
  pass.bits = format.bits;
  pass.group = format.group;
  pass.symmetric = format.isSymmetric;
  pass.perTensor = format.isPerTensor;
  pass.keepF32.assign(options.keepF32.begin(), options.keepF32.end());
  return pass;
}

} // namespace dlc
