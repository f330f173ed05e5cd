//===- dlc_wgmma.cuh - Hopper's tensor cores (sm_90a) ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma in f16, bf16, tf32 and e4m3 with float accumulators, and of bytes, with i32 ones: operands
// lie in shared memory with the 128-byte swizzle, as TMA brings them; in the 16-bit types and e4m3
// A may lie in registers, in the former it may have two of each four elements. All 128 threads of
// a warpgroup call together; the order of calls is wgmma_fence, wgmma ..., wgmma_commit,
// wgmma_wait (dlc_mma.cuh).
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_mma.cuh"

#if defined(DLC_EMU) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
/// Text for sm_90a stands under this: for other GPUs it compiles to nothing.
#define DLC_HAS_WGMMA 1

namespace dlc {

/// Where in shared memory an operand begins whose elements lie together along k: rows of 128 bytes
/// with the 128-byte swizzle, groups of eight rows 1024 bytes apart. Adding 2 moves 32 bytes along
/// k.
DLC_DEV u64 wgmma_along_k(const void *p) {
  u64 address = (smem_u32(p) & 0x3ffffu) >> 4;
  return address | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}
/// The same for one whose 16-bit elements lie together along the rows of A, or the columns of B: 64
/// of them in 128 bytes, neighbouring steps of k 128 bytes apart, the next 64 of them `block` bytes
/// further. Adding 128 moves 16 steps along k.
DLC_DEV u64 wgmma_along_rows(const void *p, int block) {
  u64 address = (smem_u32(p) & 0x3ffffu) >> 4;
  return address | (u64)(block >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

#ifndef DLC_EMU

#define DLC_ACC8(kind, n)                                                                          \
  kind(d[n]), kind(d[n + 1]), kind(d[n + 2]), kind(d[n + 3]), kind(d[n + 4]), kind(d[n + 5]),      \
      kind(d[n + 6]), kind(d[n + 7])
#define DLC_ACC32(kind, n)                                                                         \
  DLC_ACC8(kind, n), DLC_ACC8(kind, n + 8), DLC_ACC8(kind, n + 16), DLC_ACC8(kind, n + 24)

#define DLC_REGISTERS_64                                                                           \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"                        \
  "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31},"
#define DLC_WGMMA_64(kind, k, types, scales)                                                       \
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate,%34,0;\n"                        \
               "wgmma.mma_async.sync.aligned.m64n64k" k types " " DLC_REGISTERS_64                 \
               "%32,%33,accumulate" scales ";\n}"                                                  \
               : DLC_ACC32(kind, 0)                                                                \
               : "l"(a), "l"(b), "r"((int)accumulate))
#define DLC_WGMMA_HELD_64(k, types, scales)                                                        \
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate,%37,0;\n"                        \
               "wgmma.mma_async.sync.aligned.m64n64k" k types " " DLC_REGISTERS_64                 \
               "{%32,%33,%34,%35},%36,accumulate" scales ";\n}"                                    \
               : DLC_ACC32("+f", 0)                                                                \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)accumulate))
#define DLC_WGMMA_SPARSE_64(type)                                                                  \
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate,%35,0;\n"                        \
               "wgmma.mma_async.sp.sync.aligned.m64n64k32.f32." type "." type " " DLC_REGISTERS_64 \
               "%32,%33,%34,0,accumulate,1,1,0,0;\n}"                                              \
               : DLC_ACC32("+f", 0)                                                                \
               : "l"(a), "l"(b), "r"(places), "r"((int)accumulate))

#define DLC_REGISTERS_128                                                                          \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"                        \
  "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,"                           \
  "%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,"                           \
  "%54,%55,%56,%57,%58,%59,%60,%61,%62,%63},"
#define DLC_WGMMA_128(kind, k, types, scales)                                                      \
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate,%66,0;\n"                        \
               "wgmma.mma_async.sync.aligned.m64n128k" k types " " DLC_REGISTERS_128               \
               "%64,%65,accumulate" scales ";\n}"                                                  \
               : DLC_ACC32(kind, 0), DLC_ACC32(kind, 32)                                           \
               : "l"(a), "l"(b), "r"((int)accumulate))
