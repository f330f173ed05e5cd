//===- wgmma.cu - what a warpgroup's threads hold of a product ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dlc_wgmma.cuh"

#ifdef DLC_HAS_WGMMA

/// d = A * B by one `product` of 64x64 over 32 bytes of k, the `step`th of 128: operands as bytes of shared memory.
template <class Total, bool ALONG_M, bool ALONG_N, class Product>
static DLC_DEV void multiply_by(const Product &product, const u32 *a, const u32 *b, Total *d, i32 step) {
  DLC_DYN_SMEM(smem);
  u32 *words = reinterpret_cast<u32 *>(smem);
  int t = (int)threadIdx.x;
  for (int i = t; i < 2048; i += 128) {
    words[i] = a[i];
    words[2048 + i] = b[i];
  }
  dlc::fence_async();
  dlc::barrier();
  u64 of_a = ALONG_M ? dlc::wgmma_along_rows(smem, 8192) + step * 128 : dlc::wgmma_along_k(smem) + step * 2;
  u64 of_b = ALONG_N ? dlc::wgmma_along_rows(smem + 8192, 8192) + step * 128
                     : dlc::wgmma_along_k(smem + 8192) + step * 2;
  Total sums[32];
#pragma unroll
  for (int i = 0; i < 32; ++i)
    sums[i] = 1; // overwritten
  dlc::wgmma_fence();
  product(sums, of_a, of_b);
  dlc::wgmma_commit();
  dlc::wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < 32; ++i)
    d[t * 32 + i] = sums[i];
}
template <class T, bool ALONG_M, bool ALONG_N>
static DLC_DEV void multiply(const u32 *a, const u32 *b, float *d, i32 step) {
  auto product = [](float(&sums)[32], u64 of_a, u64 of_b) {
    dlc::wgmma<T, 64, ALONG_M, ALONG_N>(sums, of_a, of_b, false);
  };
  multiply_by<float, ALONG_M, ALONG_N>(product, a, b, d, step);
}
template <bool SIGNED_A, bool SIGNED_B>
static DLC_DEV void multiply_bytes(const u32 *a, const u32 *b, i32 *d, i32 step) {
  auto product = [](i32(&sums)[32], u64 of_a, u64 of_b) {
    dlc::wgmma_bytes<SIGNED_A, SIGNED_B, 64>(sums, of_a, of_b, false);
  };
  multiply_by<i32, false, false>(product, a, b, d, step);
}

DLC_KERNEL(128) s8_s8(const u32 *a, const u32 *b, i32 *d, i32 step) { multiply_bytes<true, true>(a, b, d, step); }
DLC_KERNEL(128) s8_u8(const u32 *a, const u32 *b, i32 *d, i32 step) { multiply_bytes<true, false>(a, b, d, step); }
DLC_KERNEL(128) u8_s8(const u32 *a, const u32 *b, i32 *d, i32 step) { multiply_bytes<false, true>(a, b, d, step); }
DLC_KERNEL(128) u8_u8(const u32 *a, const u32 *b, i32 *d, i32 step) { multiply_bytes<false, false>(a, b, d, step); }
/// The f16 of all 256 numbers of e4m3, two a thread.
DLC_KERNEL(128) halves(u32 *d) { d[threadIdx.x] = dlc::halves_of_float8(threadIdx.x * 2 | (threadIdx.x * 2 + 1) << 8); }
DLC_KERNEL(128) e4m3(const u32 *a, const u32 *b, float *d, i32 step) {
  auto product = [](float(&sums)[32], u64 of_a, u64 of_b) { dlc::wgmma_float8<64>(sums, of_a, of_b, false); };
  multiply_by<float, false, false>(product, a, b, d, step);
}

