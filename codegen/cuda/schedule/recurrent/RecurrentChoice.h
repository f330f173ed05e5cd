//===- RecurrentChoice.h - Which blocks a recurrence gets ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recurrence needs all of its weights in every step. There are two plans:
//
//   a block for each row of the batch reads all weights from the second-level cache, and never
//   waits for another block;
//
//   blocks that share the hidden units read the weights of their own units alone, and meet after
//   every step. As many of them as shared memory takes stay there; the others are streamed from the
//   second-level cache in every step, each by one block. The GPU decides which ones when the
//   program is loaded (runtime/schema/Residence.h).
//
// Conditions, all tested at both sides (RecurrentChoiceTest):
//   f64                            a block for each row;
//   more than kMostStagedBytes     a block for each row: the states of one row do not fit a block;
//   several side by side           blocks that share the units of all of them;
//   layers of a stack in waves     the same: a column has the lines of one unit of all layers;
//   weights of at most kRowBytes   whichever is estimated to be faster;
//   weights of more                blocks that share the units, however many rows there are.
// The number of units of a block is estimated too, for the GPU that the file is for, else an H100:
// at least as many as its multiprocessors leave each block, and where all weights fit in
// kSmallShare bytes of such blocks, no share of more. A GPU with fewer multiprocessors gets fewer
// blocks of more units.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_RECURRENTCHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_RECURRENTCHOICE_H

#include "ir/machine/GpuModel.h"
#include "runtime/schema/Residence.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dlc::codegen {

/// The plan of a recurrence, from the usual number of rows of the batch and the largest one
/// (nullopt: any number).
struct StepShape {
  int64_t gates, units, outputs, rows, elementBytes;
  bool hasProjection;
  std::optional<int64_t> mostRows;
  /// Recurrences of this shape that run side by side: blocks divide the units of all among them.
  int64_t cells = 1;
  /// Layers stacked on each other, whose steps run in waves: one step of each, of which all but the
  /// lowest multiply two states, those of the layer below and their own.
  int64_t layers = 1;

  /// States that a wave multiplies, each with as many lines.
  int64_t sources() const { return 2 * layers - 1; }
  /// The states of one layer that are multiplied.
  int64_t sourcesOfLayer() const { return layers > 1 ? 2 : 1; }
  /// Bytes of weights that every step of one of them needs.
  int64_t weightBytes() const {
    return (gates * units * outputs + (hasProjection ? outputs * units : 0)) * elementBytes;
  }
  /// The columns that blocks divide among them: those of the units, then those of the projection's
  /// outputs.
  std::vector<abi::KeptColumns> columns() const;
};

/// Where the lines of layer `layer` begin in a column of a stack, if those for one source take
/// `lineBytes`; the bytes of a column where it is the number of layers.
int64_t beginOfLayer(int64_t layer, int64_t lineBytes);

/// Rows of states that a block brings into shared memory at a time.
struct StagedRows {
  int64_t rows = 0; // of one buffer; 0: not even one row fits
  int64_t atOnce =
      0; // that a warp multiplies with what it has read of the weights; divides `rows` up
  int64_t buffers = 0; // 2: the next rows come while these are used

  /// Bytes of shared memory that they take.
  int64_t bytes(const StepShape &shape) const {
    int64_t width = std::max(shape.units, shape.outputs) * shape.sourcesOfLayer();
    return (rows * buffers * width * 4 + 15) / 16 * 16;
  }
};

/// The share of one of the blocks that have all of the hidden units between them.
struct UnitShare {
  int64_t units = 0; // at least, in each block but the last; 0: a block for each row instead

  /// The grid: blocks at most.
  int64_t blocks(const StepShape &shape) const {
    return (shape.units * shape.cells + units - 1) / units;
  }
};

/// Warps of a block of those that share the units.
inline constexpr int64_t kStepWarps = 8;
/// Weights up to here may be left to a block for each row: what fits kSmallShare bytes in each of
/// 128 blocks.
inline constexpr int64_t kSmallShare = 40 << 10;
inline constexpr int64_t kRowBytes = 128 * kSmallShare;
/// Shared memory for states: where more rows are to be had at a time, and at most.
inline constexpr int64_t kStagedBytes = 64 << 10;
inline constexpr int64_t kMostStagedBytes = 96 << 10;
static_assert(kMostStagedBytes <= abi::kLeastSharedLimit, "the launch must fit every GPU");

StagedRows chooseStagedRows(const StepShape &shape);
/// Clocks of a step, or of a wave, estimated.
double clocksOfRowStep(const StepShape &shape, const GpuModel &gpu = kHopper);
double clocksOfSharedStep(const StepShape &shape, const UnitShare &share,
                          const GpuModel &gpu = kHopper);
/// The share of the plan that the conditions above give.
UnitShare chooseUnitShare(const StepShape &shape, const GpuModel &gpu = kHopper);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_RECURRENTCHOICE_H
