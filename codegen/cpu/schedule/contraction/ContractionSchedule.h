//===- ContractionSchedule.h - GEMM and convolution micro-kernels on the CPU --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of rows times some panels is kept in registers: for each k, one vector load for each
// panel register and one broadcast for each row. The operand b lies in panels [N/16][K][16]
// (PanelContraction::layout), a and the result as the model has them; a convolution reads its input
// in place, tap by tap. Taps outside of it read a row of zeros in scratch memory, or, where maps
// stand before the contraction, offset 0, and the value is replaced. The epilogue runs on the
// accumulators. Integers of 8 and 16 bits and bf16 are multiplied by two or four neighbours along k
// (ContractionNeighbours.cpp). Elements that are stored narrower than they are multiplied become
// wide in scratch memory first, once for many products (NeighbourPanels.cpp, WideRows.cpp). Weights
// in few bits are unpacked as they are read (ContractionUnpack.cpp).
//
// A tile of the launch is kChunkRows rows by a group of panels, equal for all instruction sets;
// registers decide how it is cut into blocks. The last block of a chunk repeats its last row rather
// than having code of its own. Threads share the tiles in their order: chunk by chunk, or group by
// group where that brings fewer bytes from outside of their own caches.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_CONTRACTIONSCHEDULE_H
#define DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_CONTRACTIONSCHEDULE_H

#include "codegen/cpu/schedule/CpuKernel.h"
#include "codegen/cpu/schedule/contraction/PanelPlan.h"

namespace dlc::codegen {

/// Rows of a block at most: of one vector each.
inline constexpr int64_t kMostBlockRows = 12;
/// Innermost loops of at most this many steps are written out.
inline constexpr int64_t kUnrolledSteps = 4;

/// Fills the function of one contraction: see above.
class ContractionSchedule {
public:
  ContractionSchedule(CpuKernel &kernel, PanelContraction parts, const PanelPlan &plan);
  CpuLaunch run();

private:
  /// One row of the block: its indices, and for the tap at hand whether it lies inside (null:
  /// always) and where it is read, if from a buffer that was chosen for that.
  struct Row {
    llvm::SmallVector<mlir::AffineExpr> parallel; // with the shared column variable
    /// The variables of the rows' dims, and the one of their position among all rows; none for what
    /// reads no row.
    llvm::SmallVector<mlir::AffineExpr> variables;
    mlir::AffineExpr position;
    mlir::Value inside, source, first;
  };
  /// A test that a read of the first operand needs: 0 <= index < extent.
  struct BoundsTest {
    mlir::AffineExpr index, extent;
    bool low, high;
  };

  void emitTile(mlir::Value group, mlir::Value batchAt, mlir::Value chunk);
  void emitPanels(mlir::Value first, int64_t panels, mlir::Value firstRow);
  void emitBlock(mlir::Value firstRow, mlir::Value firstPanel, int64_t panels, int64_t blockRows);
  llvm::SmallVector<mlir::Value> reduce(unsigned depth, llvm::SmallVector<mlir::Value> accs,
                                        bool guarded);
  llvm::SmallVector<mlir::Value> reduceStep(llvm::ArrayRef<mlir::Value> accs);
  llvm::SmallVector<mlir::Value> reduceChecked(llvm::ArrayRef<mlir::Value> init);
  /// The innermost loop, which counts the channels of narrow groups.
  llvm::SmallVector<mlir::Value> reduceNarrowGroups(llvm::SmallVector<mlir::Value> accs);
  /// The channels of the first operand that vector `vector` of the panels at hand has as columns.
  mlir::Value readChannels(const Row &row, int64_t vector);
  /// The innermost loop has fewer steps than are multiplied at once.
  bool isShort() const;
  /// Whether four bytes of the first operand may be read from wherever the rows at hand read one;
  /// null where it is not known.
  mlir::Value mayReadOn();
  void computeGuards();
  void makeZeroRow();
  bool readsZeroRow() const { return zeroRow != nullptr; }
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value acc);
  mlir::Value readA(int64_t row);
  mlir::Value readStoredA(const Row &row);
  mlir::Value convertB(int64_t vector);
  mlir::Value loadB(int64_t firstColumn, int64_t count);

  /// The same where b is computed from inputs in panels.
  mlir::Value computeB(int64_t vector);
  /// Steps of both halves of the innermost loop `dim` in turn: they read the same bytes.
  llvm::SmallVector<mlir::Value> reduceHalves(unsigned dim, llvm::SmallVector<mlir::Value> accs);

