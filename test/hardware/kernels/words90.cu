//===- words90.cu - words that Hopper alone has ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dlc_cluster.cuh"
#include "dlc_wgmma.cuh"

#if defined(DLC_EMU) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Four phases of a barrier of 64 arrivals; in each a thread reads what another wrote before it arrived.
DLC_KERNEL(64) phases(u32 *out) {
  DLC_DYN_SMEM(memory);
  u64 *bar = (u64 *)memory;
  u32 *words = (u32 *)(memory + 64);
  u32 t = threadIdx.x;
  if (t == 0) {
    dlc::mbar_init(bar, 64);
    dlc::mbar_fence_init();
  }
  dlc::barrier();
  for (u32 phase = 0; phase < 4; ++phase) {
    words[phase * 64 + t] = t * 4 + phase;
    dlc::mbar_arrive(bar);
    dlc::mbar_wait(bar, phase & 1);
    out[phase * 64 + t] = words[phase * 64 + 63 - t];
  }
}

// Each thread reads what the thread of its number in the next block of the cluster wrote, eight times over.
DLC_KERNEL_CLUSTER(64, 8) neighbours(u32 *out) {
  DLC_DYN_SMEM(memory);
  u32 *words = (u32 *)memory;
  u32 t = threadIdx.x, rank = dlc::cluster_rank();
  for (u32 turn = 0; turn < 8; ++turn) {
    words[t] = blockIdx.x * 4096 + turn * 64 + t;
    dlc::cluster_barrier();
    out[(blockIdx.x * 8 + turn) * 64 + t] = dlc::map_shared(words, (rank + 1 + turn) % 8)[t];
    if (turn < 7)
      dlc::cluster_barrier();
  }
  dlc::cluster_leave();
}

// A box of 8 rows of 64 values, beyond the array in part, as it lies in shared memory.
DLC_KERNEL(32) box(DLC_GRID_CONST dlc::tensor_map map, i32 column, i32 row, u32 *out) {
  DLC_DYN_SMEM(memory);
  u64 *bar = (u64 *)(memory + 1024);
  if (threadIdx.x == 0) {
    dlc::prefetch_map(&map);
    dlc::mbar_init(bar, 1);
    dlc::mbar_fence_init();
    dlc::fence_async();
    dlc::mbar_expect_tx(bar, 1024);
    dlc::tma_load_2d(memory, &map, bar, column, row);
  }
  dlc::barrier();
  dlc::mbar_wait(bar, 0);
  for (int i = (int)threadIdx.x; i < 256; i += 32)
    out[i] = ((const u32 *)memory)[i];
}

// What lies in shared memory is multiplied as the descriptors say, four steps of k and then the same again: A of 8 KiB, then B
// of N rows of 128 bytes. Where elements lie together along rows, 64 of them are 128 bytes, and the next 64 come 8 KiB later.
template <class T, int N, bool ALONG_M, bool ALONG_N>
static DLC_DEV void multiply(u8 *memory, const u32 *a, const u32 *b, float *out) {
  int t = (int)threadIdx.x;
  u32 *sa = (u32 *)memory, *sb = (u32 *)(memory + 8192);
  for (int i = t; i < 2048; i += 128)
    sa[i] = a[i];
  for (int i = t; i < N * 32; i += 128)
    sb[i] = b[i];
  dlc::fence_async();
  dlc::barrier();
  float d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    d[i] = 0.0f;
  u64 da = ALONG_M ? dlc::wgmma_along_rows(sa, 8192) : dlc::wgmma_along_k(sa);
  u64 db = ALONG_N ? dlc::wgmma_along_rows(sb, 8192) : dlc::wgmma_along_k(sb);
  dlc::wgmma_fence();
#pragma unroll
  for (int k = 0; k < 8; ++k)
    dlc::wgmma<T, N, ALONG_M, ALONG_N>(d, da + (k & 3) * (ALONG_M ? 128 : 2), db + (k & 3) * (ALONG_N ? 128 : 2), k > 0);
  dlc::wgmma_commit();
  dlc::wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    out[i * 128 + t] = d[i];
}

