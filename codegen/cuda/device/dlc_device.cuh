//===- dlc_device.cuh - the dlc:: vocabulary of emitted kernels -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every CUDA kernel that dlc emits is written in the words of this header and of nothing else: no
// CUDA or C++ library header, which keeps a compile at tens of milliseconds. There are two
// implementations of the machine-dependent words: PTX and NVRTC builtins (below), and the host C++
// of the emulator (dlc_emu.h, chosen by -DDLC_EMU). What can be said in plain C++ is said once, in
// dlc_math.cuh, for both. Each word gives the same bits on both, NaN payloads apart.
//
// Asynchronous copies are in dlc_async.cuh, tensor cores in dlc_mma.cuh.
//===----------------------------------------------------------------------===//
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;

#ifdef DLC_EMU
#include "dlc_emu.h"
#else

/// A function of device code.
#define DLC_DEV __device__ __forceinline__
/// A kernel of at most `threads` threads a block.
#define DLC_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
/// The same, with at least `blocks` blocks resident on a multiprocessor.
#define DLC_KERNEL_OCCUPANCY(threads, blocks)                                                      \
  extern "C" __global__ void __launch_bounds__(threads, blocks)
/// The same for blocks in clusters of `blocks`, neighbours along the grid's x, of which the grid
/// has a multiple. For sm_90 and later: dlc_cluster.cuh.
#define DLC_KERNEL_CLUSTER(threads, blocks)                                                        \
  extern "C" __global__ void __cluster_dims__(blocks, 1, 1) __launch_bounds__(threads)
/// Static shared memory: DLC_SHARED(float, red, [32]);
#define DLC_SHARED(T, name, ...) __shared__ T name __VA_ARGS__
/// The launch's dynamic shared memory as a u8 pointer, aligned to 1024 bytes.
#define DLC_DYN_SMEM(name) extern __shared__ __align__(1024) u8 name[]
/// Marks a kernel parameter that is read in place, as a tensor map must be.
#define DLC_GRID_CONST const __grid_constant__

