//===- Regions.h - Branches and steps that the running model takes ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_CONTROL_REGIONS_H
#define DLC_FRONTEND_ONNX_CONTROL_REGIONS_H

#include "frontend/dl/lower/control/Regions.h"
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/read/NodeOrder.h"

namespace dlc::onnx {

/// The graph that the attribute `name` of a node holds; null where it has none.
const Graph *graphOf(NodeImport &node, llvm::StringRef name);

/// Takes a value that has the kind of `like` from the front of `tensors`: one, or the two of a
/// sequence.
Value unflatten(const Value &like, llvm::ArrayRef<mlir::Value> &tensors);
/// Whether an op of ONNX takes or gives sequences or optionals.
bool isSequenceOp(llvm::StringRef op);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_CONTROL_REGIONS_H
