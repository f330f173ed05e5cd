//===- KernelView.h - What schedules know of a kernel before they build it ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_KERNELVIEW_H
#define DLC_CODEGEN_CUDA_SCHEDULE_KERNELVIEW_H

#include "codegen/cuda/schedule/variants/ShapePart.h"
#include "codegen/plan/BodyEmitter.h"
#include "codegen/plan/IndexMath.h"
#include "ir/dl/composite/AttentionParts.h"
#include "ir/machine/TargetGpu.h"

namespace dlc::codegen {

/// A kernel as the analyses of schedules see it: its loops, its shapes and its GPU. No function has
/// begun, and nothing is emitted.
class KernelView {
public:
  /// With `part` the kernel serves only those shapes. `load` reads an input where the body is
  /// emitted.
  KernelView(dlx::KernelOp kernel, llvm::ArrayRef<dl::Range> symbols,
             const std::optional<ShapePart> &part = {}, BodyEmitter::Load load = {});
  KernelView(const KernelView &) = delete;
  KernelView &operator=(const KernelView &) = delete;

  /// The GPU that the file is for; `unnamed` where it is for all of them.
  const GpuModel &gpu(const GpuModel &unnamed = kHopper) {
    return askedGpu ? *askedGpu : gpuOf(kernel, &unnamed);
  }
  /// The GPU that a question is about, whatever the file is for.
  const GpuModel *askedGpu = nullptr;

  IndexMath math;
  BodyEmitter body;
  /// The parts of the kernel's body where it is an attention that was expanded.
  std::optional<dl::AttentionParts> attention;

  //===- Shapes -------------------------------------------------------------------------------===//
  mlir::AffineExpr ceilDiv(mlir::AffineExpr extent, int64_t by) const {
    return dl::normalize(extent.ceilDiv(by));
  }
  llvm::ArrayRef<dl::Range> ranges() const { return symbols; }
  /// The values of `expr` over the shapes that the kernel serves; nullopt where unbounded.
  std::optional<dl::Range> range(mlir::AffineExpr expr) const {
    return dl::rangeOf(withPart(expr), symbols);
  }
  /// Largest value of `expr`; nullopt where unbounded.
  std::optional<int64_t> largest(mlir::AffineExpr expr) const;
  std::optional<int64_t> smallest(mlir::AffineExpr expr) const;
  /// The value of `expr` to choose tiles for, at most `guess`: at the usual sizes of its symbols,
  /// else the largest.
  int64_t usual(mlir::AffineExpr expr, int64_t guess) const;

  //===- Loops --------------------------------------------------------------------------------===//
  /// The address of the selected result at the indices of the parallel loops.
  mlir::AffineExpr resultOffset(llvm::ArrayRef<mlir::AffineExpr> indices) const {
    return body.resultOffset(indices);
  }
  /// The dims, of those with `variables`, that no merging may touch: all of them where some access
  /// is checked against bounds (an index past its own dim would fail the test), else those whose
  /// index a body reads.
  llvm::SmallBitVector pinnedDims(llvm::ArrayRef<mlir::AffineExpr> variables,
                                  llvm::ArrayRef<mlir::AffineExpr> parallel,
                                  llvm::ArrayRef<mlir::AffineExpr> reduction);
  /// Runs `visit` with each of the results selected, but for those with one element a row; then the
  /// first one is again. Returns true if there was one.
  bool forEachResult(llvm::function_ref<void()> visit);
  /// The same with those that have one element a row.
  bool forEachResultOfRow(llvm::function_ref<void()> visit);

  //===- Memory -------------------------------------------------------------------------------===//
  /// Bits of an element of the widest result.
  unsigned resultBits() const;
  /// Bits of an element of an input.
  unsigned inputBits(unsigned input) const;
  /// Whether launches of the kernel have memory that their blocks exchange: those at load have
  /// none.
  bool mayExchange() const;
  /// Each launch of the kernel reads weights there, or what was made of them: no kernel of the main
  /// program writes it.
  bool isWeight(unsigned input) const;

protected:
  dlx::KernelOp kernel;
  std::optional<ShapePart> part;
  llvm::SmallVector<dl::Range> symbols;

private:
  bool forEachSelected(bool isOfRow, llvm::function_ref<void()> visit);
  /// `expr` with the extent of the part, if there is one, as the symbol that it is among `symbols`.
  mlir::AffineExpr withPart(mlir::AffineExpr expr) const {
    return part ? expr.replace(part->extent,
                               mlir::getAffineSymbolExpr(symbols.size() - 1, expr.getContext()))
                : expr;
  }
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_KERNELVIEW_H
