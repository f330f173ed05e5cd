//===- OptionValues.h - Options whose value is one of a few words -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each word becomes an enumerator when the command line is parsed (addChoice in OptionChecks.h).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_BASE_OPTIONVALUES_H
#define DLC_TOOLS_DRIVER_BASE_OPTIONVALUES_H

#include <cstddef>
#include <vector>

namespace dlc {

/// The method of --calib-method. `minmax`: the smallest to the largest value seen. `average`: the
/// moving average of each batch's smallest and largest, 0.9 of the old and 0.1 of the new.
/// `percentile`: without a hundred-thousandth of the values at either end. `entropy`: the range
/// whose 256 steps lose the least information (Kullback-Leibler divergence of the values from their
/// quantized form). `mse`: the range with the least mean squared error, rounding and clamping
/// together.
enum class RangeMethod { minmax, average, percentile, entropy, mse };
inline constexpr const char *kRangeMethodNames[] = {"minmax", "average", "percentile", "entropy",
                                                    "mse"};
inline constexpr const char *nameOf(RangeMethod method) {
  return kRangeMethodNames[static_cast<size_t>(method)];
}

/// The error that --max-error bounds. `rel`: the largest difference as a part of the largest
/// magnitude; `abs`: the largest difference; `cosine`: 1 - cosine; `top1`: the part of the answers
/// that differ, or of accuracy that is lost if there are labels.
enum class ErrorMetric { rel, abs, cosine, top1 };
inline constexpr const char *kErrorMetricNames[] = {"rel", "abs", "cosine", "top1"};
inline constexpr const char *nameOf(ErrorMetric metric) {
  return kErrorMetricNames[static_cast<size_t>(metric)];
}

/// The mean and variance that batch norms use in training, if their weights are trained: those of
/// the batch, or those that the model has.
enum class NormStatistics { batch, stored };
inline constexpr const char *kNormStatisticsNames[] = {"batch", "stored"};
inline constexpr const char *nameOf(NormStatistics which) {
  return kNormStatisticsNames[static_cast<size_t>(which)];
}

/// The part of a training that `dlc grad` writes: a whole step, one of its two halves, or the loss
/// and metrics of inference. Several processes can average the gradients between the halves.
enum class StepPart { step, gradients, update, evaluation };
inline constexpr const char *kStepPartNames[] = {"step", "gradients", "update", "evaluation"};
inline constexpr const char *nameOf(StepPart part) {
  return kStepPartNames[static_cast<size_t>(part)];
}

/// Whether numbers in few bits have a zero point.
enum class GridKind { asymmetric, symmetric };
inline constexpr const char *kGridKindNames[] = {"asymmetric", "symmetric"};
inline constexpr const char *nameOf(GridKind kind) {
  return kGridKindNames[static_cast<size_t>(kind)];
}

/// The weights that share a scale.
enum class Granularity { tensor, channel, group };
inline constexpr const char *kGranularityNames[] = {"tensor", "channel", "group"};
inline constexpr const char *nameOf(Granularity unit) {
  return kGranularityNames[static_cast<size_t>(unit)];
}

/// The layers that are quantized: on each target those that the cost model does not call slower, or
/// all that can be.
enum class QuantizeWhere { faster, possible };
inline constexpr const char *kQuantizeWhereNames[] = {"faster", "possible"};
inline constexpr const char *nameOf(QuantizeWhere rule) {
  return kQuantizeWhereNames[static_cast<size_t>(rule)];
}

/// Returns the enumerators of an enum whose names are `names`.
template <class Enum, class Name, size_t count>
std::vector<Enum> choicesOf(const Name (& /*names*/)[count]) {
  std::vector<Enum> choices;
  for (size_t i = 0; i < count; ++i)
    choices.push_back(static_cast<Enum>(i));
  return choices;
}

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_BASE_OPTIONVALUES_H
