//===- primitives.cu - every word of the vocabulary, once -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kernel writes the results of its words one after another, n elements each, in the order in
// which PrimitiveTest.cpp expects them. The real NVRTC must compile this file without a remark.
//===----------------------------------------------------------------------===//
#include "dlc_device.cuh"

#define DLC_INDEX()                                                                                \
  i32 i = (i32)(blockIdx.x * blockDim.x + threadIdx.x);                                            \
  if (i >= n)                                                                                      \
    return;                                                                                        \
  i32 op = 0
#define DLC_OUT(value) out[(i64)op++ * n + i] = (value)

template <class F>
static DLC_DEV void float_words(const F *a, const F *b, const F *c, F *out, i32 n) {
  DLC_INDEX();
  F x = a[i], y = b[i], z = c[i];
  DLC_OUT(dlc::fma(x, y, z));
  DLC_OUT(x * y + z); // two roundings
  DLC_OUT(dlc::sqrt(x));
  DLC_OUT(dlc::div(x, y));
  DLC_OUT(dlc::floor(x));
  DLC_OUT(dlc::ceil(x));
  DLC_OUT(dlc::trunc(x));
  DLC_OUT(dlc::rint(x));
  DLC_OUT(dlc::max(x, y));
  DLC_OUT(dlc::min(x, y));
  DLC_OUT(dlc::abs(x));
  DLC_OUT(dlc::neg(x));
  DLC_OUT(dlc::copysign(x, y));
  DLC_OUT(dlc::select(x < y, x, z));
  DLC_OUT(dlc::from_bits<F>(dlc::bits_of(x)));
  DLC_OUT(dlc::is_nan(x) ? (F)1 : (F)0);
}
DLC_KERNEL(256)
f32_words(const float *a, const float *b, const float *c, float *out, i32 n) {
  float_words(a, b, c, out, n);
}
DLC_KERNEL(256)
f64_words(const double *a, const double *b, const double *c, double *out, i32 n) {
  float_words(a, b, c, out, n);
}

DLC_KERNEL(256) fast_words(const float *a, float *out, i32 n) {
  DLC_INDEX();
  DLC_OUT(dlc::exp2_fast(a[i]));
}

template <class F> static DLC_DEV void to_integers(const F *a, i64 *out, i32 n) {
  DLC_INDEX();
  DLC_OUT(dlc::to_i32_rn(a[i]));
  DLC_OUT(dlc::to_i32_rz(a[i]));
  DLC_OUT(dlc::to_u32_rz(a[i]));
  DLC_OUT(dlc::to_i64_rn(a[i]));
  DLC_OUT(dlc::to_i64_rz(a[i]));
}
DLC_KERNEL(256) f32_to_integers(const float *a, i64 *out, i32 n) { to_integers(a, out, n); }
DLC_KERNEL(256) f64_to_integers(const double *a, i64 *out, i32 n) { to_integers(a, out, n); }

DLC_KERNEL(256) integers_to_floats(const i64 *a, double *out, i32 n) {
  DLC_INDEX();
  DLC_OUT((double)(float)(i32)a[i]);
  DLC_OUT((double)(float)(u32)a[i]);
  DLC_OUT((double)(float)a[i]);
  DLC_OUT((double)a[i]);
}

