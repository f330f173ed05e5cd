//===- async.cu - what mbarriers and fences order -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Correct kernels, and with -DPLANT_* wrong ones. All take x and y.
//===----------------------------------------------------------------------===//
#include "dlc_wgmma.cuh"

#ifdef DLC_HAS_WGMMA

using dlc::bf16;

// 64 floats are turned round; an mbarrier alone orders the threads.
DLC_KERNEL(64) exchange(const float *x, float *y) {
  DLC_SHARED(float, tile, [64]);
  DLC_SHARED(u64, bar, [1]);
  if (threadIdx.x == 0)
    dlc::mbar_init(bar, 64);
  dlc::barrier();
  tile[threadIdx.x] = x[threadIdx.x];
  dlc::mbar_arrive(bar);
#ifdef PLANT_WRONG_PHASE
  dlc::mbar_wait(bar, 1);
#elif !defined(PLANT_NO_WAIT)
  dlc::mbar_wait(bar, 0);
#endif
  y[threadIdx.x] = tile[63 - threadIdx.x];
}

// Two warps hand a word to and fro: what one knew it passes on.
DLC_KERNEL(64) relay(const float *x, float *y) {
  DLC_SHARED(float, word, [2]);
  DLC_SHARED(u64, bars, [2]);
  if (threadIdx.x == 0) {
    dlc::mbar_init(bars, 1);
    dlc::mbar_init(bars + 1, 1);
  }
  dlc::barrier();
  for (int turn = 0; turn < 3; ++turn) {
    if (threadIdx.x == 0) {
      if (turn > 0)
        dlc::mbar_wait(bars + 1, (turn - 1) & 1);
      word[0] = x[turn] + (turn > 0 ? word[1] : 0.0f);
      dlc::mbar_arrive(bars);
    }
    if (threadIdx.x == 32) {
#ifndef PLANT_NO_WAIT
      dlc::mbar_wait(bars, turn & 1);
#endif
      word[1] = word[0] * 2.0f;
      dlc::mbar_arrive(bars + 1);
    }
  }
  if (threadIdx.x == 32)
    y[0] = word[1];
}

// The arrival that never comes.
DLC_KERNEL(64) too_few_arrivals(const float *x, float *y) {
  DLC_SHARED(u64, bar, [1]);
  if (threadIdx.x == 0)
    dlc::mbar_init(bar, 65);
  dlc::barrier();
  dlc::mbar_arrive(bar);
  dlc::mbar_wait(bar, 0);
  y[threadIdx.x] = x[threadIdx.x];
}

// y[64][64] = A(64x16) B(16x64) of what the threads store themselves: ones times x.
DLC_KERNEL(128) stored_operands(const float *x, float *y) {
  DLC_DYN_SMEM(smem);
  bf16 *a = reinterpret_cast<bf16 *>(smem), *b = a + 64 * 64;
  int t = (int)threadIdx.x;
  for (int i = t; i < 64 * 64; i += 128) {
    a[i] = dlc::from_f<bf16>(1.0f); // all alike, so that the swizzle does not matter
    b[i] = dlc::from_f<bf16>(x[0]);
  }
#ifndef PLANT_NO_FENCE
  dlc::fence_async();
#endif
  dlc::barrier();
  float d[32];
  dlc::wgmma_fence();
  dlc::wgmma<bf16, 64, false, false>(d, dlc::wgmma_along_k(a), dlc::wgmma_along_k(b), false);
  dlc::wgmma_commit();
#ifdef PLANT_EARLY_STORE
  a[t] = dlc::from_f<bf16>(2.0f);
#endif
  dlc::wgmma_wait<0>();
  for (int i = 0; i < 32; ++i)
    y[t * 32 + i] = d[i];
}

#endif
