//===- NetworkSort.h - A line sorted by a network of comparators --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_LINES_NETWORKSORT_H
#define DLC_CODEGEN_CPU_SCHEDULE_LINES_NETWORKSORT_H

#include "codegen/cpu/schedule/CpuKernel.h"

namespace dlc::codegen {

/// Sorts unsigned words of 32 bits by a bitonic network (Batcher, 1968) whose comparators all put
/// the lower word first: that of a block of size 2^k begins with elements as far from its middle on
/// both sides, and goes on with those size/4, size/8 ... 1 apart.
///
/// Element e of P lies in lane e / rows of row e % rows, with rows = P / kLanes: elements less than
/// `rows` apart are in rows of their own, and a comparator of two rows is a minimum and a maximum
/// of all lanes. Only the last log2(kLanes) sizes have steps that cross lanes. Each pass over the
/// rows takes eight of them through up to three steps, in registers.
class NetworkSort {
public:
  static constexpr int64_t kLanes = 16; // whatever the instruction set
  static constexpr int64_t kFewest = 8 * kLanes;

  /// `words`: i32, `rows` times kLanes of them; `rows` a power of two from 8 on.
  NetworkSort(CpuKernel &k, mlir::Value words, mlir::Value rows);
  void sort();

private:
  using Rows = llvm::SmallVector<mlir::Value, 8>;
  /// The rows that eight registers take, given the number of the group.
  using Places = llvm::function_ref<Rows(mlir::Value group)>;
  void pass(Places places, llvm::function_ref<void(Rows &)> steps);
  void neighbours(llvm::function_ref<void(Rows &)> steps);
  void sortBlocks();
  void mergeRows(mlir::Value logSize);
  void mergeLanes(unsigned logLanes);
  void halve(mlir::Value logApart);
  void order(Rows &rows, unsigned low, unsigned high);
  void halveQuarters(Rows &rows);
  mlir::Value swapLanes(mlir::Value row, unsigned distance);
  mlir::Value chooseLanes(mlir::Value low, mlir::Value high, unsigned bit);

  mlir::Value shiftLeft(mlir::Value a, mlir::Value bits);
  mlir::Value shiftRight(mlir::Value a, mlir::Value bits);
  mlir::Value minus(mlir::Value a, mlir::Value b);

  CpuKernel &k;
  mlir::Value words, rows, logRows;
  mlir::VectorType row;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_LINES_NETWORKSORT_H