#define DLC_WGMMA_HELD_128(k, types, scales)                                                       \
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate,%69,0;\n"                        \
               "wgmma.mma_async.sync.aligned.m64n128k" k types " " DLC_REGISTERS_128               \
               "{%64,%65,%66,%67},%68,accumulate" scales ";\n}"                                    \
               : DLC_ACC32("+f", 0), DLC_ACC32("+f", 32)                                           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)accumulate))
#define DLC_WGMMA_SPARSE_128(type)                                                                 \
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate,%67,0;\n"                        \
               "wgmma.mma_async.sp.sync.aligned.m64n128k32.f32." type "." type                     \
               " " DLC_REGISTERS_128 "%64,%65,%66,0,accumulate,1,1,0,0;\n}"                        \
               : DLC_ACC32("+f", 0), DLC_ACC32("+f", 32)                                           \
               : "l"(a), "l"(b), "r"(places), "r"((int)accumulate))

#define DLC_REGISTERS_256                                                                          \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"                        \
  "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,"                           \
  "%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,"                           \
  "%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,"                           \
  "%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,"                           \
  "%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,"                           \
  "%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,"                         \
  "%118,%119,%120,%121,%122,%123,%124,%125,%126,%127},"
#define DLC_WGMMA_256(kind, k, types, scales)                                                      \
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate,%130,0;\n"                       \
               "wgmma.mma_async.sync.aligned.m64n256k" k types " " DLC_REGISTERS_256               \
               "%128,%129,accumulate" scales ";\n}"                                                \
               : DLC_ACC32(kind, 0), DLC_ACC32(kind, 32), DLC_ACC32(kind, 64), DLC_ACC32(kind, 96) \
               : "l"(a), "l"(b), "r"((int)accumulate))
#define DLC_WGMMA_HELD_256(k, types, scales)                                                       \
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate,%133,0;\n"                       \
               "wgmma.mma_async.sync.aligned.m64n256k" k types " " DLC_REGISTERS_256               \
               "{%128,%129,%130,%131},%132,accumulate" scales ";\n}"                               \
               : DLC_ACC32("+f", 0), DLC_ACC32("+f", 32), DLC_ACC32("+f", 64), DLC_ACC32("+f", 96) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)accumulate))
#define DLC_WGMMA_SPARSE_256(type)                                                                 \
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate,%131,0;\n"                       \
               "wgmma.mma_async.sp.sync.aligned.m64n256k32.f32." type "." type                     \
               " " DLC_REGISTERS_256 "%128,%129,%130,0,accumulate,1,1,0,0;\n}"                     \
               : DLC_ACC32("+f", 0), DLC_ACC32("+f", 32), DLC_ACC32("+f", 64), DLC_ACC32("+f", 96) \
               : "l"(a), "l"(b), "r"(places), "r"((int)accumulate))

/// d (+)= A(64x16) * B(16xN), of tf32 A(64x8) * B(8xN); adds to d if `accumulate`. ALONG_M,
/// ALONG_N: the operand's elements lie together along its rows (columns), in 16-bit types only.
/// Lane l of warp w holds of d, for each eight columns j, columns 8j+2(l%4) and the next: of row
/// 16w+l/4 in d[4j], d[4j+1], of row 16w+l/4+8 in d[4j+2], d[4j+3].
template <class T, int N, bool ALONG_M, bool ALONG_N>
DLC_DEV void wgmma(float (&d)[N / 2], u64 a, u64 b, bool accumulate);

#define DLC_WGMMA_MAJORS(N, T, name, along_m, along_n)                                             \
  template <>                                                                                      \
  DLC_DEV void wgmma<T, N, along_m, along_n>(float (&d)[N / 2], u64 a, u64 b, bool accumulate) {   \
    DLC_WGMMA_##N("+f", "16", ".f32." name "." name, ",1,1," #along_m "," #along_n);               \
  }
#define DLC_WGMMA_TYPE(N, T, name)                                                                 \
  DLC_WGMMA_MAJORS(N, T, name, 0, 0)                                                               \
  DLC_WGMMA_MAJORS(N, T, name, 0, 1)                                                               \
  DLC_WGMMA_MAJORS(N, T, name, 1, 0)                                                               \
  DLC_WGMMA_MAJORS(N, T, name, 1, 1)
