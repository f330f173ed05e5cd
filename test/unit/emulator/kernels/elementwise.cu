//===- elementwise.cu - y = relu(x * a + b) * z ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dlc_device.cuh"

// A flat grid over vectors of four, with a scalar tail in the first block.
DLC_KERNEL(256)
elementwise(const float *__restrict__ x, const float *__restrict__ z, float *__restrict__ y,
            float a, float b, i64 n) {
  i64 i = (i64)blockIdx.x * 256 + (i64)threadIdx.x;
  i64 n4 = dlc::udiv(n, 4);
  if (i < n4) {
    dlc::vec<float, 4> xs = dlc::load<4>(x + i * 4), zs = dlc::load<4>(z + i * 4), ys;
#pragma unroll
    for (int j = 0; j < 4; ++j)
      ys[j] = dlc::max(xs[j] * a + b, 0.0f) * zs[j];
    dlc::store(y + i * 4, ys);
  }
  i64 tail = n4 * 4 + i;
  if (i < 4 && tail < n)
    y[tail] = dlc::max(x[tail] * a + b, 0.0f) * z[tail];
}
