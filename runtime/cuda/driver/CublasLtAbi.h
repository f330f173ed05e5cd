//===- CublasLtAbi.h - The part of the cuBLASLt ABI that dlc uses ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As DriverAbi.h: cuBLASLt is loaded at run time, and dlc builds without its headers. Values are
// NVIDIA's, the same in CUDA 12 and 13; test/unit/runtime/DriverAbiTest.cpp checks them where
// cublasLt.h is installed.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_DRIVER_CUBLASLTABI_H
#define DLC_RUNTIME_CUDA_DRIVER_CUBLASLTABI_H

#include <cstddef>
#include <cstdint>

namespace dlc::cuda {

/// cublasStatus_t. Values that dlc does not name may occur.
enum class BlasStatus : int {
  Success = 0,
  NotInitialized = 1,
  AllocFailed = 3,
  InvalidValue = 7,
  ArchMismatch = 8,
  MappingError = 11,
  ExecutionFailed = 13,
  InternalError = 14,
  NotSupported = 15,
};

/// cudaDataType, cublasComputeType_t, cublasOperation_t.
enum class BlasType : int { F32 = 0, F16 = 2, Bf16 = 14 };
enum class BlasCompute : int { F32 = 68, F32FastTf32 = 77 };
enum class BlasOperation : int { None = 0, Transpose = 1 };

/// cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t,
/// cublasLtMatmulPreferenceAttributes_t.
enum class BlasMatmulAttribute : int { TransposeA = 3, TransposeB = 4 };
enum class BlasLayoutAttribute : int { BatchCount = 5, BatchStride = 6 };
enum class BlasPreferenceAttribute : int {
  MaxWorkspaceBytes = 1,
  ReductionSchemes = 3,
  AlignmentA = 5,
  AlignmentB = 6,
  AlignmentC = 7,
  AlignmentD = 8,
};
/// cublasLtReductionScheme_t: how the parts of a sum that several blocks share come together.
inline constexpr uint32_t kBlasReduceInComputeType = 2;

using BlasHandle = struct cublasLtContext *;
using BlasMatmul = struct cublasLtMatmulDescOpaque_t *;
using BlasLayout = struct cublasLtMatrixLayoutOpaque_t *;
using BlasPreference = struct cublasLtMatmulPreferenceOpaque_t *;

/// cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t.
struct BlasAlgorithm {
  uint64_t data[8];
};
struct BlasHeuristic {
  BlasAlgorithm algorithm;
  size_t workspaceBytes;
  BlasStatus state;
  float waves;
  int reserved[4];
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_DRIVER_CUBLASLTABI_H
