//===- ErrorMetric.h - What a bound on outputs is about -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by all that take --max-error.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_MEASURE_ERRORMETRIC_H
#define DLC_TOOLS_DRIVER_MEASURE_ERRORMETRIC_H

#include "tools/driver/measure/AnswerTally.h"
#include "tools/driver/run/OutputDifference.h"

#include <string>
#include <vector>

namespace dlc {

/// rel: the largest difference as a part of the largest magnitude; abs: the largest difference;
/// cosine: 1 - cosine; top1: the part of the answers that differ, or of accuracy that is lost where
/// there are labels.
inline const std::vector<std::string> kErrorMetrics = {"rel", "abs", "cosine", "top1"};

/// The error of an output by one of kErrorMetrics. NaN and infinities that are on one side alone
/// are in `difference`, not in the result.
double errorBy(const std::string &metric, const OutputDifference &difference,
               const AnswerTally &answers, bool hasLabels);

/// "relative error": what a message calls it.
const char *errorName(const std::string &metric, bool hasLabels);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_MEASURE_ERRORMETRIC_H
