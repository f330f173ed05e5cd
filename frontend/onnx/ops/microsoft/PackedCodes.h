//===- PackedCodes.h - Several numbers in a byte ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_OPS_MICROSOFT_PACKEDCODES_H
#define DLC_FRONTEND_ONNX_OPS_MICROSOFT_PACKEDCODES_H

#include "frontend/onnx/Importer.h"

namespace dlc::onnx {

/// Returns the numbers of `bits` in the bytes x, one tensor for each place in a byte.
llvm::SmallVector<Item> codesOf(NodeImport &node, Item x, int64_t bits);

/// Returns the first `count` numbers of `bits` in each row of the bytes x, [..., bytes], in their
/// order: the first one of a byte is in its lowest bits.
Item unpacked(NodeImport &node, Item x, int64_t bits, int64_t count);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_OPS_MICROSOFT_PACKEDCODES_H
