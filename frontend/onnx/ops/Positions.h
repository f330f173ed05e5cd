//===- Positions.h - Positions in ONNX -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_OPS_POSITIONS_H
#define DLC_FRONTEND_ONNX_OPS_POSITIONS_H

#include "frontend/onnx/Importer.h"

namespace dlc::onnx {

/// Positions in a dim of `size` that count from its end become ones from its front.
Item wrapped(NodeImport &node, Item index, mlir::AffineExpr size);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_OPS_POSITIONS_H