namespace dlc {

/// IEEE binary16 and bfloat16 as storage; arithmetic happens in float.
struct f16 {
  u16 x;
};
struct bf16 {
  u16 x;
};

//===-- Bits --------------------------------------------------------------===//

DLC_DEV i32 bits_of(float v) { return __float_as_int(v); }
DLC_DEV i64 bits_of(double v) { return __double_as_longlong(v); }
DLC_DEV float f32_from_bits(i32 b) { return __int_as_float(b); }
DLC_DEV double f64_from_bits(i64 b) { return __longlong_as_double(b); }

//===-- Arithmetic that must round in one known way -----------------------===//

DLC_DEV float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
DLC_DEV double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
DLC_DEV float sqrt(float v) { return __fsqrt_rn(v); }
DLC_DEV double sqrt(double v) { return __dsqrt_rn(v); }
DLC_DEV float div(float a, float b) { return __fdiv_rn(a, b); }
DLC_DEV double div(double a, double b) { return __ddiv_rn(a, b); }
/// 1 / v rounded to nearest for 1 <= v <= 2^126, NaN for NaN: what division does with such numbers,
/// without its tests for others.
DLC_DEV float reciprocal(float v) {
  float r;
  asm("rcp.approx.ftz.f32 %0,%1;" : "=f"(r) : "f"(v));
  return __fmaf_rn(r, __fmaf_rn(-v, r, 1.0f), r);
}
/// Without the sign: part of the instruction that reads it.
DLC_DEV float abs(float v) { return ::fabsf(v); }
DLC_DEV double abs(double v) { return ::fabs(v); }
DLC_DEV float floor(float v) { return ::floorf(v); }
DLC_DEV double floor(double v) { return ::floor(v); }
DLC_DEV float ceil(float v) { return ::ceilf(v); }
DLC_DEV double ceil(double v) { return ::ceil(v); }
DLC_DEV float trunc(float v) { return ::truncf(v); }
DLC_DEV double trunc(double v) { return ::trunc(v); }
/// Nearest integer, ties to even.
DLC_DEV float rint(float v) { return ::rintf(v); }
DLC_DEV double rint(double v) { return ::rint(v); }
/// The larger; NaN if either is NaN; +0 above -0.
DLC_DEV float max(float a, float b) {
  float r;
  asm("max.NaN.f32 %0,%1,%2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
DLC_DEV float min(float a, float b) {
  float r;
  asm("min.NaN.f32 %0,%1,%2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
/// 2^v with a relative error of up to 2^-22. Results below the smallest normal number are 0.
DLC_DEV float exp2_fast(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0,%1;" : "=f"(r) : "f"(v));
  return r;
}

//===-- Conversions -------------------------------------------------------===//

DLC_DEV float to_f(float v) { return v; }
DLC_DEV float to_f(f16 v) {
  float r;
  asm("cvt.f32.f16 %0,%1;" : "=f"(r) : "h"(v.x));
  return r;
}
// Said as a pair of halves: then the upper of two neighbours in a register takes one instruction.
DLC_DEV float to_f(bf16 v) {
  float r;
  asm("mov.b32 %0,{%1,%2};" : "=f"(r) : "h"((u16)0), "h"(v.x));
  return r;
}

/// Rounds to nearest even; NaN becomes 0x7fff.
template <class T> DLC_DEV T from_f(float v);
template <> DLC_DEV float from_f<float>(float v) { return v; }
template <> DLC_DEV f16 from_f<f16>(float v) {
  f16 r;
  asm("cvt.rn.f16.f32 %0,%1;" : "=h"(r.x) : "f"(v));
  return r;
}
template <> DLC_DEV bf16 from_f<bf16>(float v) {
  bf16 r;
  asm("cvt.rn.bf16.f32 %0,%1;" : "=h"(r.x) : "f"(v));
  return r;
}
/// Two values rounded and packed, `lo` in the low half.
template <class T> DLC_DEV u32 pack2(float lo, float hi);
template <> DLC_DEV u32 pack2<f16>(float lo, float hi) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0,%1,%2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
template <> DLC_DEV u32 pack2<bf16>(float lo, float hi) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0,%1,%2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}

/// Float to integer, saturating, NaN to 0: `_rn` to nearest even, `_rz` towards zero.
DLC_DEV i32 to_i32_rn(float v) { return __float2int_rn(v); }
DLC_DEV i32 to_i32_rz(float v) { return __float2int_rz(v); }
DLC_DEV u32 to_u32_rz(float v) { return __float2uint_rz(v); }
DLC_DEV i64 to_i64_rn(float v) { return v != v ? 0 : __float2ll_rn(v); }
DLC_DEV i64 to_i64_rz(float v) { return v != v ? 0 : __float2ll_rz(v); }
DLC_DEV u64 to_u64_rz(float v) { return v != v ? 0 : __float2ull_rz(v); }
DLC_DEV i32 to_i32_rn(double v) { return v != v ? 0 : __double2int_rn(v); }
DLC_DEV i32 to_i32_rz(double v) { return v != v ? 0 : __double2int_rz(v); }
DLC_DEV u32 to_u32_rz(double v) { return v != v ? 0 : __double2uint_rz(v); }
DLC_DEV i64 to_i64_rn(double v) { return v != v ? 0 : __double2ll_rn(v); }
DLC_DEV i64 to_i64_rz(double v) { return v != v ? 0 : __double2ll_rz(v); }
DLC_DEV u64 to_u64_rz(double v) { return v != v ? 0 : __double2ull_rz(v); }

//===-- The warp ----------------------------------------------------------===//
// All 32 lanes must call these together. T: i32, u32, i64, u64, float, double.

template <class T> DLC_DEV T shfl(T v, int lane) { return __shfl_sync(0xffffffffu, v, lane); }
template <class T> DLC_DEV T shfl_xor(T v, int mask) {
  return __shfl_xor_sync(0xffffffffu, v, mask);
}
/// Lanes that would read past the end of the warp get their own value.
template <class T> DLC_DEV T shfl_down(T v, int by) { return __shfl_down_sync(0xffffffffu, v, by); }
template <class T> DLC_DEV T shfl_up(T v, int by) { return __shfl_up_sync(0xffffffffu, v, by); }
DLC_DEV u32 ballot(bool p) { return __ballot_sync(0xffffffffu, p); }
/// Orders the warp's accesses to memory as well.
DLC_DEV void warp_barrier() { __syncwarp(); }

//===-- The block and the grid --------------------------------------------===//

/// Waits for all threads of the block and orders their accesses to memory.
DLC_DEV void barrier() { __syncthreads(); }
/// Makes this thread's writes visible to the device before its later ones.
DLC_DEV void fence() { __threadfence(); }

/// Read-modify-write without tearing; each returns the old value. Integers wrap.
DLC_DEV i32 atomic_add(i32 *p, i32 v) { return ::atomicAdd(p, v); }
DLC_DEV u32 atomic_add(u32 *p, u32 v) { return ::atomicAdd(p, v); }
DLC_DEV u64 atomic_add(u64 *p, u64 v) { return ::atomicAdd(p, v); }
DLC_DEV i64 atomic_add(i64 *p, i64 v) { return (i64)::atomicAdd((u64 *)p, (u64)v); }
DLC_DEV float atomic_add(float *p, float v) { return ::atomicAdd(p, v); }
DLC_DEV double atomic_add(double *p, double v) { return ::atomicAdd(p, v); }
DLC_DEV i32 atomic_max(i32 *p, i32 v) { return ::atomicMax(p, v); }
DLC_DEV i32 atomic_min(i32 *p, i32 v) { return ::atomicMin(p, v); }
DLC_DEV i64 atomic_max(i64 *p, i64 v) { return ::atomicMax(p, v); }
DLC_DEV i64 atomic_min(i64 *p, i64 v) { return ::atomicMin(p, v); }
DLC_DEV u32 atomic_exchange(u32 *p, u32 v) { return ::atomicExch(p, v); }
DLC_DEV u32 atomic_cas(u32 *p, u32 expected, u32 desired) {
  return ::atomicCAS(p, expected, desired);
}

/// Before a kernel reads or writes device memory, but for weights, which nothing writes while
/// kernels run: waits until the grids before it in its stream have ended and shows what they wrote,
/// then lets the next grid's blocks take their places, where they wait likewise. So what a launch
/// overlaps is another's end, and never its memory. The other order is slower: an H100 took 0.59 ms
/// for BERT-base in place of 0.52. Without effect before sm_90, and in launches that begin in order
/// anyway.
DLC_DEV void begin_grid() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits for all blocks of a cooperative launch. `counter`: one word of device memory, zero before
/// the first use; its high bit tells the rounds apart, and a later launch goes on from where it is.
DLC_DEV void grid_barrier(u32 *counter) {
  __syncthreads();
  if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
    u32 blocks = gridDim.x * gridDim.y * gridDim.z;
    bool first = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
    __threadfence();
    u32 old = ::atomicAdd(counter, first ? 0x80000000u - (blocks - 1) : 1u);
    u32 now;
    do {
      asm volatile("ld.acquire.gpu.u32 %0,[%1];" : "=r"(now) : "l"(counter) : "memory");
    } while (((old ^ now) & 0x80000000u) == 0);
  }
  __syncthreads();
}

/// Bytes of the launch's dynamic shared memory.
DLC_DEV u32 dynamic_shared_bytes() {
  u32 r;
  asm("mov.u32 %0,%%dynamic_smem_size;" : "=r"(r));
  return r;
}
/// A generic pointer into shared memory as the 32-bit address that PTX wants.
DLC_DEV u32 smem_u32(const void *p) { return (u32)__cvta_generic_to_shared(p); }

/// Hooks of the emulator's checker: a vector access of `bytes`, aligned to as much.
template <class T> DLC_DEV void note_load(const T *) {}
template <class T> DLC_DEV void note_store(T *) {}

} // namespace dlc
#endif // DLC_EMU

#include "dlc_math.cuh"
