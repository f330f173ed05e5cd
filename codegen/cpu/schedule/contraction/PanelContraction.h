//===- PanelContraction.h - Sums of products as rows times panels -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products, batched ones, and convolutions are one shape to the micro-kernel:
//   result[batch][row][column] = sum over k of a[batch][row][k] * b[batch][column][k]
// Every parallel and reduction dim of the loop nest plays one of these parts.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_PANELCONTRACTION_H
#define DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_PANELCONTRACTION_H

#include "codegen/cpu/image/CpuCode.h"
#include "codegen/plan/BodyEmitter.h"
#include "codegen/plan/PackOperand.h"

namespace dlc::codegen {

/// A sum whose second operand is two tensors, one after the other along the innermost reduction
/// loop, which are made of the same bytes: the low and the high halves of bytes.
struct HalvedSum {
  dl::CatOp cat;
  int64_t size;      // steps of the first tensor; those of the second are as many, or fewer
  int64_t block = 0; // steps that share all else that is read, such as a scale; 0: there are none
};

struct PanelContraction {
  /// Parallel dims that b reads, the column aside; and outermost ones of a alone whose size is not
  /// known, where the known ones are many rows.
  llvm::SmallVector<unsigned> batch;
  llvm::SmallVector<unsigned>
      rows;            // parallel dims that a alone reads, in the memory order of the result
  unsigned column = 0; // the parallel dim that only b reads, or a for whole groups of columns alike
  /// Columns that read the same of a, a multiple of kPanel; 0: all do.
  int64_t columnsOfGroup = 0;
  /// Columns of a group of less than a panel, 2, 4 or 8, which has as many channels of a; 0: there
  /// are no such groups. A panel of columns then reads the same channels of a, of which each lane
  /// takes those of its group in turn.
  int64_t narrowGroup = 0;
  llvm::SmallVector<unsigned> reduction; // reduction dims, outermost loop first
  /// The first operand as it is read: itself, or the narrower integers that it is cast from, plus
  /// `zeroPoint`.
  mlir::Value a;
  int64_t zeroPoint = 0;
  /// One instruction multiplies several neighbours along the innermost reduction loop
  /// (ContractionNeighbours.cpp) and adds them in i32: u8 less its zero point, or i16, with i8, u8
  /// or i16. `bytes` where it is u8 with i8.
  bool integers = false, bytes = false;
  /// The same of bf16 with bf16, added in f32.
  bool brainFloats = false;
  bool areNeighbours = false; // in a's memory, too
  unsigned bInput = 0;        // the kernel's input that is b, or that b is cast from
  /// b where it is computed from several inputs as it is read (UnpackedWeights.h); else null.
  mlir::Value b;
  std::optional<HalvedSum> halves; // of such a one
  llvm::SmallVector<PackedOperand>
      packed; // what lies in panels: b, or those of the inputs that have a column

  /// How many neighbours `isa` multiplies at once.
  int64_t neighboursAtOnce(IsaVariant isa) const;
  /// The instruction set from which on none is faster.
  IsaVariant bestIsa() const;

  /// Returns the panel contraction of the kernel of `emitter`; nullopt if the kernel is not a
  /// product or gains nothing from panels.
  static std::optional<PanelContraction> match(BodyEmitter &emitter, IndexMath &math);

private:
  /// Makes outermost dims of the rows whose size is a symbol, a number of images, dims of the batch
  /// where an image has many rows: these are cut into chunks and blocks that suit their number.
  void takeImagesApart(const LoopNest &nest);
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_PANELCONTRACTION_H
