//===- AnswerTally.h - Which classes two models answer ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The answer of a classifier is the class of the largest number. Batches are added one by one.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_MEASURE_ANSWERTALLY_H
#define DLC_TOOLS_DRIVER_MEASURE_ANSWERTALLY_H

#include "tools/driver/run/Tensors.h"

#include <cstdint>

namespace dlc {

class AnswerTally {
public:
  /// How many classes an output of `rows` samples has: its dims are the rows and the classes, dims
  /// of 1 beside them not counted. 0 unless it has a row of at least two numbers for each sample.
  static int64_t numClasses(const HostTensor &output, int64_t rows);

  /// Adds the answers to `rows` samples; both outputs have the same classes. `labels` are the right
  /// ones, or null.
  void add(const HostTensor &before, const HostTensor &after, int64_t rows, const int64_t *labels);

  int64_t rows = 0, agreeing = 0;
  // With labels: how many answers are right, and how many have become right or wrong.
  int64_t rightBefore = 0, rightAfter = 0, gained = 0, lost = 0;

  /// Parts of the rows.
  double agreement() const { return part(agreeing); }
  double accuracyBefore() const { return part(rightBefore); }
  double accuracyAfter() const { return part(rightAfter); }

private:
  double part(int64_t number) const {
    return rows ? static_cast<double>(number) / static_cast<double>(rows) : 0;
  }
};

/// McNemar's exact test, two-sided: how likely so uneven a split of the samples that changed sides
/// is, where either side is as likely as the other.
double mcNemar(int64_t gained, int64_t lost);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_MEASURE_ANSWERTALLY_H
