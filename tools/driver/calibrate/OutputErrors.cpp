//===- OutputErrors.cpp - How far all outputs of a model lie off, over a data set ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/OutputErrors.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using llvm::ArrayRef;

namespace dlc {

void OutputErrors::add(ArrayRef<HostTensor> actual, ArrayRef<HostTensor> expected,
                       SampleRange range) {
  outputs.resize(expected.size());
  for (auto [output, one, other] : llvm::zip_equal(outputs, actual, expected)) {
    if (one.dims != other.dims) { // the data say how large it is, and say it otherwise now
      hasOtherDims = true;
      output.isAnswer = false;
      continue;
    }
    output.difference.add(one, other, range);
    output.isAnswer = output.isAnswer && AnswerTally::numClasses(other, range.rows) > 0;
    if (output.isAnswer)
      output.answers.add(other, one, range.rows, nullptr);
  }
}

double OutputErrors::largest(ErrorMetric metric) const {
  double error = hasOtherDims ? std::numeric_limits<double>::infinity() : 0;
  for (const Output &output : outputs) {
    if (!output.difference.isFinite())
      return std::numeric_limits<double>::infinity();
    if (metric != ErrorMetric::top1 || output.isAnswer)
      error = std::max(error, errorBy(metric, output.difference, output.answers, false));
  }
  return error;
}

bool OutputErrors::hasAnswers() const {
  return llvm::any_of(outputs, [](const Output &output) { return output.isAnswer; });
}

} // namespace dlc