// The same with A in registers: eight words a thread, of two times 16 steps of k.
template <class T, int N, bool ALONG_N>
static DLC_DEV void multiply_held(u8 *memory, const u32 *a, const u32 *b, float *out) {
  int t = (int)threadIdx.x;
  u32 *sb = (u32 *)memory;
  for (int i = t; i < N * 32; i += 128)
    sb[i] = b[i];
  dlc::fence_async();
  dlc::barrier();
  float d[N / 2];
  u32 held[2][4];
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    d[i] = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    held[i / 4][i % 4] = a[t * 8 + i];
  u64 db = ALONG_N ? dlc::wgmma_along_rows(sb, 8192) : dlc::wgmma_along_k(sb);
  dlc::wgmma_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k)
    dlc::wgmma_held<T, N, ALONG_N>(d, held[k & 1], db + k * (ALONG_N ? 128 : 2), k > 0);
  dlc::wgmma_commit();
  dlc::wgmma_wait<0>();
  dlc::wgmma_arrived(d);
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    out[i * 128 + t] = d[i];
}

// One-byte elements along k: four products of 32 steps.
template <int N, class Total, class Product>
static DLC_DEV void multiply_narrow(u8 *memory, const u32 *a, const u32 *b, Total *out, const Product &product) {
  int t = (int)threadIdx.x;
  u32 *sa = (u32 *)memory, *sb = (u32 *)(memory + 8192);
  for (int i = t; i < 2048; i += 128)
    sa[i] = a[i];
  for (int i = t; i < N * 32; i += 128)
    sb[i] = b[i];
  dlc::fence_async();
  dlc::barrier();
  Total d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    d[i] = 0;
  // Thread t has the words of the first product's A at a[t * 4].
  u32 held[4] = {a[t * 4], a[t * 4 + 1], a[t * 4 + 2], a[t * 4 + 3]};
  u64 da = dlc::wgmma_along_k(sa), db = dlc::wgmma_along_k(sb);
  dlc::wgmma_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k)
    product(d, held, da + k * 2, db + k * 2, k > 0);
  dlc::wgmma_commit();
  dlc::wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    out[i * 128 + t] = d[i];
}
template <int N> static DLC_DEV void multiply_e4m3(u8 *memory, const u32 *a, const u32 *b, float *out) {
  multiply_narrow<N>(memory, a, b, out, [](float(&d)[N / 2], const u32(&)[4], u64 of_a, u64 of_b, bool adds) {
    dlc::wgmma_float8<N>(d, of_a, of_b, adds);
  });
}
template <int N> static DLC_DEV void multiply_held_e4m3(u8 *memory, const u32 *a, const u32 *b, float *out) {
  multiply_narrow<N>(memory, a, b, out, [](float(&d)[N / 2], const u32(&held)[4], u64, u64 of_b, bool adds) {
    dlc::wgmma_held_float8<N>(d, held, of_b, adds);
  });
}
template <bool SIGNED_A, bool SIGNED_B, int N>
static DLC_DEV void multiply_bytes(u8 *memory, const u32 *a, const u32 *b, i32 *out) {
  multiply_narrow<N>(memory, a, b, out, [](i32(&d)[N / 2], const u32(&)[4], u64 of_a, u64 of_b, bool adds) {
    dlc::wgmma_bytes<SIGNED_A, SIGNED_B, N>(d, of_a, of_b, adds);
  });
}

// Rows of 128 bytes are 128 steps of k, four products, as two of each four neighbours along k of A
// are stored. B is two blocks of N rows, of 64 steps each. Thread t finds the places of product k
// at places[k * 128 + t].
template <class T, int N>
static DLC_DEV void multiply_sparse(u8 *memory, const u32 *a, const u32 *places, const u32 *b,
                                    float *out) {
  int t = (int)threadIdx.x;
  u32 *sa = (u32 *)memory, *sb = (u32 *)(memory + 8192);
  for (int i = t; i < 2048; i += 128)
    sa[i] = a[i];
  for (int i = t; i < N * 64; i += 128)
    sb[i] = b[i];
  dlc::fence_async();
  dlc::barrier();
  float d[N / 2];
  u32 at[4];
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    d[i] = 1.0f; // overwritten
#pragma unroll
  for (int k = 0; k < 4; ++k)
    at[k] = places[k * 128 + t];
  u64 da = dlc::wgmma_along_k(sa), db = dlc::wgmma_along_k(sb); // in units of 16 bytes
  dlc::wgmma_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k)
    dlc::wgmma_sparse<T, N>(d, da + k * 2, at[k], db + (k >> 1) * (N * 8) + (k & 1) * 4, k > 0);
  dlc::wgmma_commit();
  dlc::wgmma_wait<0>();
  dlc::wgmma_arrived(d);
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    out[i * 128 + t] = d[i];
}

