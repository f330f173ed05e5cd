//===- PositionBox.h - Positions that are a part of each dim ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters write `x[:, a:b] = src` of PyTorch as a ScatterND whose positions they compute: ranges,
// repeated along one another's dims and joined. Such positions name a box of x, and need not be
// looked at when the model runs.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ONNX_POSITIONBOX_H
#define DLC_FRONTEND_ONNX_POSITIONBOX_H

#include "frontend/onnx/Importer.h"

namespace dlc::onnx {

/// The places of one dim of x that positions name, one after another.
struct PositionRange {
  mlir::AffineExpr start, size;
  /// The dim of the positions along which they are counted; nothing where it is one place alone.
  std::optional<int64_t> loop;
};

/// The box of x that input `input` of a node, its positions, names: one range for each element of
/// their last dim, whose size is a number of 1 or more. Each place of the box is named once.
/// Returns nullopt where the positions form no box, or where the box is not known to lie within
/// `dims`, the dims of x.
std::optional<llvm::SmallVector<PositionRange>> positionBox(NodeImport &node, size_t input,
                                                            llvm::ArrayRef<mlir::AffineExpr> dims);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_POSITIONBOX_H
