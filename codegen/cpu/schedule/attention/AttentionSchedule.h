//===- AttentionSchedule.h - Attention on the CPU -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile is some rows of queries of one head. It walks the keys block by block; scores of a block
// live in scratch memory alone. Vectors run along the rows: a score is a sum of elements of the
// key, each repeated in all lanes, times vectors of the query, which lies turned in scratch memory;
// so the largest score, the sum of the weights and the masks of all rows of a vector are computed
// at once, and the product with the values repeats elements of these in the same way.
//
//   largest = -inf, total = 0, sums = 0
//   for each block of keys: copy its keys and values as f32
//     for each group of rows:
//       scores = key * query; maps of the scores and the causal mask; most = max(largest, scores)
//       weights = exp(scores - most); shrink = exp(largest - most); total = total * shrink + sum of
//       the weights sums = sums * shrink + value * weights; largest = most
//   y = sums / total
//
// A row whose scores are all -inf ends as 0 / 0, a row with NaN or inf among them as NaN: as a
// softmax gives it. With a causal mask keys that no row of a group sees are left out.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_ATTENTION_ATTENTIONSCHEDULE_H
#define DLC_CODEGEN_CPU_SCHEDULE_ATTENTION_ATTENTIONSCHEDULE_H

#include "codegen/cpu/schedule/CpuKernel.h"
#include "codegen/plan/AttentionLimits.h"

namespace dlc::codegen {

/// Fills the function of one attention: see above.
class AttentionSchedule {
public:
  AttentionSchedule(CpuKernel &kernel, const dl::AttentionParts &parts);
  CpuLaunch run();

private:
  /// Rows whose sums are kept in registers together.
  struct Group {
    mlir::Value first;   // in the tile
    int64_t vectors;     // of rows
    mlir::Value mask;    // rows in use, of the one vector; null: all
    mlir::Value numKeys; // of the block that some row sees
  };

  mlir::Value scratch(int64_t elements);
  void emitTile();
  void copyQuery();
  void clearSums();
  void emitBlock(mlir::Value firstKey, mlir::Value endKey);
  void emitGroup(Group group, mlir::Value firstKey, mlir::Value blockKeys);
  void multiplyKeys(const Group &group);
  /// Maps of the scores and the causal mask. Returns the largest score of each row, that of the
  /// blocks before included.
  llvm::SmallVector<mlir::Value> finishScores(const Group &group, mlir::Value firstKey);
  /// The maps of the scores, row by row: their bodies read the index of the row.
  void mapScoresOneByOne(const Group &group, mlir::Value firstKey);
  /// Makes weights of the scores. Returns by what the sums so far shrink.
  llvm::SmallVector<mlir::Value> formWeights(const Group &group, mlir::ValueRange most);
  void multiplyValues(const Group &group, mlir::ValueRange shrink);
  void emitResults();

  /// Copies what term `term` of the root of `from` reads at `loops`, along `along`, to scratch
  /// memory as f32.
  void copyLine(BodyEmitter &from, unsigned term, llvm::ArrayRef<mlir::AffineExpr> loops,
                mlir::AffineExpr along, int64_t length, mlir::Value to, mlir::Value at);
  /// The first key that no row sees of those up to row `row` of the tile; null without a causal
  /// mask.
  mlir::Value endOfSeen(mlir::Value row);
  void bindRow(mlir::Value inTile) { k.math.bindLoop(row, k.add(firstRow, inTile)); }

  mlir::VectorType vectorType() { return mlir::VectorType::get({lanes}, k.builder.getF32Type()); }
  mlir::Value number(double value);
  mlir::Value loadRows(mlir::Value from, mlir::Value at);
  void storeRows(mlir::Value rows, mlir::Value to, mlir::Value at);
  mlir::Value repeated(mlir::Value from, mlir::Value at);
  mlir::Value exponential(mlir::Value x);
  /// Where the scores of vector `vector` of the group lie for key `key` of the block.
  mlir::Value scoreAt(const Group &group, mlir::Value key, int64_t vector);
  /// Elements from one key of a block to the next: elements of several that are read at once lie in
  /// different banks of the cache.
  int64_t keyApart() const { return width + 4; }
  /// Elements from one line of the query or the sums to the next: not a power of two, so that lines
  /// lie in different sets of the cache.
  int64_t rowsApart() const { return tileRows + kPanel; }
  int64_t sumsOf(int64_t vectors) const { return mostSums / vectors; }

  CpuKernel &k;
  const dl::AttentionParts &a;
  BodyEmitter scores;
  const LoopNest &product, &sum;
  AttentionDims dims;
  int64_t lanes, mostSums;
  int64_t width, columns, tileRows; // elements of a query and of a value, rows of a tile
  int64_t scratchBytes = 0;

  llvm::SmallVector<mlir::AffineExpr> y, scoreIndices, scoreLoops, sumLoops;
  mlir::AffineExpr row, column, key, depth, numRows, numKeys;
  /// Over the variables: the last key that is seen. Null without a causal mask.
  mlir::AffineExpr lastSeen;

  /// Scratch memory: the query as [width][tileRows], the sums as [columns][tileRows], rows of
  /// either while they are turned, keys and values of a block, its scores for a group, and what
  /// each row of the tile has so far.
  mlir::Value query, sums, turned, keys, values, weights, largest, totals;
  mlir::Value firstRow, rowCount; // of the tile at hand
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_ATTENTION_ATTENTIONSCHEDULE_H
