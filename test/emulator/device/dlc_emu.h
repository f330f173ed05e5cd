//===- dlc_emu.h - the vocabulary's machine-dependent words on the host ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for the PTX half of dlc_device.cuh when a kernel is compiled for the emulator. The fake
// NVRTC carries this file inside and adds it to each compile.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_emu_abi.h"

// As in dlc_device.cuh: this file comes first, so that plain CUDA text compiles as well.
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;

// CUDA words that kernel text uses directly.
#define threadIdx (dlcEmuSelf->index)
#define blockIdx (dlcEmuSelf->block->index)
#define blockDim (dlcEmuSelf->block->dim)
#define gridDim (dlcEmuSelf->block->grid)
#define __restrict__ __restrict
#define __device__
#define __global__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __syncthreads() dlc::barrier(__FILE__, __LINE__)

#define DLC_DEV inline __attribute__((always_inline))
#define DLC_KERNEL(threads) extern "C" __attribute__((noinline)) void
#define DLC_KERNEL_OCCUPANCY(threads, blocks) DLC_KERNEL(threads)
#define DLC_KERNEL_CLUSTER(threads, blocks) DLC_KERNEL(threads)
#define DLC_SHARED(T, name, ...)                                                                   \
  typedef T name##_type __VA_ARGS__;                                                               \
  static const char name##_key = 0;                                                                \
  name##_type &name = *static_cast<name##_type *>(                                                 \
      dlcEmuShared(&name##_key, sizeof(name##_type), alignof(name##_type), #name))
#define DLC_DYN_SMEM(name) u8 *name = dlcEmuSelf->block->shared + dlcEmuSelf->block->dynamicOffset
#define DLC_GRID_CONST const

using size_t = __SIZE_TYPE__;

namespace dlc {

struct f16 {
  u16 x;
};
struct bf16 {
  u16 x;
};

template <class To, class From> DLC_DEV To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast between sizes");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
DLC_DEV i32 bits_of(float v) { return bit_cast<i32>(v); }
DLC_DEV i64 bits_of(double v) { return bit_cast<i64>(v); }
DLC_DEV float f32_from_bits(i32 b) { return bit_cast<float>(b); }
DLC_DEV double f64_from_bits(i64 b) { return bit_cast<double>(b); }

// Compiled with -ffp-contract=off: these round once, all else at each operation.
DLC_DEV float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DLC_DEV double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
DLC_DEV float sqrt(float v) { return __builtin_sqrtf(v); }
DLC_DEV double sqrt(double v) { return __builtin_sqrt(v); }
DLC_DEV float div(float a, float b) { return a / b; }
DLC_DEV double div(double a, double b) { return a / b; }
DLC_DEV float reciprocal(float v) { return 1.0f / v; }
DLC_DEV float abs(float v) { return __builtin_fabsf(v); }
DLC_DEV double abs(double v) { return __builtin_fabs(v); }
DLC_DEV float floor(float v) { return __builtin_floorf(v); }
DLC_DEV double floor(double v) { return __builtin_floor(v); }
DLC_DEV float ceil(float v) { return __builtin_ceilf(v); }
DLC_DEV double ceil(double v) { return __builtin_ceil(v); }
DLC_DEV float trunc(float v) { return __builtin_truncf(v); }
DLC_DEV double trunc(double v) { return __builtin_trunc(v); }
DLC_DEV float rint(float v) { return __builtin_rintf(v); }
DLC_DEV double rint(double v) { return __builtin_rint(v); }
DLC_DEV float exp2_fast(float v) {
  float power = __builtin_exp2f(v);
  return power < 0x1p-126f ? 0.0f : power;
}
// max.NaN gives the canonical NaN; where both are equal, +0 and -0 are told apart by their bits.
DLC_DEV float max(float a, float b) {
  return a != a || b != b ? f32_from_bits(0x7fffffff)
         : a == b         ? f32_from_bits(bits_of(a) & bits_of(b))
         : a > b          ? a
                          : b;
}
DLC_DEV float min(float a, float b) {
  return a != a || b != b ? f32_from_bits(0x7fffffff)
         : a == b         ? f32_from_bits(bits_of(a) | bits_of(b))
         : a < b          ? a
                          : b;
}

DLC_DEV float to_f(float v) { return v; }
DLC_DEV float to_f(f16 v) { return (float)bit_cast<_Float16>(v); }
DLC_DEV float to_f(bf16 v) { return f32_from_bits((i32)((u32)v.x << 16)); }
template <class T> DLC_DEV T from_f(float v);
template <> DLC_DEV float from_f<float>(float v) { return v; }
template <> DLC_DEV f16 from_f<f16>(float v) {
  return v != v ? f16{0x7fff} : bit_cast<f16>((_Float16)v);
}
template <> DLC_DEV bf16 from_f<bf16>(float v) {
  u32 bits = (u32)bits_of(v);
  return v != v ? bf16{0x7fff} : bf16{(u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}
template <class T> DLC_DEV u32 pack2(float lo, float hi) {
  return (u32)from_f<T>(lo).x | ((u32)from_f<T>(hi).x << 16);
}

// A C++ cast out of range is undefined, so the limits are tested first. `limit` is 2^(bits-1) (or
// 2^bits for unsigned), which both float types represent.
template <class I, class F> DLC_DEV I to_int_saturating(F v, F low, F limit, I lowest, I highest) {
  return v != v ? (I)0 : v < low ? lowest : v >= limit ? highest : (I)v;
}
template <class F> DLC_DEV i32 to_i32(F v) {
  return to_int_saturating<i32, F>(v, -2147483648.0, 2147483648.0, -2147483647 - 1, 2147483647);
}
template <class F> DLC_DEV i64 to_i64(F v) {
  return to_int_saturating<i64, F>(v, -9223372036854775808.0, 9223372036854775808.0,
                                   -9223372036854775807ll - 1, 9223372036854775807ll);
}
template <class F> DLC_DEV u32 to_u32(F v) {
  return to_int_saturating<u32, F>(v, 0, 4294967296.0, 0u, 4294967295u);
}
template <class F> DLC_DEV u64 to_u64(F v) {
  return to_int_saturating<u64, F>(v, 0, 18446744073709551616.0, 0ull, 18446744073709551615ull);
}
DLC_DEV i32 to_i32_rn(float v) { return to_i32(rint(v)); }
DLC_DEV i32 to_i32_rz(float v) { return to_i32(trunc(v)); }
DLC_DEV u32 to_u32_rz(float v) { return to_u32(trunc(v)); }
DLC_DEV i64 to_i64_rn(float v) { return to_i64(rint(v)); }
DLC_DEV i64 to_i64_rz(float v) { return to_i64(trunc(v)); }
DLC_DEV u64 to_u64_rz(float v) { return to_u64(trunc(v)); }
DLC_DEV i32 to_i32_rn(double v) { return to_i32(rint(v)); }
DLC_DEV i32 to_i32_rz(double v) { return to_i32(trunc(v)); }
DLC_DEV u32 to_u32_rz(double v) { return to_u32(trunc(v)); }
DLC_DEV i64 to_i64_rn(double v) { return to_i64(rint(v)); }
DLC_DEV i64 to_i64_rz(double v) { return to_i64(trunc(v)); }
DLC_DEV u64 to_u64_rz(double v) { return to_u64(trunc(v)); }

template <class T> DLC_DEV T exchange(T v, int source, int op) {
  u64 word = 0;
  __builtin_memcpy(&word, &v, sizeof v);
  word = dlcEmuShuffle(word, source, op);
  __builtin_memcpy(&v, &word, sizeof v);
  return v;
}
template <class T> DLC_DEV T shfl(T v, int lane) {
  return exchange(v, lane & 31, DlcEmuShuffleIndex);
}
template <class T> DLC_DEV T shfl_xor(T v, int mask) {
  return exchange(v, dlcEmuSelf->lane ^ (mask & 31), DlcEmuShuffleXor);
}
template <class T> DLC_DEV T shfl_down(T v, int by) {
  int source = dlcEmuSelf->lane + by;
  return exchange(v, source > 31 ? dlcEmuSelf->lane : source, DlcEmuShuffleDown);
}
template <class T> DLC_DEV T shfl_up(T v, int by) {
  int source = dlcEmuSelf->lane - by;
  return exchange(v, source < 0 ? dlcEmuSelf->lane : source, DlcEmuShuffleUp);
}
DLC_DEV u32 ballot(bool p) { return dlcEmuBallot(p); }
DLC_DEV void warp_barrier(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  dlcEmuWarpSync(file, line);
}
DLC_DEV void barrier(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  dlcEmuBarrier(file, line);
}
DLC_DEV void begin_grid() { dlcEmuBeginGrid(); }
DLC_DEV void grid_barrier(u32 *) { dlcEmuGridBarrier(); }
DLC_DEV void fence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#ifdef DLC_EMU_CHECKED
  dlcEmuFence();
#endif
}

// In a checked compile the vocabulary reports its own accesses where instrumentation would see
// something else than the GPU: vectors (for their alignment) and atomics (which do not race).
#ifdef DLC_EMU_CHECKED
template <class T> DLC_DEV void note_load(const T *p) {
  dlcEmuAccess(p, sizeof(T), DlcEmuLoad | DlcEmuVector);
}
template <class T> DLC_DEV void note_store(T *p) {
  dlcEmuAccess(p, sizeof(T), DlcEmuStore | DlcEmuVector);
}
template <class T> DLC_DEV void note_atomic(T *p) {
  dlcEmuAccess(p, sizeof(T), DlcEmuStore | DlcEmuAtomic | DlcEmuVector);
}
#else
template <class T> DLC_DEV void note_load(const T *) {}
template <class T> DLC_DEV void note_store(T *) {}
template <class T> DLC_DEV void note_atomic(T *) {}
#endif

// Kept out of line in a checked compile: inlined, its plain load would be reported as a race.
#ifdef DLC_EMU_CHECKED
#define DLC_EMU_UNSEEN __attribute__((noinline, no_sanitize("coverage")))
#else
#define DLC_EMU_UNSEEN DLC_DEV
#endif

/// Applies `change` to the bits at `p` without tearing. Bits: u32 or u64 of T's size.
template <class Bits, class T, class Change> DLC_EMU_UNSEEN T atomic_update(T *p, Change change) {
  static_assert(sizeof(Bits) == sizeof(T), "word of another size");
  note_atomic(p);
  Bits *word = reinterpret_cast<Bits *>(p);
  Bits old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, bit_cast<Bits>(change(bit_cast<T>(old))), true,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return bit_cast<T>(old);
}
DLC_DEV i32 atomic_add(i32 *p, i32 v) {
  return atomic_update<u32>(p, [=](i32 old) { return (i32)((u32)old + (u32)v); });
}
DLC_DEV u32 atomic_add(u32 *p, u32 v) {
  return atomic_update<u32>(p, [=](u32 old) { return old + v; });
}
DLC_DEV i64 atomic_add(i64 *p, i64 v) {
  return atomic_update<u64>(p, [=](i64 old) { return (i64)((u64)old + (u64)v); });
}
DLC_DEV u64 atomic_add(u64 *p, u64 v) {
  return atomic_update<u64>(p, [=](u64 old) { return old + v; });
}
DLC_DEV float atomic_add(float *p, float v) {
  return atomic_update<u32>(p, [=](float old) { return old + v; });
}
DLC_DEV double atomic_add(double *p, double v) {
  return atomic_update<u64>(p, [=](double old) { return old + v; });
}
DLC_DEV i32 atomic_max(i32 *p, i32 v) {
  return atomic_update<u32>(p, [=](i32 old) { return old > v ? old : v; });
}
DLC_DEV i32 atomic_min(i32 *p, i32 v) {
  return atomic_update<u32>(p, [=](i32 old) { return old < v ? old : v; });
}
DLC_DEV i64 atomic_max(i64 *p, i64 v) {
  return atomic_update<u64>(p, [=](i64 old) { return old > v ? old : v; });
}
DLC_DEV i64 atomic_min(i64 *p, i64 v) {
  return atomic_update<u64>(p, [=](i64 old) { return old < v ? old : v; });
}
DLC_DEV u32 atomic_exchange(u32 *p, u32 v) {
  return atomic_update<u32>(p, [=](u32) { return v; });
}
DLC_DEV u32 atomic_cas(u32 *p, u32 expected, u32 desired) {
  return atomic_update<u32>(p, [=](u32 old) { return old == expected ? desired : old; });
}

DLC_DEV u32 dynamic_shared_bytes() { return dlcEmuSelf->block->dynamicBytes; }
DLC_DEV u32 smem_u32(const void *p) { return dlcEmuSharedAddress(p); }

} // namespace dlc