#define DLC_WGMMA_COLUMNS(N)                                                                       \
  DLC_WGMMA_TYPE(N, f16, "f16")                                                                    \
  DLC_WGMMA_TYPE(N, bf16, "bf16")                                                                  \
  template <>                                                                                      \
  DLC_DEV void wgmma<float, N, 0, 0>(float (&d)[N / 2], u64 a, u64 b, bool accumulate) {           \
    DLC_WGMMA_##N("+f", "8", ".f32.tf32.tf32", ",1,1");                                            \
  }

/// d (+)= A(64x32) * B(32xN) of bytes, each operand's with a sign or without. Exact; sums wrap.
template <bool SIGNED_A, bool SIGNED_B, int N>
DLC_DEV void wgmma_bytes(i32 (&d)[N / 2], u64 a, u64 b, bool accumulate);
/// The same of e4m3. The hardware adds with some 14 bits: after 128 steps of k at the latest,
/// totals are to be added in float.
template <int N> DLC_DEV void wgmma_float8(float (&d)[N / 2], u64 a, u64 b, bool accumulate);

#define DLC_WGMMA_SIGNS(N, of_a, of_b, is_a, is_b)                                                 \
  template <>                                                                                      \
  DLC_DEV void wgmma_bytes<is_a, is_b, N>(i32(&d)[N / 2], u64 a, u64 b, bool accumulate) {         \
    DLC_WGMMA_##N("+r", "32", ".s32." of_a "." of_b, "");                                          \
  }
#define DLC_WGMMA_NARROW(N)                                                                        \
  DLC_WGMMA_SIGNS(N, "s8", "s8", true, true)                                                       \
  DLC_WGMMA_SIGNS(N, "s8", "u8", true, false)                                                      \
  DLC_WGMMA_SIGNS(N, "u8", "s8", false, true)                                                      \
  DLC_WGMMA_SIGNS(N, "u8", "u8", false, false)                                                     \
  template <> DLC_DEV void wgmma_float8<N>(float (&d)[N / 2], u64 a, u64 b, bool accumulate) {     \
    DLC_WGMMA_##N("+f", "32", ".f32.e4m3.e4m3", ",1,1");                                           \
  }

/// wgmma with A in registers, of which a thread holds pairs of neighbours along k: those of row
/// 16w+l/4 at steps 2(l%4) and the next in a[0], and 8 steps on in a[2]; of row 16w+l/4+8 in a[1]
/// and a[3]. Until the wait for the product they must stay as they are. `a` of 16 steps of k is so
/// what the accumulators of 16 neighbouring columns hold.
template <class T, int N, bool ALONG_N>
DLC_DEV void wgmma_held(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool accumulate);
/// The same of e4m3, as wgmma_float8: a word holds four neighbours along k, at steps 4(l%4) and 16
/// on.
template <int N>
DLC_DEV void wgmma_held_float8(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool accumulate);

#define DLC_WGMMA_HELD_FLOAT8(N)                                                                   \
  template <>                                                                                      \
  DLC_DEV void wgmma_held_float8<N>(float (&d)[N / 2], const u32(&a)[4], u64 b, bool accumulate) { \
    DLC_WGMMA_HELD_##N("32", ".f32.e4m3.e4m3", ",1,1");                                            \
  }
#define DLC_WGMMA_HELD_MAJOR(N, T, name, along_n)                                                  \
  template <>                                                                                      \
  DLC_DEV void wgmma_held<T, N, along_n>(float (&d)[N / 2], const u32(&a)[4], u64 b,               \
                                         bool accumulate) {                                        \
    DLC_WGMMA_HELD_##N("16", ".f32." name "." name, ",1,1," #along_n);                             \
  }
#define DLC_WGMMA_HELD_COLUMNS(N)                                                                  \
  DLC_WGMMA_HELD_MAJOR(N, f16, "f16", 0)                                                           \
  DLC_WGMMA_HELD_MAJOR(N, f16, "f16", 1)                                                           \
  DLC_WGMMA_HELD_MAJOR(N, bf16, "bf16", 0)                                                         \
  DLC_WGMMA_HELD_MAJOR(N, bf16, "bf16", 1)

