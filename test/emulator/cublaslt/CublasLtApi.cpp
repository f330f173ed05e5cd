//===- CublasLtApi.cpp - choosing and running products ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/cublaslt/Descriptors.h"
#include "test/emulator/cublaslt/Exports.h"
#include "test/emulator/cublaslt/Product.h"
#include "test/emulator/driver/Exports.h"
#include <algorithm>
#include <atomic>
#include <cstring>

namespace dlc::cuda {

/// What an algorithm asks for where it may, so that clients' workspaces are seen to be there.
static constexpr uint64_t kWorkspace = 64 << 10;
static constexpr uint64_t kWorkspaceAlignment = 256;

static std::atomic<long> products = 0;

namespace {
/// A product in a stream.
struct Call {
  Matrix a, b, d;
  bool transposeA, transposeB, tf32;
  float alpha;
  int64_t batch;
  void *workspace;
  uint64_t workspaceBytes;

  static void run(void *data) {
    auto &call = *static_cast<Call *>(data);
    // Who has something else there finds it overwritten.
    if (call.workspaceBytes)
      std::memset(call.workspace, 0xff, call.workspaceBytes);
    multiply(call.a, call.transposeA, call.b, call.transposeB, call.d, call.alpha, call.batch,
             call.tf32);
  }
  static void release(void *data) { delete static_cast<Call *>(data); }
};
} // namespace

static Algorithm describe(const cublasLtMatmulDescOpaque_t &matmul,
                          const cublasLtMatrixLayoutOpaque_t &a,
                          const cublasLtMatrixLayoutOpaque_t &d) {
  return {kAlgorithmMark,
          0,
          0,
          d.rows,
          d.columns,
          matmul.a == BlasOperation::None ? a.columns : a.rows,
          uint64_t(d.batch),
          uint64_t(matmul.compute)};
}

static uint64_t addressOf(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

static bool owns(const void *pointer, const cublasLtMatrixLayoutOpaque_t &layout) {
  uint64_t elements = uint64_t(layout.step) * (layout.columns - 1) + layout.rows +
                      uint64_t(layout.batchStride) * uint64_t(layout.batch - 1);
  return dlcEmuOwns(addressOf(pointer), elements * bytesOf(layout.type));
}

static Matrix matrixOf(const void *data, const cublasLtMatrixLayoutOpaque_t &layout) {
  return {layout.type, const_cast<void *>(data), int64_t(layout.rows), int64_t(layout.columns),
          layout.step, layout.batchStride};
}

extern "C" {

long dlcEmuBlasProducts() { return products; }

BlasStatus cublasLtMatmulAlgoGetHeuristic(BlasHandle handle, BlasMatmul matmul, BlasLayout a,
                                          BlasLayout b, BlasLayout c, BlasLayout d,
                                          BlasPreference preference, int wanted,
                                          BlasHeuristic *results, int *found) {
  DLC_EMU_BLAS_ENTER();
  if (!handle || handle->mark != kHandleMark)
    return BlasStatus::NotInitialized;
  if (!matmul || !a || !b || !c || !d || !preference || !results || !found || wanted < 1)
    return refuse(__func__, "a null pointer, or no algorithm wanted");
  *found = 0;
  if (const char *why = faultOf(*matmul, *a, *b, *c, *d))
    return refuse(__func__, why);
  if (preference->schemes != kBlasReduceInComputeType)
    return refuse(__func__, "parts of sums may be rounded, or come together in any order");
  Algorithm chosen = describe(*matmul, *a, *d);
  chosen.workspace = preference->workspace >= kWorkspace ? kWorkspace : 0;
  chosen.alignment = *std::min_element(preference->alignments, preference->alignments + 4);
  BlasHeuristic result = {};
  static_assert(sizeof(chosen) == sizeof(result.algorithm));
  std::memcpy(&result.algorithm, &chosen, sizeof(chosen));
  result.workspaceBytes = chosen.workspace;
  result.waves = 1;
  results[0] = result;
  *found = 1;
  return BlasStatus::Success;
}

BlasStatus cublasLtMatmul(BlasHandle handle, BlasMatmul matmul, const void *alpha, const void *a,
                          BlasLayout aLayout, const void *b, BlasLayout bLayout, const void *beta,
                          const void *c, BlasLayout cLayout, void *d, BlasLayout dLayout,
                          const BlasAlgorithm *algorithm, void *workspace, size_t workspaceBytes,
                          Stream stream) {
  DLC_EMU_BLAS_ENTER();
  if (!handle || handle->mark != kHandleMark)
    return BlasStatus::NotInitialized;
  if (!matmul || !alpha || !aLayout || !bLayout || !beta || !cLayout || !dLayout || !algorithm)
    return refuse(__func__, "a null pointer");
  if (const char *why = faultOf(*matmul, *aLayout, *bLayout, *cLayout, *dLayout))
    return refuse(__func__, why);
  Algorithm chosen, fits = describe(*matmul, *aLayout, *dLayout);
  std::memcpy(&chosen, algorithm, sizeof(chosen));
  fits.workspace = chosen.workspace;
  fits.alignment = chosen.alignment;
  if (std::memcmp(&chosen, &fits, sizeof(fits)) != 0)
    return refuse(__func__, "the algorithm was not chosen for this product");
  if (workspaceBytes < chosen.workspace || addressOf(workspace) % kWorkspaceAlignment ||
      (chosen.workspace && !dlcEmuOwns(addressOf(workspace), workspaceBytes)))
    return refuse(__func__, "the workspace is too small, not aligned to 256 bytes, or not there");
  float scale, kept;
  std::memcpy(&scale, alpha, sizeof(scale));
  std::memcpy(&kept, beta, sizeof(kept));
  if (kept != 0 || c != d)
    return refuse(__func__, "only beta = 0 with c in d's place is emulated");
  for (const void *pointer : {a, b, static_cast<const void *>(d)})
    if (addressOf(pointer) % chosen.alignment)
      return refuse(__func__, "a matrix is not aligned as was promised");
  if (!owns(a, *aLayout) || !owns(b, *bLayout) || !owns(d, *dLayout))
    return refuse(__func__, "a matrix leaves its allocation");
  auto *call = new Call{matrixOf(a, *aLayout),
                        matrixOf(b, *bLayout),
                        matrixOf(d, *dLayout),
                        matmul->a == BlasOperation::Transpose,
                        matmul->b == BlasOperation::Transpose,
                        matmul->compute == BlasCompute::F32FastTf32,
                        scale,
                        dLayout->batch,
                        workspace,
                        chosen.workspace};
  if (dlcEmuSubmit(stream, Call::run, Call::release, call) != Result::Success)
    return BlasStatus::ExecutionFailed;
  ++products;
  return BlasStatus::Success;
}

} // extern "C"
} // namespace dlc::cuda
