//===- Flow.h - Models whose data decide what runs ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_CONTROL_FLOW_H
#define DLC_IR_DL_CONTROL_FLOW_H

#include "mlir/IR/BuiltinOps.h"

namespace dlc::dl {

/// Whether `op` is a step of the flow between segments: a branch, a loop or a read.
bool isFlowStep(mlir::Operation *op);
/// Whether the module has such an op, so that it must be cut into segments.
bool hasFlow(mlir::ModuleOp module);

/// Whether the module is cut into segments before it is compiled: it has steps of a flow, or more
/// symbols than one program takes.
bool runsInSegments(mlir::ModuleOp module);

} // namespace dlc::dl

#endif // DLC_IR_DL_CONTROL_FLOW_H
