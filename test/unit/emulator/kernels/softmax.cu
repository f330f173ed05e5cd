//===- softmax.cu - one row a block, by warps and shared memory -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dlc_device.cuh"

// Cody-Waite reduction and a polynomial: a stand-in for what the compiler expands.
static DLC_DEV float exp_small(float x) {
  x = dlc::max(x, -87.0f);
  float k = dlc::rint(x * 1.44269504f);
  float r = dlc::fma(k, -0.693359375f, x);
  r = dlc::fma(k, 2.12194440e-4f, r);
  float p = 1.98756915e-4f;
  p = dlc::fma(p, r, 1.39819995e-3f);
  p = dlc::fma(p, r, 8.33345205e-3f);
  p = dlc::fma(p, r, 4.16657959e-2f);
  p = dlc::fma(p, r, 1.66666655e-1f);
  p = dlc::fma(p, r, 5.00000001e-1f);
  p = dlc::fma(p, r * r, r) + 1.0f;
  return p * dlc::from_bits<float>(dlc::shl(dlc::to_i32_rn(k) + 127, 23));
}

static DLC_DEV float block_max(float v, float *red) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1)
    v = dlc::max(v, dlc::shfl_xor(v, mask));
  if ((threadIdx.x & 31) == 0)
    red[threadIdx.x >> 5] = v;
  dlc::barrier();
  v = red[threadIdx.x & 7];
#pragma unroll
  for (int mask = 4; mask > 0; mask >>= 1)
    v = dlc::max(v, dlc::shfl_xor(v, mask));
#ifndef PLANT_MISSING_BARRIER
  dlc::barrier();
#endif
  return v;
}

static DLC_DEV float block_sum(float v, float *red) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1)
    v += dlc::shfl_xor(v, mask);
  if ((threadIdx.x & 31) == 0)
    red[threadIdx.x >> 5] = v;
  dlc::barrier();
  v = red[threadIdx.x & 7];
#pragma unroll
  for (int mask = 4; mask > 0; mask >>= 1)
    v += dlc::shfl_xor(v, mask);
  return v;
}

DLC_KERNEL(256) softmax(const float *__restrict__ x, float *__restrict__ y, i32 cols) {
  DLC_SHARED(float, red, [8]);
  const float *row = x + (i64)blockIdx.x * cols;
  float *out = y + (i64)blockIdx.x * cols;
  float top = -DLC_INF;
  for (i32 i = (i32)threadIdx.x; i < cols; i += 256)
    top = dlc::max(top, row[i]);
  top = block_max(top, red);
  float sum = 0.0f;
  for (i32 i = (i32)threadIdx.x; i < cols; i += 256)
    sum += exp_small(row[i] - top);
  sum = block_sum(sum, red);
  for (i32 i = (i32)threadIdx.x; i < cols; i += 256)
    out[i] = dlc::div(exp_small(row[i] - top), sum);
}
