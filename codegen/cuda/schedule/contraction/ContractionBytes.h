//===- ContractionBytes.h - Products of numbers that lie in memory as bytes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of quantized tensors is one of i32, whose operands are cast from bytes, one of them
// less its zero point (ir/analysis/IntegerRange.h). Tensor cores multiply the bytes as they are
// stored, and the zero point is taken off the totals (mma_sums of dlc_contract.cuh).
//
// A product in floats whose operands are both cast from e4m3 is another one.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONBYTES_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONBYTES_H

#include "codegen/cuda/schedule/contraction/Contraction.h"
#include "ir/analysis/IntegerRange.h"

#include <array>

namespace dlc::codegen {

struct ByteProduct {
  /// The operand of each term: i8 or u8, less a zero point among their numbers, which one of both
  /// may have; or e4m3.
  std::array<OffsetIntegers, 2> operands;
  bool isFloat8 = false;

  bool isSigned(unsigned term) const;
};

/// The bytes that `root` multiplies; nullopt where it is another product.
std::optional<ByteProduct> bytesOf(LoopNestOpInterface root, const LoopNest &nest);

/// The load of the byte that `value` is, widened and less `zeroPoint`; null where it is more than
/// that.
mlir::memref::LoadOp byteLoadOf(mlir::Value value, int64_t zeroPoint);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONBYTES_H
