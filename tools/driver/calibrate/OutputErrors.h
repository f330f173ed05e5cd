//===- OutputErrors.h - How far all outputs of a model lie off, over a data set -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_OUTPUTERRORS_H
#define DLC_TOOLS_DRIVER_CALIBRATE_OUTPUTERRORS_H

#include "tools/driver/measure/ErrorMetric.h"

#include "llvm/ADT/ArrayRef.h"

namespace dlc {

/// Batches are added one by one, and none is kept.
class OutputErrors {
public:
  /// Adds the outputs for the samples of `range`, both in the same order.
  void add(llvm::ArrayRef<HostTensor> actual, llvm::ArrayRef<HostTensor> expected,
           SampleRange range);
  /// That of the output that is furthest off; infinite where one side alone has a NaN or an
  /// infinity, or where the dims differ.
  double largest(ErrorMetric metric) const;
  /// Whether some output is a row of classes for each sample, as `top1` needs it.
  bool hasAnswers() const;

private:
  struct Output {
    OutputDifference difference;
    AnswerTally answers;
    bool isAnswer = true;
  };
  std::vector<Output> outputs;
  bool hasOtherDims = false;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_OUTPUTERRORS_H
