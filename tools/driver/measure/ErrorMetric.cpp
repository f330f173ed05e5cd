//===- ErrorMetric.cpp - What a bound on outputs is about ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/measure/ErrorMetric.h"

namespace dlc {

double errorBy(const std::string &metric, const OutputDifference &difference,
               const AnswerTally &answers, bool hasLabels) {
  if (metric == "abs")
    return difference.maxAbsolute();
  if (metric == "cosine")
    return 1 - difference.cosine();
  if (metric == "top1")
    return hasLabels ? answers.accuracyBefore() - answers.accuracyAfter() : 1 - answers.agreement();
  return difference.maxRelative();
}

const char *errorName(const std::string &metric, bool hasLabels) {
  return metric == "rel"      ? "relative error"
         : metric == "abs"    ? "absolute error"
         : metric == "cosine" ? "distance 1 - cosine"
         : hasLabels          ? "loss of accuracy"
                              : "part of answers that differ";
}

} // namespace dlc
