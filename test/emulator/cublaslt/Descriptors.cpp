//===- Descriptors.cpp - what clients of cuBLASLt describe ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stricter than the real library: what dlc does not use is refused, so that a wrong number in the
// ABI or in a call shows.
//===----------------------------------------------------------------------===//
#include "test/emulator/cublaslt/Descriptors.h"
#include "test/emulator/cublaslt/Exports.h"
#include "test/emulator/driver/Exports.h"
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>

namespace dlc::cuda {

static std::atomic<long> alive = 0;

BlasStatus refuse(const char *function, const char *why) {
  std::fprintf(stderr, "dlc cublaslt-emu: %s: %s\n", function, why);
  return BlasStatus::InvalidValue;
}

bool mayGoOn(const char *function, BlasStatus &status) {
  int planted = dlcEmuCount(function);
  // Errors of the driver, which stay, reach clients of the library as one.
  status = planted > 200 ? BlasStatus::ExecutionFailed : BlasStatus(planted);
  return planted == 0;
}

template <class T> static bool read(T &field, const void *value, size_t bytes) {
  if (!value || bytes != sizeof(T))
    return false;
  std::memcpy(&field, value, bytes);
  return true;
}

template <class T> static BlasStatus make(T **out, T made) {
  *out = new T(made);
  ++alive;
  return BlasStatus::Success;
}

template <class T> static BlasStatus give(T *descriptor) {
  if (!descriptor)
    return BlasStatus::InvalidValue;
  delete descriptor;
  --alive;
  return BlasStatus::Success;
}

static bool isType(BlasType type) {
  return type == BlasType::F32 || type == BlasType::F16 || type == BlasType::Bf16;
}

const char *faultOf(const cublasLtMatmulDescOpaque_t &matmul, const cublasLtMatrixLayoutOpaque_t &a,
                    const cublasLtMatrixLayoutOpaque_t &b, const cublasLtMatrixLayoutOpaque_t &c,
                    const cublasLtMatrixLayoutOpaque_t &d) {
  if (a.type != b.type || b.type != c.type || c.type != d.type)
    return "the matrices are of several types";
  if (matmul.compute == BlasCompute::F32FastTf32 && a.type != BlasType::F32)
    return "tf32 is for f32 matrices";
  auto rows = [](const auto &m, BlasOperation op) {
    return op == BlasOperation::None ? m.rows : m.columns;
  };
  auto columns = [](const auto &m, BlasOperation op) {
    return op == BlasOperation::None ? m.columns : m.rows;
  };
  if (rows(a, matmul.a) != d.rows || columns(b, matmul.b) != d.columns ||
      columns(a, matmul.a) != rows(b, matmul.b))
    return "rows and columns do not meet";
  if (c.rows != d.rows || c.columns != d.columns || c.step != d.step ||
      c.batchStride != d.batchStride)
    return "c lies otherwise than d";
  if (a.batch != d.batch || b.batch != d.batch || c.batch != d.batch)
    return "the batches differ";
  if (d.batch > 1 && uint64_t(d.batchStride) < uint64_t(d.step) * (d.columns - 1) + d.rows)
    return "the results of a batch overlap";
  return nullptr;
}

extern "C" {

long dlcEmuBlasAlive() { return alive; }

size_t cublasLtGetVersion() { return 130002; }

BlasStatus cublasLtCreate(BlasHandle *handle) {
  DLC_EMU_BLAS_ENTER();
  return make(handle, cublasLtContext{kHandleMark});
}

BlasStatus cublasLtDestroy(BlasHandle handle) {
  if (!handle || handle->mark != kHandleMark)
    return BlasStatus::NotInitialized;
  return give(handle);
}

//===-- The product -------------------------------------------------------===//

BlasStatus cublasLtMatmulDescCreate(BlasMatmul *matmul, BlasCompute compute, BlasType scale) {
  DLC_EMU_BLAS_ENTER();
  if ((compute != BlasCompute::F32 && compute != BlasCompute::F32FastTf32) ||
      scale != BlasType::F32)
    return refuse(__func__, "expected sums in f32 (68, or 77 through tf32) and a scale of f32");
  return make(matmul, cublasLtMatmulDescOpaque_t{compute, {}, {}});
}

BlasStatus cublasLtMatmulDescDestroy(BlasMatmul matmul) { return give(matmul); }

BlasStatus cublasLtMatmulDescSetAttribute(BlasMatmul matmul, BlasMatmulAttribute attribute,
                                          const void *value, size_t bytes) {
  DLC_EMU_BLAS_ENTER();
  BlasOperation operation;
  if (attribute != BlasMatmulAttribute::TransposeA && attribute != BlasMatmulAttribute::TransposeB)
    return refuse(__func__, "this attribute is not emulated");
  if (!read(operation, value, bytes))
    return refuse(__func__, "the value is of another size");
  if (operation != BlasOperation::None && operation != BlasOperation::Transpose)
    return refuse(__func__, "expected operation 0 or 1");
  (attribute == BlasMatmulAttribute::TransposeA ? matmul->a : matmul->b) = operation;
  return BlasStatus::Success;
}

//===-- Matrices ----------------------------------------------------------===//

BlasStatus cublasLtMatrixLayoutCreate(BlasLayout *layout, BlasType type, uint64_t rows,
                                      uint64_t columns, int64_t step) {
  DLC_EMU_BLAS_ENTER();
  if (!isType(type))
    return refuse(__func__, "expected type 0 (f32), 2 (f16) or 14 (bf16)");
  if (!rows || !columns || rows > INT32_MAX || columns > INT32_MAX)
    return refuse(__func__, "expected 1 to 2^31 - 1 rows and columns");
  if (step < int64_t(rows))
    return refuse(__func__, "the leading dimension is smaller than the rows");
  return make(layout, cublasLtMatrixLayoutOpaque_t{type, rows, columns, step, 0, 1});
}

BlasStatus cublasLtMatrixLayoutDestroy(BlasLayout layout) { return give(layout); }

BlasStatus cublasLtMatrixLayoutSetAttribute(BlasLayout layout, BlasLayoutAttribute attribute,
                                            const void *value, size_t bytes) {
  DLC_EMU_BLAS_ENTER();
  if (attribute == BlasLayoutAttribute::BatchStride)
    return read(layout->batchStride, value, bytes)
               ? BlasStatus::Success
               : refuse(__func__, "the value is of another size");
  if (attribute != BlasLayoutAttribute::BatchCount)
    return refuse(__func__, "this attribute is not emulated");
  if (!read(layout->batch, value, bytes) || layout->batch < 1)
    return refuse(__func__, "expected a batch of at least 1, as an int32_t");
  return BlasStatus::Success;
}

//===-- Wishes ------------------------------------------------------------===//

BlasStatus cublasLtMatmulPreferenceCreate(BlasPreference *preference) {
  DLC_EMU_BLAS_ENTER();
  return make(preference, cublasLtMatmulPreferenceOpaque_t{0, 7, {256, 256, 256, 256}});
}

BlasStatus cublasLtMatmulPreferenceDestroy(BlasPreference preference) { return give(preference); }

BlasStatus cublasLtMatmulPreferenceSetAttribute(BlasPreference preference,
                                                BlasPreferenceAttribute attribute,
                                                const void *value, size_t bytes) {
  DLC_EMU_BLAS_ENTER();
  bool isRead = false;
  switch (attribute) {
  case BlasPreferenceAttribute::MaxWorkspaceBytes:
    isRead = read(preference->workspace, value, bytes);
    break;
  case BlasPreferenceAttribute::ReductionSchemes:
    isRead = read(preference->schemes, value, bytes) && preference->schemes <= 7;
    break;
  case BlasPreferenceAttribute::AlignmentA:
  case BlasPreferenceAttribute::AlignmentB:
  case BlasPreferenceAttribute::AlignmentC:
  case BlasPreferenceAttribute::AlignmentD: {
    uint32_t &bound =
        preference->alignments[int(attribute) - int(BlasPreferenceAttribute::AlignmentA)];
    isRead = read(bound, value, bytes) && std::has_single_bit(bound);
    break;
  }
  default:
    return refuse(__func__, "this attribute is not emulated");
  }
  return isRead ? BlasStatus::Success : refuse(__func__, "the value is none of this attribute");
}

} // extern "C"
} // namespace dlc::cuda
