//===- ShapePart.h - Some of the shapes that a kernel may have ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No tile suits one row and a thousand. Where dims are symbolic, a schedule may be asked for a
// kernel that serves a part of the shapes alone; the runtime takes it where the shapes are in that
// part (#dlx.variant).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_SHAPEPART_H
#define DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_SHAPEPART_H

#include "ir/dl/base/DLTypes.h"

namespace dlc::codegen {

/// The shapes for which `extent`, an expression over the module's symbols, is in `range`.
/// `range.usual` is what tiles are chosen for; 0: the largest.
struct ShapePart {
  mlir::AffineExpr extent;
  dl::Range range;
};

/// Whether `extent` never falls where a symbol grows: then a part of it bounds each symbol.
bool growsWithSymbols(mlir::AffineExpr extent, llvm::ArrayRef<dl::Range> symbols);

/// The ranges of the symbols in the part, whose extent must grow with them (growsWithSymbols). One
/// more entry, the last, is the range of the extent itself.
llvm::SmallVector<dl::Range> symbolsWithin(const ShapePart &part,
                                           llvm::ArrayRef<dl::Range> symbols);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_SHAPEPART_H