DLC_KERNEL(128) f16_kk(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply<dlc::f16, false, false>(a, b, d, step);
}
DLC_KERNEL(128) f16_mk(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply<dlc::f16, true, false>(a, b, d, step);
}
DLC_KERNEL(128) f16_kn(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply<dlc::f16, false, true>(a, b, d, step);
}
DLC_KERNEL(128) bf16_kk(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply<dlc::bf16, false, false>(a, b, d, step);
}
DLC_KERNEL(128) bf16_mn(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply<dlc::bf16, true, true>(a, b, d, step);
}
DLC_KERNEL(128) tf32_kk(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply<float, false, false>(a, b, d, step);
}

/// The same with A in registers, whose words thread t finds at a[t * 4]. CHANGED plants a change of them before the
/// wait.
template <bool ALONG_N, bool CHANGED, class Product>
static DLC_DEV void multiply_held_by(const Product &product, const u32 *a, const u32 *b, float *d, i32 step) {
  DLC_DYN_SMEM(smem);
  u32 *words = reinterpret_cast<u32 *>(smem);
  int t = (int)threadIdx.x;
  for (int i = t; i < 2048; i += 128)
    words[i] = b[i];
  dlc::fence_async();
  dlc::barrier();
  u64 of_b = ALONG_N ? dlc::wgmma_along_rows(smem, 8192) + step * 128 : dlc::wgmma_along_k(smem) + step * 2;
  u32 held[4];
  float sums[32];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    held[i] = a[t * 4 + i];
#pragma unroll
  for (int i = 0; i < 32; ++i)
    sums[i] = 1.0f; // overwritten
  dlc::wgmma_fence();
  product(sums, held, of_b);
  dlc::wgmma_commit();
  if constexpr (CHANGED)
    held[t & 3] += 1;
  dlc::wgmma_wait<0>();
  dlc::wgmma_arrived(sums);
#pragma unroll
  for (int i = 0; i < 32; ++i)
    d[t * 32 + i] = sums[i];
}

template <class T, bool ALONG_N, bool CHANGED = false>
static DLC_DEV void multiply_held(const u32 *a, const u32 *b, float *d, i32 step) {
  auto product = [](float(&sums)[32], const u32(&held)[4], u64 of_b) {
    dlc::wgmma_held<T, 64, ALONG_N>(sums, held, of_b, false);
  };
  multiply_held_by<ALONG_N, CHANGED>(product, a, b, d, step);
}

DLC_KERNEL(128) e4m3_held(const u32 *a, const u32 *b, float *d, i32 step) {
  auto product = [](float(&sums)[32], const u32(&held)[4], u64 of_b) {
    dlc::wgmma_held_float8<64>(sums, held, of_b, false);
  };
  multiply_held_by<false, false>(product, a, b, d, step);
}
/// Four numbers a thread in e4m3.
DLC_KERNEL(128) packed(const float *x, u32 *d) {
  x += threadIdx.x * 4;
  d[threadIdx.x] = dlc::pack4_float8(x[0], x[1], x[2], x[3]);
}
DLC_KERNEL(128) f16_held_k(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply_held<dlc::f16, false>(a, b, d, step);
}
DLC_KERNEL(128) f16_held_n(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply_held<dlc::f16, true>(a, b, d, step);
}
DLC_KERNEL(128) bf16_held_k(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply_held<dlc::bf16, false>(a, b, d, step);
}
DLC_KERNEL(128) bf16_held_n(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply_held<dlc::bf16, true>(a, b, d, step);
}
DLC_KERNEL(128) f16_held_changed(const u32 *a, const u32 *b, float *d, i32 step) {
  multiply_held<dlc::f16, true, true>(a, b, d, step);
}

