//===- CudaOracle.h - What the schedules for CUDA can run ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CUDAORACLE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CUDAORACLE_H

#include "ir/interfaces/ScheduleOracle.h"

namespace dlc::codegen {

class CudaOracle : public ScheduleOracle {
public:
  std::string whyNoKernel(dl::AttentionOp op) const override;
  bool poolsProducts() const override { return true; }
  bool storesSeveral(llvm::ArrayRef<mlir::Operation *> ops) const override;
  std::optional<dl::NotFused> whyNotWholeRows(mlir::Operation *op,
                                              const RowShape &shape) const override;
  /// Kernels declare that their pointers do not alias.
  bool overwritesOperands() const override { return false; }
  int64_t alignmentOfParts() const override { return 16; }
  bool reducesJoined() const override { return true; }
  bool runsSideBySide(llvm::ArrayRef<RecurrentOpInterface> ops) const override;
  bool hasVectorsOfGroups(LoopNestOpInterface) const override { return false; }
  bool slidesAlongRows(LoopNestOpInterface window) const override;
  double microsecondsToMove(mlir::Operation *op, int64_t bytes) const override;
  double microsecondsToCompute(mlir::Operation *op, double bytes, double operations) const override;
  std::optional<double> microsecondsOfRun(mlir::ModuleOp target) const override;
  bool multipliesFloat8(LoopNestOpInterface product) const override;
  bool multipliesStoredBlocks() const override { return false; }
  bool multipliesTwoOfFour() const override { return true; }
  std::pair<double, double> microsecondsOfTwoOfFour(mlir::Operation *op, double rows,
                                                    int64_t columns, int64_t depth) const override;
  bool hasThreadBlocks() const override { return true; }
  bool hasWaves() const override { return true; }
  bool runsInWaves(llvm::ArrayRef<RecurrentOpInterface> layers) const override;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CUDAORACLE_H
