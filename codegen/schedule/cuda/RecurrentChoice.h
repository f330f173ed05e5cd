//===- RecurrentChoice.h - Which blocks a recurrence gets ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block for each row of the batch reads all weights from the second-level cache in every step. Blocks that each keep the
// weights of some hidden units in shared memory read states alone, and meet after every step.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_SCHEDULE_CUDA_RECURRENTCHOICE_H
#define DLC_CODEGEN_SCHEDULE_CUDA_RECURRENTCHOICE_H

#include <cstdint>

namespace dlc::codegen {

/// Of a recurrence, with the rows of the batch that are usual.
struct StepShape {
  int64_t gates, units, outputs, rows, elementBytes;
  bool hasProjection;

  /// Bytes of weights that every step needs.
  int64_t weightBytes() const {
    return (gates * units * outputs + (hasProjection ? outputs * units : 0)) * elementBytes;
  }
};

/// The share of one of the blocks that have all of the hidden units between them.
struct UnitShare {
  int64_t units = 0,
          outputs = 0; // of the step, of the projection; 0 and 0: a block for each row instead

  int64_t blocks(const StepShape &shape) const { return (shape.units + units - 1) / units; }
  /// Bytes of weights that stay in a block's shared memory.
  int64_t sharedBytes(const StepShape &shape) const {
    return (units * shape.gates * shape.outputs + outputs * shape.units) * shape.elementBytes;
  }
};

/// Clocks of a step, estimated for an A100.
double clocksOfRowStep(const StepShape &shape);
double clocksOfSharedStep(const StepShape &shape, const UnitShare &share);
/// The share with the smallest estimate, or none where a block for each row is faster or the weights fit no grid that is
/// sure to be resident.
UnitShare chooseUnitShare(const StepShape &shape);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_SCHEDULE_CUDA_RECURRENTCHOICE_H