/// d = A * B of 64xN over 64 steps of k in two products, where two of each four neighbours along k of A are stored: 128
/// bytes a row, of which the products take 32 each, from the `first`th on. Thread t finds the places of product i at
/// places[i * 128 + t]. PLANT_EARLY_READ takes the totals before the wait, PLANT_STORE is a word of shared memory that is
/// stored to before it.
template <class T, int N>
static DLC_DEV void multiply_sparse(const u32 *a, const u32 *places, const u32 *b, float *d, i32 first) {
  DLC_DYN_SMEM(smem);
  u32 *words = reinterpret_cast<u32 *>(smem);
  int t = (int)threadIdx.x;
  for (int i = t; i < 2048; i += 128)
    words[i] = a[i];
  for (int i = t; i < N * 32; i += 128)
    words[2048 + i] = b[i];
  dlc::fence_async();
  dlc::barrier();
  u64 of_a = dlc::wgmma_along_k(smem) + first * 2, of_b = dlc::wgmma_along_k(smem + 8192);
  u32 at[2] = {places[t], places[128 + t]};
  float sums[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    sums[i] = 1.0f; // overwritten
  dlc::wgmma_fence();
#pragma unroll
  for (int i = 0; i < 2; ++i)
    dlc::wgmma_sparse<T, N>(sums, of_a + i * 2, at[i], of_b + i * 4, i > 0);
  dlc::wgmma_commit();
#ifdef PLANT_STORE
  if (t == 0)
    words[PLANT_STORE] = 0;
#endif
#ifndef PLANT_EARLY_READ
  dlc::wgmma_wait<0>();
  dlc::wgmma_arrived(sums);
#endif
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    d[t * (N / 2) + i] = sums[i];
#ifdef PLANT_EARLY_READ
  dlc::wgmma_wait<0>();
#endif
}

DLC_KERNEL(128) sparse_f16_64(const u32 *a, const u32 *places, const u32 *b, float *d, i32 first) {
  multiply_sparse<dlc::f16, 64>(a, places, b, d, first);
}
DLC_KERNEL(128) sparse_bf16_64(const u32 *a, const u32 *places, const u32 *b, float *d, i32 first) {
  multiply_sparse<dlc::bf16, 64>(a, places, b, d, first);
}
DLC_KERNEL(128) sparse_f16_128(const u32 *a, const u32 *places, const u32 *b, float *d, i32 first) {
  multiply_sparse<dlc::f16, 128>(a, places, b, d, first);
}
DLC_KERNEL(128) sparse_bf16_128(const u32 *a, const u32 *places, const u32 *b, float *d, i32 first) {
  multiply_sparse<dlc::bf16, 128>(a, places, b, d, first);
}
DLC_KERNEL(128) sparse_f16_256(const u32 *a, const u32 *places, const u32 *b, float *d, i32 first) {
  multiply_sparse<dlc::f16, 256>(a, places, b, d, first);
}
DLC_KERNEL(128) sparse_bf16_256(const u32 *a, const u32 *places, const u32 *b, float *d, i32 first) {
  multiply_sparse<dlc::bf16, 256>(a, places, b, d, first);
}

/// Warpgroups of which the first gives registers to the other two. `plant`: 1 lets a warp forget it, 2 asks for too
/// many, 3 for fewer where it says more.
DLC_KERNEL_OCCUPANCY(384, 1) registers(i32 plant) {
  if (threadIdx.x < 128) {
    if (plant != 1 || threadIdx.x >= 32)
      dlc::reg_dealloc<40>();
  } else if (plant == 2) {
    dlc::reg_alloc<240>();
  } else if (plant == 3) {
    dlc::reg_alloc<160>();
  } else {
    dlc::reg_alloc<232>();
  }
}

/// The shared memory that one box of 8 KiB fills.
DLC_KERNEL(128) box(DLC_GRID_CONST dlc::tensor_map map, i32 column, i32 row, u32 *out) {
  DLC_DYN_SMEM(memory);
  DLC_SHARED(u64, bar, [1]);
  if (threadIdx.x == 0) {
    dlc::mbar_init(bar, 1);
    dlc::mbar_fence_init();
    dlc::mbar_expect_tx(bar, 8192);
    dlc::tma_load_2d(memory, &map, bar, column, row);
  }
  dlc::barrier();
  dlc::mbar_wait(bar, 0);
  for (int i = (int)threadIdx.x; i < 2048; i += 128)
    out[i] = reinterpret_cast<const u32 *>(memory)[i];
}

#endif // DLC_HAS_WGMMA
