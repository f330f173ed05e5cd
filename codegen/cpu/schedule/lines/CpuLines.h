//===- CpuLines.h - The lines of a tensor as tiles of a CPU kernel ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_LINES_CPULINES_H
#define DLC_CODEGEN_CPU_SCHEDULE_LINES_CPULINES_H

#include "codegen/cpu/schedule/CpuKernel.h"
#include "codegen/plan/SortKey.h"

namespace dlc::codegen {

/// Neighbouring lines that are worked on at once, whatever the instruction set: tiles are the same
/// for all of them.
inline constexpr int64_t kLinesOfTile = 16;

/// What the schedules of line ops share: one line, or neighbours along the last dim, in a tile.
class CpuLines {
protected:
  explicit CpuLines(CpuKernel &kernel)
      : k(kernel), op(lineOpOf(kernel.emitter.getKernel())), work(op.getLineWork()),
        x(llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType())),
        y(llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType())) {}

  /// Lines that do not go along the last dim have neighbours in memory.
  bool haveNeighbours() const {
    return work.dim + 1 != x.getRank() && !dl::isConstant(dl::getDims(x).back(), 1);
  }
  /// Binds variables for all dims but `along`, which runs to before `length`, to the first line of
  /// tile `tile`.
  void bindLines(mlir::Value tile, int64_t linesOfTile, mlir::AffineExpr length);
  /// How many of `linesOfTile` neighbours from the tile's first line on there are, or more.
  mlir::Value linesLeft(int64_t linesOfTile);
  CpuLaunch launch(int64_t linesOfTile, mlir::AffineExpr scratch);

  mlir::Value load(mlir::Value memory, mlir::Value at);
  void store(mlir::Value value, mlir::Value memory, mlir::Value at);

  CpuKernel &k;
  LineOpInterface op;
  LineWork work;
  mlir::RankedTensorType x, y;
  llvm::SmallVector<mlir::AffineExpr> indices; // of the line at hand, and `along`
  mlir::AffineExpr along;

private:
  llvm::SmallVector<mlir::AffineExpr> lineDims, lineExtents;
};

/// first, first + 1, ... in a vector of `type`.
mlir::Value lanesFrom(CpuKernel &kernel, mlir::Value first, int64_t lanes, mlir::Type type);
/// The sums of the lanes of a vector of integers up to and with each of them: in as many steps as
/// the count of lanes has bits.
mlir::Value sumsOfLanes(CpuKernel &kernel, mlir::Value lanes);
/// Elements of lines put in order.
CpuLaunch scheduleOrder(CpuKernel &kernel);
/// Updates of lines made one after the other.
CpuLaunch scheduleScatter(CpuKernel &kernel);
/// Boxes of lines that overlap none before them.
CpuLaunch scheduleSuppress(CpuKernel &kernel);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_LINES_CPULINES_H