DLC_KERNEL(256) narrow_f32(const float *a, u16 *out, i32 n) {
  DLC_INDEX();
  DLC_OUT(dlc::from_f<dlc::f16>(a[i]).x);
  DLC_OUT(dlc::from_f<dlc::bf16>(a[i]).x);
  u32 halves = dlc::pack2<dlc::f16>(a[i], 1.0f), brains = dlc::pack2<dlc::bf16>(2.0f, a[i]);
  DLC_OUT((u16)halves);
  DLC_OUT((u16)(brains >> 16));
}
DLC_KERNEL(256) narrow_f64(const double *a, u16 *out, i32 n) {
  DLC_INDEX();
  DLC_OUT(dlc::from_d<dlc::f16>(a[i]).x);
  DLC_OUT(dlc::from_d<dlc::bf16>(a[i]).x);
}
DLC_KERNEL(256) widen(const u16 *a, double *out, i32 n) {
  DLC_INDEX();
  dlc::f16 half = dlc::from_bits<dlc::f16>((i16)a[i]);
  dlc::bf16 brain = dlc::from_bits<dlc::bf16>((i16)a[i]);
  DLC_OUT((double)dlc::to_f(half));
  DLC_OUT((double)dlc::to_f(brain));
  DLC_OUT(dlc::to_d(dlc::max(half, dlc::f16{0x3c00})));
  DLC_OUT(dlc::to_d(dlc::min(brain, dlc::bf16{0x3f80})));
  DLC_OUT((double)(u16)dlc::bits_of(half));
}

template <class T> static DLC_DEV void integer_words(const T *a, const T *b, T *out, i32 n) {
  DLC_INDEX();
  T x = a[i], y = b[i];
  DLC_OUT(dlc::add_wrap(x, y));
  DLC_OUT(dlc::sub_wrap(x, y));
  DLC_OUT(dlc::mul_wrap(x, y));
  DLC_OUT(dlc::neg_wrap(x));
  DLC_OUT(dlc::abs_wrap(x));
  DLC_OUT(dlc::shl(x, y));
  DLC_OUT(dlc::shr_unsigned(x, y));
  DLC_OUT(dlc::shr_signed(x, y));
  DLC_OUT(dlc::div_trunc(x, y));
  DLC_OUT(dlc::rem_trunc(x, y));
  DLC_OUT(dlc::div_floor(x, y));
  DLC_OUT(dlc::rem_floor(x, y));
}
DLC_KERNEL(256) i8_words(const i8 *a, const i8 *b, i8 *out, i32 n) { integer_words(a, b, out, n); }
DLC_KERNEL(256) i16_words(const i16 *a, const i16 *b, i16 *out, i32 n) {
  integer_words(a, b, out, n);
}
DLC_KERNEL(256) i32_words(const i32 *a, const i32 *b, i32 *out, i32 n) {
  integer_words(a, b, out, n);
}
DLC_KERNEL(256) i64_words(const i64 *a, const i64 *b, i64 *out, i32 n) {
  integer_words(a, b, out, n);
}

template <class T> static DLC_DEV void index_words(const T *a, const T *b, T *out, i32 n) {
  DLC_INDEX();
  T x = a[i], y = b[i];
  DLC_OUT(dlc::udiv(x, y == 0 ? (T)1 : y));
  DLC_OUT(dlc::umod(x, y == 0 ? (T)1 : y));
  DLC_OUT(dlc::max(x, y));
  DLC_OUT(dlc::min(x, y));
  DLC_OUT(dlc::ult(x, y));
  DLC_OUT(dlc::ule(x, y));
}
DLC_KERNEL(256) i32_index(const i32 *a, const i32 *b, i32 *out, i32 n) {
  index_words(a, b, out, n);
}
DLC_KERNEL(256) i64_index(const i64 *a, const i64 *b, i64 *out, i32 n) {
  index_words(a, b, out, n);
}

// Mixed widths, and unsigned minima: compiled here, the values are index_words'.
DLC_KERNEL(32) mixed_index(i64 *out) {
  out[0] = dlc::udiv((i64)100, 7) + dlc::umod((i64)100, 7);
  out[1] = dlc::udiv(100, (i64)7) + dlc::umod(100, (i64)7);
  out[2] = dlc::max(3u, 4u) + dlc::min(3u, 4u);
  out[3] = (i64)(dlc::max((u64)3, (u64)4) + dlc::min((u64)3, (u64)4));
}

