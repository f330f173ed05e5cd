//===- gemm80.cu - C = A * B + bias on sm_80 tensor cores -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A [M,K] and B [K,N] row-major bf16, K and N multiples of 8. Three stages of cp.async into swizzled
// tiles, ldmatrix, mma.
//===----------------------------------------------------------------------===//
#include "dlc_mma.cuh"

using dlc::bf16;

constexpr int kTileM = 128, kTileN = 128, kTileK = 32, kWarpM = 64, kWarpN = 64, kStages = 3;
constexpr int kWarpsN = kTileN / kWarpN, kThreads = 32 * (kTileM / kWarpM) * kWarpsN;
constexpr int kChunksA = kTileK / 8, kChunksB = kTileN / 8; // 16-byte chunks a row
constexpr int kStageA = kTileM * kTileK, kStageB = kTileK * kTileN;

// The chunk's place is permuted by its row, so that ldmatrix meets all banks.
static DLC_DEV int place_a(int row, int chunk) {
  return row * kTileK + ((chunk ^ (row >> 1 & (kChunksA - 1))) << 3);
}
static DLC_DEV int place_b(int row, int chunk) { return row * kTileN + ((chunk ^ (row & 7)) << 3); }

static DLC_DEV void load_stage(bf16 *sA, bf16 *sB, const bf16 *A, const bf16 *B, int m0, int n0,
                               int k0, int M, int N, int K) {
#pragma unroll
  for (int i = (int)threadIdx.x; i < kTileM * kChunksA; i += kThreads) {
    int row = i / kChunksA, chunk = i % kChunksA, m = m0 + row, k = k0 + chunk * 8;
    int bytes = m < M && k < K ? 16 : 0;
    dlc::cp_async16(sA + place_a(row, chunk), A + (bytes ? (i64)m * K + k : 0), bytes);
  }
#pragma unroll
  for (int i = (int)threadIdx.x; i < kTileK * kChunksB; i += kThreads) {
    int row = i / kChunksB, chunk = i % kChunksB, k = k0 + row, n = n0 + chunk * 8;
    int bytes = k < K && n < N ? 16 : 0;
    dlc::cp_async16(sB + place_b(row, chunk), B + (bytes ? (i64)k * N + n : 0), bytes);
  }
}

DLC_KERNEL(128)
gemm80(const bf16 *__restrict__ A, const bf16 *__restrict__ B, bf16 *__restrict__ C,
       const float *__restrict__ bias, i32 M, i32 N, i32 K) {
  DLC_DYN_SMEM(smem);
  bf16 *sA = (bf16 *)smem, *sB = sA + kStages * kStageA;
  int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x >> 5;
  int wm = warp / kWarpsN * kWarpM, wn = warp % kWarpsN * kWarpN;
  int m0 = (int)blockIdx.y * kTileM, n0 = (int)blockIdx.x * kTileN,
      steps = (K + kTileK - 1) / kTileK;
  float acc[kWarpM / 16][kWarpN / 8][4] = {};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < steps)
      load_stage(sA + s * kStageA, sB + s * kStageB, A, B, m0, n0, s * kTileK, M, N, K);
    dlc::cp_async_commit();
  }
  for (int step = 0; step < steps; ++step) {
    dlc::cp_async_wait<kStages - 2>();
#ifndef PLANT_MISSING_BARRIER
    dlc::barrier();
#endif
    int next = step + kStages - 1;
    if (next < steps)
      load_stage(sA + next % kStages * kStageA, sB + next % kStages * kStageB, A, B, m0, n0,
                 next * kTileK, M, N, K);
    dlc::cp_async_commit();
    const bf16 *a = sA + step % kStages * kStageA, *b = sB + step % kStages * kStageB;
#pragma unroll
    for (int kk = 0; kk < kTileK / 16; ++kk) {
      u32 fa[kWarpM / 16][4], fb[kWarpN / 16][4];
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i)
        dlc::ldmatrix_x4(fa[i], a + place_a(wm + i * 16 + (lane & 15), kk * 2 + (lane >> 4)));
#pragma unroll
      for (int j = 0; j < kWarpN / 16; ++j)
        dlc::ldmatrix_x4_trans(fb[j],
                               b + place_b(kk * 16 + (lane & 15), (wn >> 3) + j * 2 + (lane >> 4)));
      dlc::mma_tile<bf16, kWarpM / 16, kWarpN / 8>(acc, fa, fb);
    }
  }
#pragma unroll
  for (int i = 0; i < kWarpM / 16; ++i)
#pragma unroll
    for (int j = 0; j < kWarpN / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int m = m0 + wm + i * 16 + (lane >> 2) + half * 8, n = n0 + wn + j * 8 + (lane & 3) * 2;
        if (m < M && n < N)
          *reinterpret_cast<u32 *>(C + (i64)m * N + n) = dlc::pack2<bf16>(
              acc[i][j][half * 2] + bias[n], acc[i][j][half * 2 + 1] + bias[n + 1]);
      }
}
