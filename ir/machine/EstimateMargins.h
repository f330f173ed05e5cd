//===- EstimateMargins.h - How far estimates are trusted --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_MACHINE_ESTIMATEMARGINS_H
#define DLC_IR_MACHINE_ESTIMATEMARGINS_H

namespace dlc {

/// A kernel takes the place of another one where its estimate is lower by more than both estimates
/// may be wrong. test/bench/workloads/errors.py prints how wrong they are.
struct EstimateMargins {
  /// Share of the other time below which one kernel takes the place of another, blocks share a
  /// tile or keys, or a tensor is computed again where it is read.
  double change = 0.8;
  /// The same of one launch in place of several: that the others take a launch each is certain.
  double chain = 0.9;
  /// The same of a product whose warpgroups take tiles in turn: it brings and multiplies the same
  /// slabs, and no GPU has timed it.
  double pingpong = 0.95;
  /// Times the best plan's time above which a plan is looked for that serves some shapes alone ...
  double part = 1.05;
  /// ... and what each of these parts has to gain, as a share of the time, for its text and its
  /// choice.
  double priceOfPart = 0.02;
};
inline constexpr EstimateMargins kMargins;

} // namespace dlc

#endif // DLC_IR_MACHINE_ESTIMATEMARGINS_H