template <class T> static DLC_DEV void warp_words(const T *a, T *out) {
  i32 n = 32, i = (i32)threadIdx.x, op = 0;
  DLC_OUT(dlc::shfl(a[i], 5));
  DLC_OUT(dlc::shfl(a[i], (i + 3) & 31));
  DLC_OUT(dlc::shfl_xor(a[i], 12));
  DLC_OUT(dlc::shfl_down(a[i], 7));
  DLC_OUT(dlc::shfl_up(a[i], 9));
}
DLC_KERNEL(32) warp_i32(const i32 *a, i32 *out) { warp_words(a, out); }
DLC_KERNEL(32) warp_i64(const i64 *a, i64 *out) { warp_words(a, out); }
DLC_KERNEL(32) warp_f32(const float *a, float *out) { warp_words(a, out); }
DLC_KERNEL(32) warp_f64(const double *a, double *out) { warp_words(a, out); }
DLC_KERNEL(32) warp_votes(u32 *out) {
  u32 votes = dlc::ballot(threadIdx.x % 3 == 0);
  dlc::warp_barrier();
  out[threadIdx.x] = votes;
}

// 8 blocks of 32 threads.
DLC_KERNEL(32) atomics(i32 *i, i64 *l, float *f, double *d, u32 *u, u64 *v) {
  dlc::begin_grid();
  i32 thread = (i32)(blockIdx.x * 32 + threadIdx.x);
  dlc::atomic_add(i + 0, thread);
  dlc::atomic_max(i + 1, thread);
  dlc::atomic_min(i + 2, -thread);
  dlc::atomic_add(l + 0, (i64)thread << 32);
  dlc::atomic_max(l + 1, (i64)thread << 32);
  dlc::atomic_min(l + 2, -((i64)thread << 32));
  dlc::atomic_add(f, 0.5f);
  dlc::atomic_add(d, 0.25);
  dlc::atomic_add(u + 0, 1u);
  dlc::atomic_add(v, (u64)1 << 33);
  dlc::atomic_cas(u + 1, 0u, 77u);
  dlc::atomic_exchange(u + 2, 5u);
  dlc::fence();
}

// Copies by vectors of each size.
template <int N, class T> static DLC_DEV void copy_vector(const T *from, T *to) {
  dlc::vec<T, N> v = dlc::load<N>(from);
  dlc::store(to, v);
}
DLC_KERNEL(1) vectors(const u8 *from, u8 *to) {
  copy_vector<16>(from, to);
  copy_vector<8>((const dlc::f16 *)(from + 16), (dlc::f16 *)(to + 16));
  copy_vector<4>((const float *)(from + 32), (float *)(to + 32));
  copy_vector<2>((const double *)(from + 48), (double *)(to + 48));
  copy_vector<2>((const float *)(from + 64), (float *)(to + 64));
  copy_vector<4>((const dlc::bf16 *)(from + 72), (dlc::bf16 *)(to + 72));
  copy_vector<1>((const i64 *)(from + 80), (i64 *)(to + 80));
  copy_vector<8>((const float *)(from + 96), (float *)(to + 96)); // two accesses of 16 bytes
  dlc::store(to + 128, dlc::splat<16>((u8)9));
}

DLC_KERNEL(1) constants(float *f, double *d) {
  f[0] = DLC_INF;
  f[1] = -DLC_INF;
  f[2] = DLC_NAN;
  d[0] = DLC_INF_F64;
  d[1] = DLC_NAN_F64;
}

DLC_KERNEL(64) dynamic_shared(i32 *out) {
  DLC_DYN_SMEM(memory);
  i32 *words = (i32 *)memory;
  words[threadIdx.x] = (i32)threadIdx.x;
  dlc::barrier();
  out[threadIdx.x] = words[63 - threadIdx.x] + (dlc::smem_u32(memory) % 1024 == 0 ? 0 : 1000) +
                     (dlc::dynamic_shared_bytes() == 256 ? 0 : 2000);
}
