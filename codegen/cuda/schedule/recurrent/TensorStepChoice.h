//===- TensorStepChoice.h - How blocks share a step on tensor cores -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step of many rows is a product for tensor cores: the lines of a block's units times the states
// of the rows, in f16 and bf16. Blocks share the hidden units as RecurrentChoice.h has it, and may
// share the rows as well: with G groups of rows each unit is there G times, in blocks that read the
// states of their own rows alone.
//
// Conditions, all tested at both sides (TensorStepChoiceTest):
//   f32, f64      never: f32 is multiplied in f32;
//   capacity      lines that do not fit the shared memory of a block are streamed in every step,
//                 and estimated so: two groups of rows hold all weights twice;
//   rows          no more groups than eights of rows;
//   blocks        at most the multiprocessors of the GPU that the file is for, else of an H100.
// The estimates say whether lanes or tensor cores multiply: lanes take the rows of a step one after
// another, tensor cores eight at a time.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_TENSORSTEPCHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_TENSORSTEPCHOICE_H

#include "codegen/cuda/schedule/recurrent/RecurrentChoice.h"

namespace dlc::codegen {

/// Elements of k that a warp takes at a time: lines and rows of states are filled up to a multiple.
inline constexpr int64_t kStepChunk = 32;

struct TensorStep {
  int64_t blocks = 0; // of the grid at most; 0: no plan
  int64_t rowGroups = 1;
  int64_t lineTiles = 0; // of 16 lines, that a pass takes
  int64_t rowTiles = 0;  // of 8 rows

  /// The columns that blocks divide among them: each as often as there are groups of rows.
  std::vector<abi::KeptColumns> columns(const StepShape &shape) const;
  /// Bytes of shared memory for the sums of a pass.
  int64_t stagedBytes(const StepShape &shape) const;
};

/// Clocks of a step, estimated.
double clocksOfTensorStep(const StepShape &shape, const TensorStep &step,
                          const GpuModel &gpu = kHopper);
/// The plan with the smallest estimate; one of no blocks where the type has none.
TensorStep chooseTensorStep(const StepShape &shape, const GpuModel &gpu = kHopper);

/// Clocks of a step by the better of the plans whose blocks share the units; infinity where there
/// is none.
double clocksOfUnitStep(const StepShape &shape, const GpuModel &gpu = kHopper);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_TENSORSTEPCHOICE_H
