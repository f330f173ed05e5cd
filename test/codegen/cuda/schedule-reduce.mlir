// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// A block or a warp for each row, all stages in one kernel; one thread where rows stand across the memory.
module attributes {dl.symbols = [#dl.symbol<"N", 0, 64>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_softmax(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   DLC_SHARED(float, largest_of_warp, [8]);
// CHECK-NEXT:   DLC_SHARED(float, sum_of_warp, [8]);
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int row = (int)blockIdx.x;
// CHECK-NEXT:   float kept[4];
// CHECK-NEXT:   float largest = -DLC_INF;
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:     const int r = j * 256 + thread;
// CHECK-NEXT:     float v;
// CHECK-NEXT:     if (r < 1000) {
// CHECK-NEXT:       const float v_1 = x[row * 1000 + r];
// CHECK-NEXT:       kept[j] = v_1;
// CHECK-NEXT:       v = dlc::max(largest, v_1);
// CHECK-NEXT:     } else {
// CHECK-NEXT:       v = largest;
// CHECK-NEXT:     }
// CHECK-NEXT:     largest = v;
// CHECK-NEXT:   }
// CHECK-NEXT:   float largest_1 = largest;
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int s = 0; s < 5; ++s) {
// CHECK-NEXT:     const i32 distance = dlc::shr_unsigned<i32>(16, s);
// CHECK-NEXT:     const float other = dlc::shfl_xor(largest_1, distance);
// CHECK-NEXT:     largest_1 = dlc::max(largest_1, other);
// CHECK-NEXT:   }
// CHECK-NEXT:   const int lane = dlc::umod(thread, 32);
// CHECK-NEXT:   const int warp = dlc::udiv(thread, 32);
// CHECK-NEXT:   const bool test = lane == 0;
// CHECK-NEXT:   if (test) {
// CHECK-NEXT:     largest_of_warp[warp] = largest_1;
// CHECK-NEXT:   }
// CHECK-NEXT:   dlc::barrier();
// CHECK-NEXT:   const int i = dlc::umod(lane, 8);
// CHECK-NEXT:   float largest_2 = largest_of_warp[i];
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int s = 0; s < 3; ++s) {
// CHECK-NEXT:     const i32 distance = dlc::shr_unsigned<i32>(4, s);
// CHECK-NEXT:     const float other = dlc::shfl_xor(largest_2, distance);
// CHECK-NEXT:     largest_2 = dlc::max(largest_2, other);
// CHECK-NEXT:   }
// CHECK-NEXT:   float sum = 0.0f;
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:     const int r = j * 256 + thread;
// CHECK-NEXT:     sum = r < 1000 ? sum + dlc_exp(kept[j] - largest_2) : sum;
// CHECK-NEXT:   }
// CHECK-NEXT:   float sum_1 = sum;
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int s = 0; s < 5; ++s) {
// CHECK-NEXT:     const i32 distance = dlc::shr_unsigned<i32>(16, s);
// CHECK-NEXT:     const float other = dlc::shfl_xor(sum_1, distance);
// CHECK-NEXT:     sum_1 = sum_1 + other;
// CHECK-NEXT:   }
// CHECK-NEXT:   if (test) {
// CHECK-NEXT:     sum_of_warp[warp] = sum_1;
// CHECK-NEXT:   }
// CHECK-NEXT:   dlc::barrier();
// CHECK-NEXT:   float sum_2 = sum_of_warp[i];
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int s = 0; s < 3; ++s) {
// CHECK-NEXT:     const i32 distance = dlc::shr_unsigned<i32>(4, s);
// CHECK-NEXT:     const float other = dlc::shfl_xor(sum_2, distance);
// CHECK-NEXT:     sum_2 = sum_2 + other;
// CHECK-NEXT:   }
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:     const int r = j * 256 + thread;
// CHECK-NEXT:     if (r < 1000) {
// CHECK-NEXT:       y[row * 1000 + r] = dlc_exp(kept[j] - largest_2) / sum_2;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @softmax attributes {kind = #dlx.kind<reduce>} {
  ^bb0(%x: tensor<?x1000xf32, #dl.t<[s0, 1000]>>):
    %0 = dl.softmax %x {dim = -1 : i64} : (tensor<?x1000xf32, #dl.t<[s0, 1000]>>) -> tensor<?x1000xf32, #dl.t<[s0, 1000]>>
    dl.yield %0 : tensor<?x1000xf32, #dl.t<[s0, 1000]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(128) dlc_argmax(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     i64 *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int lane = dlc::umod(thread, 32);
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int row = block * 4 + dlc::udiv(thread, 32);
// CHECK-NEXT:   if (row < s0) {
// CHECK-NEXT:     float best = -DLC_INF;
// CHECK-NEXT:     i64 best_at = 9223372036854775807ll;
// CHECK-NEXT:     for (int r = lane; r < 10; r += 32) {
// CHECK-NEXT:       const float v = x[row * 10 + r];
// CHECK-NEXT:       const i64 v_1 = (i64)r;
// CHECK-NEXT:       const bool test = v_1 < best_at;
// CHECK-NEXT:       const bool test_1 = best < v || (best == v && test) || (dlc::is_nan(v) && (dlc::is_nan(best) == false || test));
// CHECK-NEXT:       best = test_1 ? v : best;
// CHECK-NEXT:       best_at = test_1 ? v_1 : best_at;
// CHECK-NEXT:     }
// CHECK-NEXT:     float best_1 = best;
// CHECK-NEXT:     i64 best_at_1 = best_at;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int s = 0; s < 5; ++s) {
// CHECK-NEXT:       const i32 distance = dlc::shr_unsigned<i32>(16, s);
// CHECK-NEXT:       const float other = dlc::shfl_xor(best_1, distance);
// CHECK-NEXT:       const i64 other_1 = dlc::shfl_xor(best_at_1, distance);
// CHECK-NEXT:       const bool test = other_1 < best_at_1;
// CHECK-NEXT:       const bool test_1 = best_1 < other || (best_1 == other && test) || (dlc::is_nan(other) && (dlc::is_nan(best_1) == false || test));
// CHECK-NEXT:       best_1 = test_1 ? other : best_1;
// CHECK-NEXT:       best_at_1 = test_1 ? other_1 : best_at_1;
// CHECK-NEXT:     }
// CHECK-NEXT:     if (lane == 0) {
// CHECK-NEXT:       y[row] = best_at_1;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @argmax attributes {kind = #dlx.kind<reduce>} {
  ^bb0(%x: tensor<?x10xf32, #dl.t<[s0, 10]>>):
    %0 = dl.argmax %x {dim = 1 : i64} : (tensor<?x10xf32, #dl.t<[s0, 10]>>) -> tensor<?xi64, #dl.t<[s0]>>
    dl.yield %0 : tensor<?xi64, #dl.t<[s0]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_mean(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int i = block * 256 + thread;
// CHECK-NEXT:   if (i < s0 * 8) {
// CHECK-NEXT:     const int col = dlc::umod(i, 8);
// CHECK-NEXT:     const int row = dlc::udiv(i, 8);
// CHECK-NEXT:     float sum = 0.0f;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int rh = 0; rh < 7; ++rh) {
// CHECK-NEXT:       float sum_1 = sum;
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int rw = 0; rw < 7; ++rw) {
// CHECK-NEXT:         sum_1 = sum_1 + x[rh * 56 + rw * 8 + row * 392 + col];
// CHECK-NEXT:       }
// CHECK-NEXT:       sum = sum_1;
// CHECK-NEXT:     }
// CHECK-NEXT:     y[i] = sum / 49.0f;
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @mean attributes {kind = #dlx.kind<reduce>} {
  ^bb0(%x: tensor<?x8x7x7xf32, #dl.t<[s0, 8, 7, 7], order = [0, 2, 3, 1]>>):
    %0 = dl.mean %x {dim = array<i64: 2, 3>} : (tensor<?x8x7x7xf32, #dl.t<[s0, 8, 7, 7], order = [0, 2, 3, 1]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
    dl.yield %0 : tensor<?x8xf32, #dl.t<[s0, 8]>>
  }
}
}
