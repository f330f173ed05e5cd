//===- faults.cu - kernels with one planted mistake each ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All take x and y of 64 floats and run with 64 threads.
//===----------------------------------------------------------------------===//
#include "dlc_mma.cuh"

DLC_KERNEL(64) out_of_bounds(const float *x, float *y) { y[threadIdx.x + 1] = x[threadIdx.x]; }

DLC_KERNEL(64) read_past_end(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x * 2]; }

DLC_KERNEL(64) misaligned_vector(const float *x, float *y) {
  dlc::vec<float, 4> v = dlc::load<4>(x + 1);
  y[threadIdx.x] = v[0] + v[1] + v[2] + v[3];
}

DLC_KERNEL(64) misaligned_scalar(const float *x, float *y) {
  y[threadIdx.x] = *reinterpret_cast<const float *>(reinterpret_cast<const char *>(x) + 2);
}

DLC_KERNEL(64) divergent_barrier(const float *x, float *y) {
  if (threadIdx.x < 40)
    dlc::barrier();
  y[threadIdx.x] = x[threadIdx.x];
}

DLC_KERNEL(64) two_barriers(const float *x, float *y) {
  if (threadIdx.x < 40)
    dlc::barrier();
  else
    dlc::barrier();
  y[threadIdx.x] = x[threadIdx.x];
}

DLC_KERNEL(64) divergent_shuffle(const float *x, float *y) {
  float v = x[threadIdx.x];
  if (threadIdx.x & 1)
    v = dlc::shfl_xor(v, 2);
  else
    v = dlc::shfl(v, 0);
  y[threadIdx.x] = v;
}

DLC_KERNEL(64) uninitialised_shared(const float *x, float *y) {
  DLC_SHARED(float, tile, [64]);
  if (threadIdx.x < 63)
    tile[threadIdx.x] = x[threadIdx.x];
  dlc::barrier();
  y[threadIdx.x] = tile[63 - threadIdx.x];
}

DLC_KERNEL(64) shared_out_of_bounds(const float *x, float *y) {
  DLC_SHARED(float, tile, [64]);
  tile[threadIdx.x + 1] = x[threadIdx.x];
  dlc::barrier();
  y[threadIdx.x] = tile[threadIdx.x];
}

DLC_KERNEL(64) missing_barrier(const float *x, float *y) {
  DLC_SHARED(float, tile, [64]);
  tile[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = tile[63 - threadIdx.x];
}

DLC_KERNEL(64) global_race(const float *x, float *y) { y[threadIdx.x / 2] = x[threadIdx.x]; }

// Each block writes the same element: no barrier orders blocks.
DLC_KERNEL(64) block_race(const float *x, float *y) {
  if (threadIdx.x == 0)
    y[0] = x[blockIdx.x];
}

// Correct: neighbours exchange through shared memory, ordered by a warp barrier alone.
DLC_KERNEL(64) warp_exchange(const float *x, float *y) {
  DLC_SHARED(float, tile, [64]);
  tile[threadIdx.x] = x[threadIdx.x];
  dlc::warp_barrier();
  y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// Correct: all threads of all blocks add to one counter.
DLC_KERNEL(64) atomic_count(const float *x, float *y) {
  if (x[threadIdx.x] >= 0.0f)
    dlc::atomic_add(y, 1.0f);
}

// Correct: bytes side by side belong to different threads.
DLC_KERNEL(64) bytes(const float *x, float *y) {
  reinterpret_cast<u8 *>(y)[threadIdx.x] = (u8)dlc::to_i32_rz(x[threadIdx.x]);
}

// What a thread copies asynchronously is there for itself after its wait, for others after a barrier beside that.
DLC_KERNEL(64) copy_without_wait(const float *x, float *y) {
  DLC_SHARED(float, tile, [64]);
  dlc::cp_async<4>(tile + threadIdx.x, x + threadIdx.x, true);
  dlc::cp_async_commit();
  dlc::barrier();
  y[threadIdx.x] = tile[63 - threadIdx.x];
}

DLC_KERNEL(64) copy_without_barrier(const float *x, float *y) {
  DLC_SHARED(float, tile, [64]);
  dlc::cp_async<4>(tile + threadIdx.x, x + threadIdx.x, true);
  dlc::cp_async_commit();
  dlc::cp_async_wait<0>();
  y[threadIdx.x] = tile[63 - threadIdx.x];
}

// Many read one word; the barrier of its warp orders the writer after some of them.
DLC_KERNEL(64) many_readers(const float *x, float *y) {
  DLC_SHARED(float, word, [1]);
  if (threadIdx.x == 0)
    word[0] = x[0];
  dlc::barrier();
  if (threadIdx.x < 3 || threadIdx.x == 33)
    y[threadIdx.x] = word[0];
  dlc::warp_barrier();
  if (threadIdx.x == 2)
    word[0] = 1.0f;
}

// The same with all of them ordered: correct.
DLC_KERNEL(64) many_ordered_readers(const float *x, float *y) {
  DLC_SHARED(float, word, [1]);
  if (threadIdx.x == 0)
    word[0] = x[0];
  dlc::barrier();
  y[threadIdx.x] = word[0];
  dlc::barrier();
  if (threadIdx.x == 2)
    word[0] = 1.0f;
}

// The lanes of a warp disagree about the type of the bytes that they multiply together.
DLC_KERNEL(64) divergent_signs(const float *x, float *y) {
  u32 a[1][4] = {}, b[1][4] = {};
  i32 d[1][2][4] = {};
  if (threadIdx.x & 1)
    dlc::mma_tile_bytes<true, true, 1, 2>(d, a, b);
  else
    dlc::mma_tile_bytes<false, true, 1, 2>(d, a, b);
  y[threadIdx.x] = x[threadIdx.x] + (float)d[0][0][0];
}

// A part of the warp multiplies.
DLC_KERNEL(64) half_a_warp_multiplies(const float *x, float *y) {
  u32 a[1][4] = {}, b[1][4] = {};
  i32 d[1][2][4] = {};
  y[threadIdx.x] = x[threadIdx.x];
  if ((threadIdx.x & 31) >= 16)
    return;
  dlc::mma_tile_bytes<false, true, 1, 2>(d, a, b);
  y[threadIdx.x] = (float)d[0][0][0];
}

// The two lanes' halves of one product are products of bytes and of f16.
DLC_KERNEL(64) bytes_meet_halves(const float *x, float *y) {
  u32 a[1][4] = {}, b[1][4] = {};
  if (threadIdx.x & 1) {
    i32 d[1][2][4] = {};
    dlc::mma_tile_bytes<false, true, 1, 2>(d, a, b);
  } else {
    float d[1][2][4] = {};
    dlc::mma_tile<dlc::f16, 1, 2>(d, a, b);
  }
  y[threadIdx.x] = x[threadIdx.x];
}
