//===- Rotary.h - Heads turned by angles --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_OPS_ATTENTION_ROTARY_H
#define DLC_FRONTEND_ONNX_OPS_ATTENTION_ROTARY_H

#include "frontend/onnx/Importer.h"

namespace dlc::onnx {

/// Tables of angles, [N or 1, T, width / 2], and how they apply to heads.
struct Rotation {
  Item cosines, sines;
  int64_t width = 0;        // elements of a head that are turned, the first ones
  bool interleaves = false; // a pair is two neighbours, not two elements of different halves
};

/// Returns x, [N, T, heads, size], with the pairs of each head turned by the angles of its
/// position.
Item rotated(NodeImport &node, Item x, const Rotation &by);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_OPS_ATTENTION_ROTARY_H