  /// The innermost loop `dim`, where several steps of it are multiplied at once or rows are
  /// widened.
  llvm::SmallVector<mlir::Value> reduceNeighbours(unsigned dim,
                                                  llvm::SmallVector<mlir::Value> accs);
  /// `count` steps, from reductionAt on.
  llvm::SmallVector<mlir::Value> neighbourStep(llvm::ArrayRef<mlir::Value> accs, int64_t count);
  mlir::Value multiplyNeighbours(mlir::Value a, mlir::Value b, mlir::Value acc);
  /// multiplyNeighbours takes integers of this type, or the bits of bf16.
  mlir::Type neighbourType() const;
  mlir::Value readNeighboursOfA(int64_t row, int64_t count);
  mlir::Value readBitsOfA(const Row &row);
  std::pair<mlir::Value, mlir::Value> placeOfA(const Row &row);
  /// `offset` by the row's position where it moves evenly along all rows, so that no index of
  /// theirs is divided out.
  mlir::AffineExpr alongRows(const Row &row, mlir::AffineExpr offset) const;
  int64_t storedBitsOfA() const;
  mlir::TypedAttr storedZeroOfA() const;
  /// For each vector of a row of results the next `count` steps of its columns, side by side, as
  /// they are multiplied.
  llvm::SmallVector<mlir::Value> readStepsOfB(int64_t count);
  llvm::SmallVector<mlir::Value> makeStepsOfB(int64_t count);
  llvm::SmallVector<mlir::Value> makePairsOfB(int64_t count);
  llvm::SmallVector<mlir::Value> makeBrainPairsOfB(int64_t count);
  llvm::SmallVector<mlir::Value> makeQuadsOfB(int64_t count);
  /// Plans which part of the panels after `panels` at hand the block of `row` asks for, so that
  /// they have come when their turn is.
  void planPrefetch(mlir::Value firstRow, mlir::Value row, int64_t panels, int64_t blockRows);
  void prefetchB();
  void bindPanels(mlir::Value firstPanel, int64_t panels);
  /// The type that numbers in scratch memory have: that of neighbours, where several are
  /// multiplied, else that of the sums.
  mlir::Type wideType() const;
  bool isNarrowFloat(mlir::Type elementType) const;
  /// Makes room for rows of u8 as i16 and of f16 and bf16 as f32, where the instruction set
  /// multiplies these.
  void planWideRows();
  /// Whether the block at hand reads the first operand from there.
  bool widensRows() const;
  int64_t wideRowSteps() const;
  void widenRows(unsigned dim, mlir::Value from, mlir::Value to);
  /// Where the step of reductionAt lies there.
  mlir::Value placeInWideRows(int64_t row);
  /// Makes room for what the sums of the panels at hand start from where bytes are multiplied
  /// without regard to their zero point.
  void planZeroPointSums();
  void sumZeroPoint(mlir::Value firstPanel, int64_t panels);
  /// Whether panels are widened in scratch memory before the blocks of a chunk read them; makes
  /// room for that.
  void planWidePanels();
  void widenPanels(mlir::Value firstPanel, int64_t panels);
  /// Where the steps of column `column` of the panels at hand lie there, from the step on that
  /// reductionAt says.
  mlir::AffineExpr wideOffset(int64_t column) const;
  void emitRow(const Row &row, llvm::ArrayRef<mlir::Value> accs);

  llvm::SmallVector<mlir::AffineExpr> aIndices(llvm::ArrayRef<mlir::AffineExpr> parallel) const;
  llvm::SmallVector<BoundsTest> testsOf(llvm::ArrayRef<mlir::AffineExpr> indices) const;
  mlir::Value holds(const BoundsTest &test);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::AffineExpr atEnd(mlir::AffineExpr index, bool largest) const;

  int64_t vectorsPerPanel() const { return kPanel / lanes; }
  int64_t rowsFor(int64_t panels) const;
  int64_t panelsAtOnce(int64_t panels) const;
  int64_t mostPanelsAtOnce() const;
  /// Rows that differ from block to block need no test where every block is whole.
  bool rowsAreWhole(int64_t blockRows) const;
  /// The rows of every block are neighbours along the innermost of their dims: the places of all
  /// follow from that of the first.
  bool rowsAreNeighbours(int64_t blockRows) const;

  CpuKernel &k;
  PanelContraction parts;
  const LoopNest &nest;
  mlir::Value aTensor;
  mlir::RankedTensorType bType;
  mlir::Type accType;
  ScalarKind accKind;
  int64_t lanes; // of an accumulator
  // Along the innermost loop of the sums that one instruction multiplies; 1: no more than one
  int64_t neighbours;
  int64_t maxVectors; // accumulators that fit the register file
  mlir::AffineExpr numRows, numColumns, numBatches;
  PanelPlan plan;
  int64_t chunkRows, groupPanels; // of the plan
  std::optional<int64_t> panelCount;

  // Loop variables; those of rows are made for each block.
  llvm::SmallVector<mlir::AffineExpr> batch, reduction, reductionAt;
  mlir::AffineExpr panel, column;
  mlir::AffineExpr lane; // 0: the variable of vectors that are read whole
  /// While halves are walked: which of the two the step at hand is of, and the loop within a block.
  bool inSecondHalf = false;
  mlir::AffineExpr inBlock;
  mlir::Value rowEnd;  // of the tile
  mlir::Value zeroRow; // what taps outside of the operand read
  /// The panels at hand, [panel][K / neighbours][16][neighbours] of wideType(), in scratch memory;
  /// null where blocks widen for themselves.
  mlir::Value widePanels;
  /// The rows at hand, [row][wideRowSteps()] of wideType() from step wideRowsFrom on, in scratch
  /// memory; null where the rows are multiplied as they are stored.
  mlir::Value wideRows, wideRowsFrom;
  /// Where in the second operand the block at hand prefetches from, and how many bytes for each
  /// step; null: nothing.
  mlir::Value prefetchFrom;
  int64_t prefetchStep = 0;
  mlir::Value zeroPointSums;   // [panel][16] of the panels at hand, in scratch memory
  bool readsZeroPoint = false; // in place of the first operand
  bool readsOn = false;        // neighbours that are multiplied with 0 may be any bytes
  int64_t scratchBytes = 0;
  llvm::SmallVector<Row> rows;
  int64_t numVectors = 0; // of a row in the block at hand
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_CONTRACTIONSCHEDULE_H
