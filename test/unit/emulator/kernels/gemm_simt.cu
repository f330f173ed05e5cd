//===- gemm_simt.cu - C = A * B in float, tiles in shared memory ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dlc_device.cuh"

// 64x64 tiles of C, 16 deep; 256 threads of 4x4 each. A is kept transposed, padded against bank
// conflicts.
DLC_KERNEL(256)
gemm_simt(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, i32 M,
          i32 N, i32 K) {
  DLC_SHARED(float, sA, [16][68]);
  DLC_SHARED(float, sB, [16][64]);
  i32 tid = (i32)threadIdx.x, tx = tid & 15, ty = tid >> 4;
  i32 m0 = (i32)blockIdx.y * 64, n0 = (i32)blockIdx.x * 64;
  float acc[4][4] = {};
  for (i32 k0 = 0; k0 < K; k0 += 16) {
    for (i32 i = tid; i < 64 * 16; i += 256) {
      i32 row = i >> 4, k = i & 15;
      sA[k][row] = m0 + row < M && k0 + k < K ? A[(i64)(m0 + row) * K + k0 + k] : 0.0f;
    }
    for (i32 i = tid; i < 16 * 64; i += 256) {
      i32 k = i >> 6, col = i & 63;
      sB[k][col] = k0 + k < K && n0 + col < N ? B[(i64)(k0 + k) * N + n0 + col] : 0.0f;
    }
    dlc::barrier();
#pragma unroll
    for (i32 k = 0; k < 16; ++k) {
      dlc::vec<float, 4> a = dlc::load<4>(&sA[k][ty * 4]), b = dlc::load<4>(&sB[k][tx * 4]);
#pragma unroll
      for (i32 i = 0; i < 4; ++i)
#pragma unroll
        for (i32 j = 0; j < 4; ++j)
          acc[i][j] = dlc::fma(a[i], b[j], acc[i][j]);
    }
#ifndef PLANT_MISSING_BARRIER
    dlc::barrier();
#endif
  }
  for (i32 i = 0; i < 4; ++i)
    for (i32 j = 0; j < 4; ++j) {
      i32 row = m0 + ty * 4 + i, col = n0 + tx * 4 + j;
#ifdef PLANT_OUT_OF_BOUNDS
      if (row <= M && col < N)
#else
      if (row < M && col < N)
#endif
        C[(i64)row * N + col] = acc[i][j];
    }
}
