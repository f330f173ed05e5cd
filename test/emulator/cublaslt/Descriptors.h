//===- Descriptors.h - what clients of cuBLASLt describe --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "runtime/cuda/driver/CublasLtAbi.h"
#include "runtime/cuda/driver/DriverAbi.h"

namespace dlc::cuda {

struct cublasLtContext {
  uint32_t mark;
};
struct cublasLtMatmulDescOpaque_t {
  BlasCompute compute;
  BlasOperation a, b;
};
struct cublasLtMatrixLayoutOpaque_t {
  BlasType type;
  uint64_t rows, columns;
  int64_t step, batchStride;
  int32_t batch;
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace;
  uint32_t schemes, alignments[4];
};

/// The library's own view of a BlasAlgorithm.
struct Algorithm {
  uint64_t mark, workspace, alignment, rows, columns, depth, batch, compute;
};
inline constexpr uint64_t kAlgorithmMark = 0x646c636c74616c67;
inline constexpr uint32_t kHandleMark = 0x646c636c;

/// "dlc cublaslt-emu: FUNCTION: WHY" on stderr; InvalidValue.
BlasStatus refuse(const char *function, const char *why);
/// Counts the call; the fault planted in it as the library's own status, in `status`. False where
/// there is one.
bool mayGoOn(const char *function, BlasStatus &status);

/// Why the product cannot be computed; null where it can.
const char *faultOf(const cublasLtMatmulDescOpaque_t &matmul, const cublasLtMatrixLayoutOpaque_t &a,
                    const cublasLtMatrixLayoutOpaque_t &b, const cublasLtMatrixLayoutOpaque_t &c,
                    const cublasLtMatrixLayoutOpaque_t &d);

} // namespace dlc::cuda

#define DLC_EMU_BLAS_ENTER()                                                                       \
  if (BlasStatus planted; !mayGoOn(__func__, planted))                                             \
  return planted
