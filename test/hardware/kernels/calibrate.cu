//===- calibrate.cu - what a GPU's parts take -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dlc_device.cuh"

// Nothing: what is left is the launch.
DLC_KERNEL(32) empty(u32 *out) {
  if (out == nullptr)
    dlc::barrier();
}

// One block a multiprocessor meets all others `rounds` times.
DLC_KERNEL(128) barriers(u32 *counter, i32 rounds) {
  for (i32 i = 0; i < rounds; ++i)
    dlc::grid_barrier(counter);
}

// A walk through memory where each step needs the one before it.
DLC_KERNEL(1) chase(const u32 *next, u32 *out, i32 steps) {
  u32 at = 0;
  for (i32 i = 0; i < steps; ++i)
    at = next[at];
  out[0] = at;
}

// Four values from the second-level cache or from memory: never from the multiprocessor's own cache.
static DLC_DEV float sum_past_l1(const float *x) {
#ifdef DLC_EMU
  dlc::vec<float, 4> v = dlc::load<4>(x);
  return v[0] + v[1] + v[2] + v[3];
#else
  float a, b, c, d;
  asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3},[%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x));
  return a + b + c + d;
#endif
}

// Each pass reads all n groups of four values, each block what another one has read in the pass before; the sum keeps the reads.
DLC_KERNEL(256) sweep(const float *x, float *out, i32 n, i32 passes) {
  float sum = 0.0f;
  for (i32 pass = 0; pass < passes; ++pass) {
    u32 slice = (blockIdx.x + (u32)pass * 37) % gridDim.x;
    for (i32 i = (i32)(slice * 256 + threadIdx.x); i < n; i += (i32)(gridDim.x * 256))
      sum += sum_past_l1(x + (i64)i * 4);
  }
  if (sum == 1.5f) // never: the values are zero
    out[0] = sum;
}
