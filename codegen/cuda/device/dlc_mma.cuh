//===- dlc_mma.cuh - tensor cores -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma.sync for sm_80 and later in f16, bf16 and tf32, with float accumulators, of bytes, with i32
// ones, and of e4m3, as f16; mma.sp, of which one operand has two of each four elements; what
// orders the wgmma of dlc_wgmma.cuh. A call covers a warp's whole tile: in the emulator each call
// is one meeting of the warp.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_async.cuh"

#ifdef DLC_EMU
#include "dlc_emu_mma.h"
#else

namespace dlc {

//===-- mma.sync (sm_80) --------------------------------------------------===//

/// Four 8x8 matrices of 16-bit values; lane l gives the address of row l%8 of matrix l/8.
DLC_DEV void ldmatrix_x4(u32 (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(smem_u32(row))
               : "memory");
}
DLC_DEV void ldmatrix_x4_trans(u32 (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(smem_u32(row))
               : "memory");
}

#define DLC_MMA_M16N8K16(type)                                                                     \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                      \
               "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"                                \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

/// d += a * b on 16x8x16. Elements lie in the lanes as the PTX manual lays them out.
template <class T> DLC_DEV void mma_m16n8k16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1);
template <> DLC_DEV void mma_m16n8k16<f16>(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  DLC_MMA_M16N8K16("f16");
}
template <> DLC_DEV void mma_m16n8k16<bf16>(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  DLC_MMA_M16N8K16("bf16");
}
#undef DLC_MMA_M16N8K16

