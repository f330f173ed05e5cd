//===- CpuOracle.h - What the schedules of the CPU can run --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CPU_SCHEDULE_CPUORACLE_H
#define DLC_CODEGEN_CPU_SCHEDULE_CPUORACLE_H

#include "ir/interfaces/ScheduleOracle.h"

namespace dlc::codegen {

class CpuOracle : public ScheduleOracle {
public:
  std::string whyNoKernel(dl::AttentionOp op) const override;
  bool poolsProducts() const override { return false; }
  bool storesSeveral(llvm::ArrayRef<mlir::Operation *> ops) const override;
  std::optional<dl::NotFused> whyNotWholeRows(mlir::Operation *op,
                                              const RowShape &shape) const override;
  /// CpuKernel::storeEach computes all results of an element before it stores the first.
  bool overwritesOperands() const override { return true; }
  int64_t alignmentOfParts() const override { return 1; }
  /// Rows are vectors, whose lanes cannot choose.
  bool reducesJoined() const override { return false; }
  bool runsSideBySide(llvm::ArrayRef<RecurrentOpInterface>) const override { return false; }
  bool hasVectorsOfGroups(LoopNestOpInterface window) const override;
  bool slidesAlongRows(LoopNestOpInterface) const override { return false; }
  double microsecondsToMove(mlir::Operation *op, int64_t bytes) const override;
  double microsecondsToCompute(mlir::Operation *op, double bytes, double operations) const override;
  std::optional<double> microsecondsOfRun(mlir::ModuleOp target) const override;
  bool multipliesFloat8(LoopNestOpInterface) const override { return false; }
  bool multipliesStoredBlocks() const override { return true; }
  bool multipliesTwoOfFour() const override { return false; }
  std::pair<double, double> microsecondsOfTwoOfFour(mlir::Operation *, double, int64_t,
                                                    int64_t) const override {
    return {0, 0};
  }
  bool hasThreadBlocks() const override { return false; }
  bool hasWaves() const override { return false; }
  bool runsInWaves(llvm::ArrayRef<RecurrentOpInterface>) const override { return false; }
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_CPUORACLE_H