/// d (+)= A(64x32) * B(32xN) of f16 or bf16, where two of each four neighbours along k of A are
/// stored, the others are 0. Both operands lie along k: `a` names the 64x16 stored elements, 32
/// bytes of a row, `b` 64 bytes of a column. `places` is as that of mma_tile_sparse, of the warp's
/// 16 rows; the manual does not count it among the registers that must stay until the wait.
template <class T, int N>
DLC_DEV void wgmma_sparse(float (&d)[N / 2], u64 a, u32 places, u64 b, bool accumulate);

#define DLC_WGMMA_SPARSE_TYPE(N, T, name)                                                          \
  template <>                                                                                      \
  DLC_DEV void wgmma_sparse<T, N>(float (&d)[N / 2], u64 a, u32 places, u64 b, bool accumulate) {  \
    DLC_WGMMA_SPARSE_##N(name);                                                                    \
  }
#define DLC_WGMMA_SPARSE_COLUMNS(N)                                                                \
  DLC_WGMMA_SPARSE_TYPE(N, f16, "f16")                                                             \
  DLC_WGMMA_SPARSE_TYPE(N, bf16, "bf16")

/// Four numbers rounded to the nearest e4m3, ties to even, `a` in the lowest byte: beyond 448 they
/// are that, NaN is 0x7f.
DLC_DEV u32 pack4_float8(float a, float b, float c, float d) {
  u16 low, high;
  u32 r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0,%1,%2;" : "=h"(low) : "f"(b), "f"(a));
  asm("cvt.rn.satfinite.e4m3x2.f32 %0,%1,%2;" : "=h"(high) : "f"(d), "f"(c));
  asm("mov.b32 %0,{%1,%2};" : "=r"(r) : "h"(low), "h"(high));
  return r;
}
/// Byte i of the result is the byte of a (0 to 3) or b (4 to 7) that digit i of `selector` says.
DLC_DEV u32 choose_bytes(u32 a, u32 b, u32 selector) { return __byte_perm(a, b, selector); }

/// After a wait: the compiler moves no use of these accumulators to before it.
template <int COUNT> DLC_DEV void wgmma_arrived(float (&d)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}

DLC_WGMMA_COLUMNS(64)
DLC_WGMMA_COLUMNS(128)
DLC_WGMMA_COLUMNS(256)
DLC_WGMMA_NARROW(64)
DLC_WGMMA_NARROW(128)
DLC_WGMMA_NARROW(256)
DLC_WGMMA_HELD_COLUMNS(64)
DLC_WGMMA_HELD_COLUMNS(128)
DLC_WGMMA_HELD_COLUMNS(256)
DLC_WGMMA_HELD_FLOAT8(64)
DLC_WGMMA_HELD_FLOAT8(128)
DLC_WGMMA_SPARSE_COLUMNS(64)
DLC_WGMMA_SPARSE_COLUMNS(128)
DLC_WGMMA_SPARSE_COLUMNS(256)

#undef DLC_WGMMA_COLUMNS
#undef DLC_WGMMA_NARROW
#undef DLC_WGMMA_SIGNS
#undef DLC_WGMMA_HELD_COLUMNS
#undef DLC_WGMMA_HELD_MAJOR
#undef DLC_WGMMA_HELD_FLOAT8
#undef DLC_WGMMA_SPARSE_COLUMNS
#undef DLC_WGMMA_SPARSE_TYPE
#undef DLC_WGMMA_TYPE
#undef DLC_WGMMA_MAJORS
#undef DLC_WGMMA_HELD_64
#undef DLC_WGMMA_HELD_128
#undef DLC_WGMMA_HELD_256
#undef DLC_WGMMA_SPARSE_64
#undef DLC_WGMMA_SPARSE_128
#undef DLC_WGMMA_SPARSE_256
#undef DLC_WGMMA_64
#undef DLC_WGMMA_128
#undef DLC_WGMMA_256
#undef DLC_REGISTERS_64
#undef DLC_REGISTERS_128
#undef DLC_REGISTERS_256
#undef DLC_ACC32
#undef DLC_ACC8
#endif // DLC_EMU

} // namespace dlc
#endif // DLC_HAS_WGMMA
