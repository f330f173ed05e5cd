//===- RecurrentSchedule.h - Recurrences on the CPU ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile is some rows of the batch, from their first step to their last; rows do not depend on each other, so no partition
// changes a bit. Their states live in scratch memory in the compute type. A step of a tile is
//
//   a product: pre[row][gate][unit] = sum over k of weight[unit / 16][k][gate][unit % 16] * h[row][k], blocks of rows times
//     the gates of a panel in registers, so that each vector of weights is read once a block;
//   then the op's own step on vectors of units, row by row: gates and pre in, states and y out;
//   with a projection, the product and the stores once more.
//
// The long tail of a row with fewer steps is filled with zeros at the end.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_SCHEDULE_CPU_RECURRENTSCHEDULE_H
#define DLC_CODEGEN_SCHEDULE_CPU_RECURRENTSCHEDULE_H

#include "codegen/cpu/schedule/CpuKernel.h"
#include "ir/interfaces/Recurrent.h"

namespace dlc::codegen {

/// Fills the function of one recurrence: see above.
class RecurrentSchedule {
public:
  explicit RecurrentSchedule(CpuKernel &kernel);
  CpuLaunch run();

private:
  /// Rows of scratch memory: one for each row of the tile, whole panels wide.
  struct Scratch {
    mlir::Value memory;
    int64_t width;
  };
  Scratch scratch(int64_t columns);
  void emitTile(mlir::Value tile);
  void product(const Scratch &from, int64_t length, unsigned weightInput, int64_t gates,
               int64_t columns, const Scratch &to);
  /// What a block of rows times some panels is made of.
  struct Block {
    const Scratch &from, &to;
    int64_t length;
    unsigned weightInput;
    int64_t gates;
  };
  void productRows(const Block &block, int64_t panels, int64_t atOnce, mlir::Value row,
                   int64_t rows);
  void productBlock(const Block &block, mlir::Value firstPanel, int64_t panels, mlir::Value row,
                    int64_t rows);
  void cell(mlir::Value step);
  void project(mlir::Value step);
  /// Calls `body` for the vectors of `columns` columns, with the mask of the last one where it is not whole.
  void forColumns(int64_t columns,
                  llvm::function_ref<void(mlir::Value column, mlir::Value mask)> body);
  void forRows(llvm::function_ref<void(mlir::Value row)> body) {
    k.forEach(k.index(0), tileRows, 1, body);
  }

  mlir::Value length(mlir::Value row);
  /// Where row `row` of the tile stands at `step`: the time, and whether it still counts (null: always).
  struct Moment {
    mlir::Value offset; // of the row's time in gates and y, in rows of theirs
    mlir::Value counts;
  };
  Moment momentOf(mlir::Value row, mlir::Value step);
  mlir::Value place(mlir::Value row, mlir::Value time);
  mlir::Value at(const Scratch &memory, mlir::Value row, mlir::Value column) {
    return k.add(k.mul(row, k.index(memory.width)), column);
  }
  mlir::Value loadScratch(const Scratch &memory, mlir::Value row, mlir::Value column);
  void storeScratch(const Scratch &memory, mlir::Value row, mlir::Value column, mlir::Value value);
  mlir::Value loadBuffer(mlir::Value buffer, mlir::Value offset, mlir::Value mask);
  void storeBuffer(mlir::Value buffer, mlir::Value offset, mlir::Value mask, mlir::Value value);

  CpuKernel &k;
  RecurrentOpInterface op;
  Recurrence r;
  mlir::Type type; // compute type
  int64_t lanes;
  int64_t maxVectors; // accumulators that fit the register file
  int64_t rowsOfTile;
  int64_t scratchBytes = 0;
  llvm::SmallVector<Scratch> states;
  Scratch pre; // pre-activations: [gate][unit] for each row, each gate from a panel's begin
  Scratch whole, projected;       // outputs before and after the projection
  mlir::Value firstRow, tileRows; // of the tile at hand
};

/// The kernel's input that is operand `operand` of its op.
unsigned inputOf(RecurrentOpInterface op, unsigned operand);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_SCHEDULE_CPU_RECURRENTSCHEDULE_H
