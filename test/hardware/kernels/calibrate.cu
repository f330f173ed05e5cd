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

// Each pass reads all n groups of four values; the sum keeps the reads.
DLC_KERNEL(256) sweep(const float *x, float *out, i32 n, i32 passes) {
  float sum = 0.0f;
  for (i32 pass = 0; pass < passes; ++pass)
    for (i32 i = (i32)(blockIdx.x * 256 + threadIdx.x); i < n; i += (i32)(gridDim.x * 256)) {
      dlc::vec<float, 4> v = dlc::load<4>(x + (i64)i * 4);
      sum += v[0] + v[1] + v[2] + v[3];
    }
  if (sum == 1.5f) // never: the values are zero
    out[0] = sum;
}
