//===- RecurrentSteps.h - The steps of recurrences on the CPU -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two schedules run recurrences: tiles of rows, each from its first step to its last
// (recurrent_rows), and phases of one step, whose tiles are groups of units (recurrent_units). They
// share what a step is made of:
//
//   a product: pre[row][gate][unit] = sum over k of weight[unit / 16][k][gate][unit % 16] *
//     h[row][k], rows times the gates of a panel in registers: a block reads each weight once;
//   then the op's own step on vectors of units, row by row: gates and pre in, states and y out.
//
// States are in the compute type, in scratch memory. The long tail of a row with fewer steps is
// filled with zeros at the end. No partition of rows or units changes a bit.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_RECURRENT_RECURRENTSTEPS_H
#define DLC_CODEGEN_CPU_SCHEDULE_RECURRENT_RECURRENTSTEPS_H

#include "codegen/cpu/schedule/CpuKernel.h"
#include "ir/interfaces/Recurrent.h"

namespace dlc::codegen {

/// Rows of scratch memory, whole panels wide: `rows` of them are one for each row of a tile.
struct StateRows {
  mlir::Value memory;
  int64_t width = 0;
};

/// Panels, or columns, from the first one to before the last one.
struct UnitRange {
  mlir::Value begin, end;
};

class RecurrentSteps {
protected:
  explicit RecurrentSteps(CpuKernel &kernel);

  //===- Rows and time ------------------------------------------------------------------------===//

  void forRows(llvm::function_ref<void(mlir::Value row)> body) {
    k.forEach(k.index(0), tileRows, 1, body);
  }
  /// How many steps of row `row` of the tile count.
  mlir::Value length(mlir::Value row);
  /// The most that a row of the tile has.
  mlir::Value mostSteps();
  /// Where row `row` of the tile is at `step`: the time, and whether it still counts (null:
  /// always).
  struct Moment {
    mlir::Value offset; // of the row's time in gates and y, in rows of theirs
    mlir::Value counts;
  };
  Moment momentOf(mlir::Value row, mlir::Value step);
  mlir::Value place(mlir::Value row, mlir::Value time);

  //===- Memory -------------------------------------------------------------------------------===//

  /// Calls `body` for the vectors of so many columns, with a mask for one that is not whole.
  void forColumns(int64_t columns,
                  llvm::function_ref<void(mlir::Value column, mlir::Value mask)> body);
  /// The same of those in `range`, which begins at a vector's begin.
  void forColumnsOf(int64_t columns, const std::optional<UnitRange> &range,
                    llvm::function_ref<void(mlir::Value column, mlir::Value mask)> body);
  mlir::Value at(const StateRows &memory, mlir::Value row, mlir::Value column) {
    return k.add(k.mul(row, k.index(memory.width)), column);
  }
  mlir::Value loadScratch(const StateRows &memory, mlir::Value row, mlir::Value column);
  void storeScratch(const StateRows &memory, mlir::Value row, mlir::Value column,
                    mlir::Value value);
  mlir::Value loadBuffer(mlir::Value buffer, mlir::Value offset, mlir::Value mask);
  void storeBuffer(mlir::Value buffer, mlir::Value offset, mlir::Value mask, mlir::Value value);
  /// A vector of zeros in the compute type.
  mlir::Value zeros();
  int64_t bytesOfElement() const { return type.getIntOrFloatBitWidth() / 8; }

  //===- A step -------------------------------------------------------------------------------===//

  /// to[row][gate][column] = sum over `length` of from[row] times the packed weights, for all
  /// columns or those of the panels `range`.
  void product(const StateRows &from, int64_t length, unsigned weightInput, int64_t gates,
               int64_t columns, const StateRows &to,
               const std::optional<UnitRange> &range = std::nullopt);
  /// The op's step, of all units or those in `range`: the states `next` of the states `old`, which
  /// may be in the same memory.
  void cell(mlir::Value step, llvm::ArrayRef<StateRows> old, llvm::ArrayRef<StateRows> next,
            const std::optional<UnitRange> &range = std::nullopt);
  /// The states before the first step.
  void begin(llvm::ArrayRef<StateRows> states,
             const std::optional<UnitRange> &range = std::nullopt);
  /// The states after the last step, and the zeros after the last step of shorter rows.
  void finish(llvm::ArrayRef<StateRows> states,
              const std::optional<UnitRange> &range = std::nullopt);
  /// Panels that a single row takes at once.
  int64_t panelsAtOnce(int64_t gates, int64_t panels) const;

  CpuKernel &k;
  RecurrentOpInterface op;
  Recurrence r;
  mlir::Type type; // compute type
  int64_t lanes;
  int64_t maxVectors;       // accumulators that fit the register file
  int64_t mostRows = 1;     // of a tile, where the schedule bounds them
  int64_t panelsOfTile = 1; // of a tile that is a range of units
  StateRows pre;   // pre-activations: [gate][unit] for each row, each gate from a panel's begin
  StateRows whole; // what is projected
  mlir::Value firstRow, tileRows; // of the tile at hand

private:
  /// The parts of a product: some rows times some panels.
  struct Block {
    const StateRows &from, &to;
    int64_t length;
    unsigned weightInput;
    int64_t gates;
  };
  void productRows(const Block &block, const UnitRange &panels, int64_t atOnce, int64_t count,
                   mlir::Value row, int64_t rows);
  void productBlock(const Block &block, mlir::Value firstPanel, int64_t panels, mlir::Value row,
                    int64_t rows);
};

/// The recurrence that is the whole of `kernel`.
RecurrentOpInterface recurrenceOf(dlx::KernelOp kernel);
/// The kernel's input that is operand `operand` of its op.
unsigned inputOf(RecurrentOpInterface op, unsigned operand);
/// Bytes of the weights that a step reads.
int64_t weightBytes(const Recurrence &r);
/// True where threads had better share the units of `rows` rows than the rows: rows are few, and
/// weights many.
bool isWorthSharing(const Recurrence &r, double rows);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_RECURRENT_RECURRENTSTEPS_H
