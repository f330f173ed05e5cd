//===- SampleSteps.h - Reading between elements as plain arithmetic -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_OPS_SAMPLESTEPS_H
#define DLC_FRONTEND_ONNX_OPS_SAMPLESTEPS_H

#include "frontend/onnx/OpRules.h"

namespace dlc::onnx {

/// GridSample as gathers and arithmetic, which ONNX's Gradient goes through: x is [N, C, ...] of
/// one to three static dims, the grid [N, ..., as many]. Sets the result; false, reported, where it
/// cannot. A model without a Gradient gets dl.grid_sample.
bool buildSampleSteps(NodeImport &node, Item x, Item grid);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_OPS_SAMPLESTEPS_H
