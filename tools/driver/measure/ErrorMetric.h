//===- ErrorMetric.h - What a bound on outputs is about -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by all that take --max-error.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_MEASURE_ERRORMETRIC_H
#define DLC_TOOLS_DRIVER_MEASURE_ERRORMETRIC_H

#include "tools/driver/base/OptionValues.h"
#include "tools/driver/measure/AnswerTally.h"
#include "tools/driver/run/OutputDifference.h"

namespace dlc {

/// The error of an output. NaN and infinities that are on one side alone
/// are in `difference`, not in the result.
double errorBy(ErrorMetric metric, const OutputDifference &difference, const AnswerTally &answers,
               bool hasLabels);

/// "relative error": what a message calls it.
const char *errorName(ErrorMetric metric, bool hasLabels);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_MEASURE_ERRORMETRIC_H