/// The bits of a float rounded to the 11 significant bits of tf32: to nearest, ties away from zero.
DLC_DEV u32 tf32_bits(u32 v) {
  u32 r;
  asm("cvt.rna.tf32.f32 %0,%1;" : "=r"(r) : "f"(f32_from_bits((i32)v)));
  return r;
}
/// d += a * b on 16x8x8 of tf32.
DLC_DEV void mma_m16n8k8(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
               "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// MI x NJ of them; b[j] holds the operands of tiles 2j and 2j+1. T float: 8 steps of k, of
/// operands in tf32.
template <class T, int MI, int NJ>
DLC_DEV void mma_tile(float (&d)[MI][NJ][4], const u32 (&a)[MI][4],
                      const u32 (&b)[(NJ + 1) / 2][4]) {
#pragma unroll
  for (int i = 0; i < MI; ++i)
#pragma unroll
    for (int j = 0; j < NJ; ++j)
      if constexpr (sizeof(T) == 4)
        mma_m16n8k8(d[i][j], a[i], b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
      else
        mma_m16n8k16<T>(d[i][j], a[i], b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
}

#define DLC_MMA_M16N8K32(a_type, b_type)                                                           \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." a_type "." b_type ".s32 "                  \
               "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"                                \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

/// d += a * b on 16x8x32 of bytes, each operand's with a sign or without. Exact; sums wrap. A
/// lane's registers hold four neighbours along k where those of mma_m16n8k16 hold two.
template <bool SIGNED_A, bool SIGNED_B>
DLC_DEV void mma_m16n8k32(i32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (SIGNED_A && SIGNED_B)
    DLC_MMA_M16N8K32("s8", "s8");
  else if constexpr (SIGNED_A)
    DLC_MMA_M16N8K32("s8", "u8");
  else if constexpr (SIGNED_B)
    DLC_MMA_M16N8K32("u8", "s8");
  else
    DLC_MMA_M16N8K32("u8", "u8");
}
#undef DLC_MMA_M16N8K32

/// MI x NJ of them; b[j] holds the operands of tiles 2j and 2j+1.
template <bool SIGNED_A, bool SIGNED_B, int MI, int NJ>
DLC_DEV void mma_tile_bytes(i32 (&d)[MI][NJ][4], const u32 (&a)[MI][4], const u32 (&b)[NJ / 2][4]) {
#pragma unroll
  for (int i = 0; i < MI; ++i)
#pragma unroll
    for (int j = 0; j < NJ; ++j)
      mma_m16n8k32<SIGNED_A, SIGNED_B>(d[i][j], a[i], b[j >> 1][(j & 1) * 2],
                                       b[j >> 1][(j & 1) * 2 + 1]);
}

// The manual advises ordered places: mma.sp alone may be much slower on some GPUs.
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1205
#define DLC_MMA_SP "mma.sp::ordered_metadata"
#else
#define DLC_MMA_SP "mma.sp"
#endif
#define DLC_MMA_SPARSE(type)                                                                       \
  asm volatile(DLC_MMA_SP ".sync.aligned.m16n8k32.row.col.f32." type "." type ".f32 "              \
                          "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9,%10,%11},{%0,%1,%2,%3},%12,0x0;"     \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),      \
                 "r"(b[3]), "r"(places))

/// d += a * b on 16x8x32, as mma_tile_sparse says.
template <class T>
DLC_DEV void mma_sparse_m16n8k32(float (&d)[4], const u32 (&a)[4], u32 places, const u32 (&b)[4]);
template <>
DLC_DEV void mma_sparse_m16n8k32<f16>(float (&d)[4], const u32 (&a)[4], u32 places,
                                      const u32 (&b)[4]) {
  DLC_MMA_SPARSE("f16");
}
template <>
DLC_DEV void mma_sparse_m16n8k32<bf16>(float (&d)[4], const u32 (&a)[4], u32 places,
                                       const u32 (&b)[4]) {
  DLC_MMA_SPARSE("bf16");
}
#undef DLC_MMA_SPARSE
#undef DLC_MMA_SP

/// d += a * b on MI x NJ of 16x8x32, where two of each four neighbours along k of a are stored, the
/// others are 0. T is f16 or bf16.
/// - `a` holds the 16 stored columns as that of mma_tile holds its 16.
/// - `places` says at which of its four each stored element stands, in two bits; the two of a four
///   ascend. Lane l with l % 4 of 0 holds those of steps 0-15 of k, with 1 those of steps 16-31: in
///   the low half, the lowest bits first, the 8 of row l / 4, in the high half those of row
///   l / 4 + 8. Those of the other lanes are not read.
/// - `b[j]` holds tile j: register r of lane l the steps 8r + 2(l % 4) and the next of column l /
///   4.
template <class T, int MI, int NJ>
DLC_DEV void mma_tile_sparse(float (&d)[MI][NJ][4], const u32 (&a)[MI][4], const u32 (&places)[MI],
                             const u32 (&b)[NJ][4]) {
#pragma unroll
  for (int i = 0; i < MI; ++i)
#pragma unroll
    for (int j = 0; j < NJ; ++j)
      mma_sparse_m16n8k32<T>(d[i][j], a[i], places[i], b[j]);
}

/// `total` and the four bytes of `four`.
template <bool SIGNED> DLC_DEV i32 add_bytes(u32 four, i32 total) {
  if constexpr (SIGNED)
    asm("dp4a.s32.s32 %0,%1,%2,%0;" : "+r"(total) : "r"(four), "r"(0x01010101u));
  else
    asm("dp4a.u32.u32 %0,%1,%2,%0;" : "+r"(total) : "r"(four), "r"(0x01010101u));
  return total;
}

/// The f16 that the two e4m3 in the lower half of `pair` are: every number of e4m3 is one of f16.
DLC_DEV u32 halves_of_float8(u32 pair) {
  u32 r;
#if __CUDA_ARCH__ >= 890
  asm("cvt.rn.f16x2.e4m3x2 %0,%1;" : "=r"(r) : "h"((u16)pair));
#else
  // As bits of an f16, exponent and mantissa are 2^-8 of the number, numbers below the smallest
  // normal one included.
  u32 apart = (pair & 0xffu) | (pair & 0xff00u) << 8, magnitude = apart & 0x007f007fu;
  asm("mul.rn.f16x2 %0,%1,%2;" : "=r"(r) : "r"(magnitude << 7), "r"(0x5c005c00u));
  u32 is_nan = (magnitude + 0x00010001u) & 0x00800080u;
  r |= (apart & 0x00800080u) << 8 | ((is_nan << 8) - (is_nan << 2));
#endif
  return r;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
//===-- wgmma (sm_90a): all 128 threads of a warpgroup together -----------===//

/// Before the first wgmma, and between plain writes to its registers and the next one.
DLC_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DLC_DEV void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most N groups are in flight; before that the accumulators are not to be read.
template <int N> DLC_DEV void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
/// Moves registers between warpgroups: N a thread from here on, a multiple of 8.
template <int N> DLC_DEV void reg_dealloc() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N> DLC_DEV void reg_alloc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
#endif // sm_90a

} // namespace dlc
#endif // DLC_EMU

namespace dlc {

/// MI x NJ products of 16x8x32 of e4m3, whose elements lie in the lanes as those of mma_tile_bytes
/// do, as f16: exact products, added in f32. Of the four neighbours along k in a register, two are
/// multiplied at a time, the same ones of both operands.
template <int MI, int NJ>
DLC_DEV void mma_tile_float8(float (&d)[MI][NJ][4], const u32 (&a)[MI][4],
                             const u32 (&b)[NJ / 2][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    u32 halves_a[MI][4], halves_b[NJ / 2][4];
#pragma unroll
    for (int i = 0; i < MI; ++i)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        halves_a[i][r] = halves_of_float8(a[i][r] >> half * 16);
#pragma unroll
    for (int j = 0; j < NJ / 2; ++j)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        halves_b[j][r] = halves_of_float8(b[j][r] >> half * 16);
    mma_tile<f16, MI, NJ>(d, halves_a, halves_b);
  }
}

} // namespace dlc