DLC_KERNEL(128) wgmma_f16_64_00(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 64, 0, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_64_01(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 64, 0, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_64_10(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 64, 1, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_64_11(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 64, 1, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_128_00(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 128, 0, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_128_01(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 128, 0, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_128_10(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 128, 1, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_128_11(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 128, 1, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_256_00(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 256, 0, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_256_01(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 256, 0, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_256_10(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 256, 1, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_f16_256_11(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::f16, 256, 1, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_64_00(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 64, 0, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_64_01(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 64, 0, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_64_10(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 64, 1, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_64_11(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 64, 1, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_128_00(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 128, 0, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_128_01(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 128, 0, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_128_10(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 128, 1, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_128_11(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 128, 1, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_256_00(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 256, 0, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_256_01(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 256, 0, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_256_10(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 256, 1, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_bf16_256_11(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<dlc::bf16, 256, 1, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_f16_64_0(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::f16, 64, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_f16_64_1(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::f16, 64, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_f16_128_0(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::f16, 128, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_f16_128_1(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::f16, 128, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_f16_256_0(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::f16, 256, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_f16_256_1(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::f16, 256, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_bf16_64_0(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::bf16, 64, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_bf16_64_1(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::bf16, 64, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_bf16_128_0(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::bf16, 128, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_bf16_128_1(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::bf16, 128, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_bf16_256_0(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::bf16, 256, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_bf16_256_1(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held<dlc::bf16, 256, 1>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_tf32_64_00(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<float, 64, 0, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_tf32_128_00(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<float, 128, 0, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_tf32_256_00(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply<float, 256, 0, 0>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_sparse_f16_64(const u32 *a, const u32 *places, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_sparse<dlc::f16, 64>(memory, a, places, b, out);
}
DLC_KERNEL(128) wgmma_sparse_f16_128(const u32 *a, const u32 *places, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_sparse<dlc::f16, 128>(memory, a, places, b, out);
}
DLC_KERNEL(128) wgmma_sparse_f16_256(const u32 *a, const u32 *places, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_sparse<dlc::f16, 256>(memory, a, places, b, out);
}
DLC_KERNEL(128) wgmma_sparse_bf16_64(const u32 *a, const u32 *places, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_sparse<dlc::bf16, 64>(memory, a, places, b, out);
}
DLC_KERNEL(128) wgmma_sparse_bf16_128(const u32 *a, const u32 *places, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_sparse<dlc::bf16, 128>(memory, a, places, b, out);
}
DLC_KERNEL(128) wgmma_sparse_bf16_256(const u32 *a, const u32 *places, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_sparse<dlc::bf16, 256>(memory, a, places, b, out);
}

// Four numbers a thread in e4m3, and their bytes turned round.
DLC_KERNEL(128) packed_float8(const float *x, u32 *out) {
  x += threadIdx.x * 4;
  u32 word = dlc::pack4_float8(x[0], x[1], x[2], x[3]);
  out[threadIdx.x] = word;
  out[128 + threadIdx.x] = dlc::choose_bytes(word, ~word, 0x4063);
}
DLC_KERNEL(128) wgmma_e4m3_64(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_e4m3<64>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_e4m3_128(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_e4m3<128>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_e4m3_256(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_e4m3<256>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_e4m3_64(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held_e4m3<64>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_held_e4m3_128(const u32 *a, const u32 *b, float *out) {
  DLC_DYN_SMEM(memory);
  multiply_held_e4m3<128>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_s8s8_64(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<true, true, 64>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_s8u8_64(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<true, false, 64>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_u8s8_64(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<false, true, 64>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_u8u8_64(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<false, false, 64>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_s8s8_128(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<true, true, 128>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_s8u8_128(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<true, false, 128>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_u8s8_128(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<false, true, 128>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_u8u8_128(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<false, false, 128>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_s8s8_256(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<true, true, 256>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_s8u8_256(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<true, false, 256>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_u8s8_256(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<false, true, 256>(memory, a, b, out);
}
DLC_KERNEL(128) wgmma_u8u8_256(const u32 *a, const u32 *b, i32 *out) {
  DLC_DYN_SMEM(memory);
  multiply_bytes<false, false, 256>(memory, a, b, out);
}
#endif
