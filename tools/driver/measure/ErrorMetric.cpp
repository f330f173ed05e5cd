//===- ErrorMetric.cpp - What a bound on outputs is about ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/measure/ErrorMetric.h"

namespace dlc {

double errorBy(ErrorMetric metric, const OutputDifference &difference, const AnswerTally &answers,
               bool hasLabels) {
  switch (metric) {
  case ErrorMetric::rel:
    break;
  case ErrorMetric::abs:
    return difference.maxAbsolute();
  case ErrorMetric::cosine:
    return 1 - difference.cosine();
  case ErrorMetric::top1:
    return hasLabels ? answers.accuracyBefore() - answers.accuracyAfter() : 1 - answers.agreement();
  }
  return difference.maxRelative();
}

const char *errorName(ErrorMetric metric, bool hasLabels) {
  switch (metric) {
  case ErrorMetric::rel:
    return "relative error";
  case ErrorMetric::abs:
    return "absolute error";
  case ErrorMetric::cosine:
    return "distance 1 - cosine";
  case ErrorMetric::top1:
    break;
  }
  return hasLabels ? "loss of accuracy" : "part of answers that differ";
}

} // namespace dlc
