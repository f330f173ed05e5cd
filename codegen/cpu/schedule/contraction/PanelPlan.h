//===- PanelPlan.h - How a contraction is cut into tiles ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_PANELPLAN_H
#define DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_PANELPLAN_H

#include "codegen/cpu/schedule/contraction/PanelContraction.h"

namespace dlc::codegen {

/// The tiles of a contraction: chunks of rows by groups of panels. The numbers of the plan
/// "panels".
struct PanelPlan {
  int64_t chunkRows;   ///< rows of a tile
  int64_t groupPanels; ///< panels of kPanel columns of a tile
  bool byGroups;       ///< all chunks of a group come before the next group, not the other way

  static PanelPlan of(dlx::PlanAttr plan);
  /// The plan of the schedule "panels", which takes `ns` nanoseconds of one core by estimate.
  dlx::PlanAttr attribute(mlir::MLIRContext *context, double ns) const;
  bool operator==(const PanelPlan &other) const = default;
};

/// The sizes of a contraction that plans are made by.
class PanelSizes {
public:
  PanelSizes(const BodyEmitter &emitter, const IndexMath &math, const PanelContraction &parts);

  /// The tiles that are right by rule.
  PanelPlan usualPlan() const;
  /// Those and others that a machine may run faster, the usual one first.
  llvm::SmallVector<PanelPlan> plans() const;
  /// Bytes that a thread reads and its own cache does not hold, at the usual sizes; nullopt if
  /// these are not known. Chunk by chunk, a thread reads its part of the rows once, and all panels
  /// once, or once a chunk if they are too many. Group by group, it reads its part of the panels
  /// once, and all rows once, or once a group, most of them from the caches of other threads.
  std::optional<double> bytesOfThread(const PanelPlan &plan) const;
  /// How much is computed for the rows of the last chunk's blocks that there are not, as a factor.
  double waste(const PanelPlan &plan) const;

  mlir::AffineExpr numRows, numColumns, numBatches;
  std::optional<int64_t> usualRows;  ///< to choose tiles for
  std::optional<int64_t> panelCount; ///< where the number of columns is known

private:
  int64_t usualChunk() const;
  int64_t usualGroup() const;
  bool fitsGroups(int64_t panels) const;

  const PanelContraction &parts;
  const LoopNest &nest;
  const IndexMath &math;
  mlir::RankedTensorType aType, bType; // b's is null where it is computed
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_PANELPLAN_H
