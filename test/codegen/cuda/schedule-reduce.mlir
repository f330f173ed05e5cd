// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// A block or a warp for each row, all stages in one kernel; one thread where rows stand across the memory.
module attributes {dl.symbols = [#dl.symbol<"N", 0, 64>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL(64) dlc_softmax(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   DLC_SHARED(float, largest_of_warp, [2]);
// CHECK-NEXT:   DLC_SHARED(float, sum_of_warp, [2]);
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int row = (int)blockIdx.x;
// CHECK-NEXT:   float kept[16];
// CHECK-NEXT:   float terms[16];
// CHECK-NEXT:   float largest = -DLC_INF;
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:     const int r = (j * 64 + thread) * 4;
// CHECK-NEXT:     float v;
// CHECK-NEXT:     if (r < 1000) {
// CHECK-NEXT:       const int i = j * 4;
// CHECK-NEXT:       const dlc::vec<float, 4> x4 = dlc::load<4>(x + row * 1000 + r);
// CHECK-NEXT:       float largest_1 = largest;
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:         const float v_1 = x4[e];
// CHECK-NEXT:         kept[i + e] = v_1;
// CHECK-NEXT:         largest_1 = dlc::max(largest_1, v_1);
// CHECK-NEXT:       }
// CHECK-NEXT:       v = largest_1;
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
// CHECK-NEXT:   const int i = dlc::umod(lane, 2);
// CHECK-NEXT:   float largest_2 = largest_of_warp[i];
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int s = 0; s < 1; ++s) {
// CHECK-NEXT:     const i32 distance = dlc::shr_unsigned<i32>(1, s);
// CHECK-NEXT:     const float other = dlc::shfl_xor(largest_2, distance);
// CHECK-NEXT:     largest_2 = dlc::max(largest_2, other);
// CHECK-NEXT:   }
// CHECK-NEXT:   float sum = 0.0f;
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:     const int r = (j * 64 + thread) * 4;
// CHECK-NEXT:     float v;
// CHECK-NEXT:     if (r < 1000) {
// CHECK-NEXT:       const int i_1 = j * 4;
// CHECK-NEXT:       float sum_1 = sum;
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:         const int i_2 = i_1 + e;
// CHECK-NEXT:         const float v_1 = dlc_exp(kept[i_2] - largest_2);
// CHECK-NEXT:         terms[i_2] = v_1;
// CHECK-NEXT:         sum_1 = sum_1 + v_1;
// CHECK-NEXT:       }
// CHECK-NEXT:       v = sum_1;
// CHECK-NEXT:     } else {
// CHECK-NEXT:       v = sum;
// CHECK-NEXT:     }
// CHECK-NEXT:     sum = v;
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
// CHECK-NEXT:   for (int s = 0; s < 1; ++s) {
// CHECK-NEXT:     const i32 distance = dlc::shr_unsigned<i32>(1, s);
// CHECK-NEXT:     const float other = dlc::shfl_xor(sum_2, distance);
// CHECK-NEXT:     sum_2 = sum_2 + other;
// CHECK-NEXT:   }
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:     const int r = (j * 64 + thread) * 4;
// CHECK-NEXT:     if (r < 1000) {
// CHECK-NEXT:       const int i_1 = j * 4;
// CHECK-NEXT:       dlc::vec<float, 4> y4;
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:         const int i_2 = i_1 + e;
// CHECK-NEXT:         y4[e] = terms[i_2] * (1.0f / sum_2);
// CHECK-NEXT:       }
// CHECK-NEXT:       dlc::store(y + row * 1000 + r, y4);
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
// CHECK-LABEL: {{^}}DLC_KERNEL(128) dlc_vectors(
// CHECK-NEXT:     const dlc::f16 *__restrict__ x,
// CHECK-NEXT:     dlc::f16 *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int lane = dlc::umod(thread, 32);
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int row = block * 4 + dlc::udiv(thread, 32);
// CHECK-NEXT:   if (row < s0) {
// CHECK-NEXT:     float kept[16];
// CHECK-NEXT:     float terms[16];
// CHECK-NEXT:     float largest = -DLC_INF;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int j = 0; j < 2; ++j) {
// CHECK-NEXT:       const int r = (j * 32 + lane) * 8;
// CHECK-NEXT:       const int i = j * 8;
// CHECK-NEXT:       const dlc::vec<dlc::f16, 8> x8 = dlc::load<8>(x + row * 512 + r);
// CHECK-NEXT:       float largest_1 = largest;
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int e = 0; e < 8; ++e) {
// CHECK-NEXT:         const float v = dlc::to_f(x8[e]);
// CHECK-NEXT:         kept[i + e] = v;
// CHECK-NEXT:         largest_1 = dlc::max(largest_1, v);
// CHECK-NEXT:       }
// CHECK-NEXT:       largest = largest_1;
// CHECK-NEXT:     }
// CHECK-NEXT:     float largest_1 = largest;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int s = 0; s < 5; ++s) {
// CHECK-NEXT:       const i32 distance = dlc::shr_unsigned<i32>(16, s);
// CHECK-NEXT:       const float other = dlc::shfl_xor(largest_1, distance);
// CHECK-NEXT:       largest_1 = dlc::max(largest_1, other);
// CHECK-NEXT:     }
// CHECK-NEXT:     float sum = 0.0f;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int j = 0; j < 2; ++j) {
// CHECK-NEXT:       const int i = j * 8;
// CHECK-NEXT:       float sum_1 = sum;
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int e = 0; e < 8; ++e) {
// CHECK-NEXT:         const int i_1 = i + e;
// CHECK-NEXT:         const float v = dlc_exp(kept[i_1] - largest_1);
// CHECK-NEXT:         terms[i_1] = v;
// CHECK-NEXT:         sum_1 = sum_1 + v;
// CHECK-NEXT:       }
// CHECK-NEXT:       sum = sum_1;
// CHECK-NEXT:     }
// CHECK-NEXT:     float sum_1 = sum;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int s = 0; s < 5; ++s) {
// CHECK-NEXT:       const i32 distance = dlc::shr_unsigned<i32>(16, s);
// CHECK-NEXT:       const float other = dlc::shfl_xor(sum_1, distance);
// CHECK-NEXT:       sum_1 = sum_1 + other;
// CHECK-NEXT:     }
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int j = 0; j < 2; ++j) {
// CHECK-NEXT:       const int r = (j * 32 + lane) * 8;
// CHECK-NEXT:       const int i = j * 8;
// CHECK-NEXT:       dlc::vec<dlc::f16, 8> y8;
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int e = 0; e < 8; ++e) {
// CHECK-NEXT:         const int i_1 = i + e;
// CHECK-NEXT:         y8[e] = dlc::from_f<dlc::f16>(terms[i_1] * (1.0f / sum_1));
// CHECK-NEXT:       }
// CHECK-NEXT:       dlc::store(y + row * 512 + r, y8);
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @vectors attributes {kind = #dlx.kind<reduce>} {
  ^bb0(%x: tensor<?x512xf16, #dl.t<[s0, 512]>>):
    %0 = dl.softmax %x {dim = -1 : i64} : (tensor<?x512xf16, #dl.t<[s0, 512]>>) -> tensor<?x512xf16, #dl.t<[s0, 512]>>
    dl.yield %0 : tensor<?x512xf16, #dl.t<[s0, 512]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(512) dlc_vectors_of_parts(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     i64 *__restrict__ exchange,
// CHECK-NEXT:     float *__restrict__ y) {
// CHECK-NEXT:   DLC_SHARED(float, sum_of_warp, [16]);
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int lane = dlc::umod(thread, 32);
// CHECK-NEXT:   const int i = (int)gridDim.x;
// CHECK-NEXT:   #pragma unroll 1
// CHECK-NEXT:   for (int item = block; item < 128; item += i) {
// CHECK-NEXT:     const int row = dlc::udiv(item, 128);
// CHECK-NEXT:     const int part = dlc::umod(item, 128);
// CHECK-NEXT:     const int i_1 = part * 524288;
// CHECK-NEXT:     const int piece_end = dlc::min(i_1 + 524288, 67108864);
// CHECK-NEXT:     float sum = 0.0f;
// CHECK-NEXT:     for (int r = i_1 + thread * 4; r < piece_end; r += 2048) {
// CHECK-NEXT:       const dlc::vec<float, 4> x4 = dlc::load<4>(x + r);
// CHECK-NEXT:       float sum_1 = sum;
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:         sum_1 = sum_1 + x4[e];
// CHECK-NEXT:       }
// CHECK-NEXT:       sum = sum_1;
// CHECK-NEXT:     }
// CHECK-NEXT:     float sum_1 = sum;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int s = 0; s < 5; ++s) {
// CHECK-NEXT:       const i32 distance = dlc::shr_unsigned<i32>(16, s);
// CHECK-NEXT:       const float other = dlc::shfl_xor(sum_1, distance);
// CHECK-NEXT:       sum_1 = sum_1 + other;
// CHECK-NEXT:     }
// CHECK-NEXT:     const int warp = dlc::udiv(thread, 32);
// CHECK-NEXT:     if (lane == 0) {
// CHECK-NEXT:       sum_of_warp[warp] = sum_1;
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::barrier();
// CHECK-NEXT:     float sum_2 = sum_of_warp[dlc::umod(lane, 16)];
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int s = 0; s < 4; ++s) {
// CHECK-NEXT:       const i32 distance = dlc::shr_unsigned<i32>(8, s);
// CHECK-NEXT:       const float other = dlc::shfl_xor(sum_2, distance);
// CHECK-NEXT:       sum_2 = sum_2 + other;
// CHECK-NEXT:     }
// CHECK-NEXT:     if (thread == 0) {
// CHECK-NEXT:       exchange[row * 128 + part + 512] = (i64)dlc::bits_of(sum_2);
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::barrier();
// CHECK-NEXT:   }
// CHECK-NEXT:   dlc::grid_barrier(reinterpret_cast<u32 *>(exchange) + 1023);
// CHECK-NEXT:   #pragma unroll 1
// CHECK-NEXT:   for (int item = block; item < 128; item += i) {
// CHECK-NEXT:     const int row = dlc::udiv(item, 128);
// CHECK-NEXT:     const int part = dlc::umod(item, 128);
// CHECK-NEXT:     float sum = 0.0f;
// CHECK-NEXT:     for (int p = lane; p < 128; p += 32) {
// CHECK-NEXT:       sum = sum + dlc::from_bits<float>((i32)exchange[row * 128 + p + 512]);
// CHECK-NEXT:     }
// CHECK-NEXT:     float sum_1 = sum;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int s = 0; s < 5; ++s) {
// CHECK-NEXT:       const i32 distance = dlc::shr_unsigned<i32>(16, s);
// CHECK-NEXT:       const float other = dlc::shfl_xor(sum_1, distance);
// CHECK-NEXT:       sum_1 = sum_1 + other;
// CHECK-NEXT:     }
// CHECK-NEXT:     if (part == 0 && thread == 0) {
// CHECK-NEXT:       y[0] = sum_1;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @vectors_of_parts attributes {kind = #dlx.kind<reduce>} {
  ^bb0(%x: tensor<8192x8192xf32>):
    %0 = dl.sum %x {dim = array<i64: 0, 1>} : (tensor<8192x8192xf32>) -> tensor<f32>
    dl.yield %0 : tensor<f32>
  }
}
}
