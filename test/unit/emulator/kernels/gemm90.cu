//===- gemm90.cu - C = A * B^T + bias on sm_90a ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A [M,K] and B [N,K] bf16 by tensor maps with the 128-byte swizzle. One warpgroup issues TMA into a
// ring of stages, two compute with wgmma; blocks take tiles in turn.
//===----------------------------------------------------------------------===//
#include "dlc_wgmma.cuh"

#ifdef DLC_HAS_WGMMA

using dlc::bf16;

constexpr int kTileM = 128, kTileN = 128, kTileK = 64, kStages = 4;
constexpr u32 kStageBytes = (kTileM * kTileK + kTileN * kTileK) * 2;

static DLC_DEV void produce(bf16 *sA, bf16 *sB, u64 *full, u64 *empty, const dlc::tensor_map *a,
                            const dlc::tensor_map *b, int tilesN, int tiles, int steps) {
  int turn = 0;
  for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
    int m0 = tile / tilesN * kTileM, n0 = tile % tilesN * kTileN;
    for (int step = 0; step < steps; ++step, ++turn) {
      int s = turn % kStages;
      u32 phase = turn / kStages & 1;
#ifndef PLANT_NO_EMPTY_WAIT
      dlc::mbar_wait(empty + s, phase ^ 1);
#endif
      dlc::mbar_expect_tx(full + s, kStageBytes);
      dlc::tma_load_2d(sA + s * kTileM * kTileK, a, full + s, step * kTileK, m0);
      dlc::tma_load_2d(sB + s * kTileN * kTileK, b, full + s, step * kTileK, n0);
    }
  }
}

extern "C" __global__ void __launch_bounds__(384, 1)
    gemm90(DLC_GRID_CONST dlc::tensor_map a, DLC_GRID_CONST dlc::tensor_map b, bf16 *__restrict__ C,
           const float *__restrict__ bias, i32 M, i32 N, i32 K) {
  DLC_DYN_SMEM(smem);
  bf16 *sA = (bf16 *)smem, *sB = sA + kStages * kTileM * kTileK;
  u64 *full = (u64 *)(sB + kStages * kTileN * kTileK), *empty = full + kStages;
  int group = (int)threadIdx.x >> 7, t = (int)threadIdx.x & 127;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      dlc::mbar_init(full + s, 1);
      dlc::mbar_init(empty + s, 2);
    }
#ifndef PLANT_NO_FENCE_INIT
    dlc::mbar_fence_init();
#endif
  }
#ifndef PLANT_NO_INIT_BARRIER
  dlc::barrier();
#endif
  int tilesN = (N + kTileN - 1) / kTileN, tiles = (M + kTileM - 1) / kTileM * tilesN;
  int steps = (K + kTileK - 1) / kTileK;
  if (group == 0) {
    dlc::reg_dealloc<40>();
    if (t == 0)
      produce(sA, sB, full, empty, &a, &b, tilesN, tiles, steps);
    return;
  }
  dlc::reg_alloc<232>();
  int half = group - 1, warp = t >> 5, lane = t & 31, turn = 0;
  for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
    int m0 = tile / tilesN * kTileM, n0 = tile % tilesN * kTileN;
    float d[64];
#pragma unroll
    for (int i = 0; i < 64; ++i)
      d[i] = 0.0f;
    for (int step = 0; step < steps; ++step, ++turn) {
      int s = turn % kStages;
#ifdef PLANT_WRONG_PHASE
      dlc::mbar_wait(full + s, (turn / kStages & 1) ^ 1);
#elif !defined(PLANT_NO_FULL_WAIT)
      dlc::mbar_wait(full + s, turn / kStages & 1);
#endif
      dlc::wgmma_fence();
      u64 descA = dlc::wgmma_along_k(sA + s * kTileM * kTileK + half * 64 * kTileK);
      u64 descB = dlc::wgmma_along_k(sB + s * kTileN * kTileK);
#pragma unroll
      for (int kk = 0; kk < kTileK / 16; ++kk)
        dlc::wgmma<bf16, 128, false, false>(d, descA + kk * 2, descB + kk * 2, true);
      dlc::wgmma_commit();
#ifdef PLANT_NO_WGMMA_WAIT
      dlc::wgmma_wait<1>();
#else
      dlc::wgmma_wait<0>();
#endif
      if (t == 0)
        dlc::mbar_arrive(empty + s);
    }
#pragma unroll
    for (int j = 0; j < 16; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        int m = m0 + half * 64 + warp * 16 + (lane >> 2) + h * 8, n = n0 + j * 8 + (lane & 3) * 2;
        if (m < M && n < N)
          *reinterpret_cast<u32 *>(C + (i64)m * N + n) =
              dlc::pack2<bf16>(d[j * 4 + h * 2] + bias[n], d[j * 4 + h * 2 + 1] + bias[n + 1]);
      }
  }
}

#endif
