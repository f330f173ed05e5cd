//===- words.cu - words of the vocabulary that need more than a thread ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What test/unit/emulator/kernels does not use alone: copies in flight, grids, barriers in memory, TMA, wgmma.
//===----------------------------------------------------------------------===//
#include "dlc_mma.cuh"

// 128 threads copy 16, 8 and 4 bytes each, in part or not at all, in two groups.
DLC_KERNEL(128) copies(const u32 *from, u32 *to) {
  DLC_DYN_SMEM(memory);
  int t = (int)threadIdx.x;
  u8 *sixteen = memory, *eight = memory + 2048, *four = memory + 3072, *again = memory + 3584;
  for (int i = t; i < 5632 / 4; i += 128)
    ((u32 *)memory)[i] = 0xabababab;
  dlc::barrier();
  dlc::cp_async16(sixteen + t * 16, from + t * 4, t % 17);
  dlc::cp_async<8>(eight + t * 8, from + t * 2, t % 3 != 0);
  dlc::cp_async_commit();
  dlc::cp_async<4>(four + t * 4, from + t, t % 2 != 0);
  dlc::cp_async<16>(again + t * 16, from + t * 4, t % 5 != 0);
  dlc::cp_async_commit();
  // The first group has arrived, for this thread.
  dlc::cp_async_wait<1>();
  to[1408 + t] = ((const u32 *)sixteen)[t * 4] + ((const u32 *)eight)[t * 2 + 1];
  dlc::cp_async_wait<0>();
  dlc::barrier();
  for (int i = t; i < 5632 / 4; i += 128)
    to[i] = ((const u32 *)memory)[i];
}

// Every block adds up what all blocks wrote, twice.
DLC_KERNEL(64) rounds(u32 *counter, u32 *values, u32 *out) {
  int block = (int)blockIdx.x, blocks = (int)gridDim.x;
  for (u32 round = 0; round < 2; ++round) {
    if (threadIdx.x == 0)
      values[block] = (u32)(block + 1) * (round + 1);
    dlc::grid_barrier(counter);
    if (threadIdx.x == 0) {
      u32 sum = 0;
      for (int i = 0; i < blocks; ++i)
        sum += values[i];
      out[(int)round * blocks + block] = sum;
    }
    dlc::grid_barrier(counter);
  }
}

// The block that comes last adds up what the others left.
DLC_KERNEL(32) last_block(u32 *tickets, u32 *parts, u32 *out) {
  if (threadIdx.x == 0) {
    dlc::atomic_exchange(parts + blockIdx.x, blockIdx.x * 3 + 1);
    dlc::fence();
    if (dlc::atomic_add(tickets, 1u) == gridDim.x - 1) {
      dlc::fence();
      u32 sum = 0;
      for (u32 i = 0; i < gridDim.x; ++i)
        sum += dlc::atomic_add(parts + i, 0u);
      out[0] = sum;
    }
  }
}

// 16x8 tiles by one warp: 2 x 2 of them from registers.
template <class T> static DLC_DEV void tiles(const u32 *a, const u32 *b, float *d) {
  int lane = (int)threadIdx.x;
  u32 fa[2][4], fb[1][4];
  float acc[2][2][4] = {};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      fa[i][j] = a[(i * 32 + lane) * 4 + j];
  for (int j = 0; j < 4; ++j)
    fb[0][j] = b[lane * 4 + j];
  dlc::mma_tile<T, 2, 2>(acc, fa, fb);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 4; ++k)
        d[((i * 2 + j) * 32 + lane) * 4 + k] = acc[i][j][k];
}
template <bool SIGNED_A, bool SIGNED_B>
static DLC_DEV void tiles_of_bytes(const u32 *a, const u32 *b, i32 *d) {
  int lane = (int)threadIdx.x;
  u32 fa[2][4], fb[1][4];
  i32 acc[2][2][4] = {};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      fa[i][j] = a[(i * 32 + lane) * 4 + j];
  for (int j = 0; j < 4; ++j)
    fb[0][j] = b[lane * 4 + j];
  dlc::mma_tile_bytes<SIGNED_A, SIGNED_B, 2, 2>(acc, fa, fb);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 4; ++k)
        d[((i * 2 + j) * 32 + lane) * 4 + k] =
            dlc::add_bytes<SIGNED_A>(fa[i][k], dlc::add_bytes<SIGNED_B>(fb[0][k], acc[i][j][k]));
}
DLC_KERNEL(32) tiles_u8u8(const u32 *a, const u32 *b, i32 *d) {
  tiles_of_bytes<false, false>(a, b, d);
}
DLC_KERNEL(32) tiles_u8i8(const u32 *a, const u32 *b, i32 *d) {
  tiles_of_bytes<false, true>(a, b, d);
}
DLC_KERNEL(32) tiles_i8u8(const u32 *a, const u32 *b, i32 *d) {
  tiles_of_bytes<true, false>(a, b, d);
}
DLC_KERNEL(32) tiles_i8i8(const u32 *a, const u32 *b, i32 *d) {
  tiles_of_bytes<true, true>(a, b, d);
}
DLC_KERNEL(32) tiles_f16(const u32 *a, const u32 *b, float *d) { tiles<dlc::f16>(a, b, d); }
DLC_KERNEL(32) tiles_bf16(const u32 *a, const u32 *b, float *d) { tiles<dlc::bf16>(a, b, d); }
DLC_KERNEL(32) tiles_tf32(const u32 *a, const u32 *b, float *d) { tiles<float>(a, b, d); }

// 2 x 3 tiles over two times 32 steps of k; of A two of each four neighbours along k are stored.
template <class T>
static DLC_DEV void sparse_tiles(const u32 *a, const u32 *places, const u32 *b, float *d) {
  int lane = (int)threadIdx.x;
  float acc[2][3][4] = {};
  for (int step = 0; step < 2; ++step) {
    u32 fa[2][4], at[2], fb[3][4];
    for (int i = 0; i < 2; ++i)
      at[i] = places[(step * 2 + i) * 32 + lane];
    for (int i = 0; i < 2; ++i)
      for (int r = 0; r < 4; ++r)
        fa[i][r] = a[((step * 2 + i) * 32 + lane) * 4 + r];
    for (int j = 0; j < 3; ++j)
      for (int r = 0; r < 4; ++r)
        fb[j][r] = b[((step * 3 + j) * 32 + lane) * 4 + r];
    dlc::mma_tile_sparse<T, 2, 3>(acc, fa, at, fb);
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        d[((i * 3 + j) * 32 + lane) * 4 + k] = acc[i][j][k];
}
DLC_KERNEL(32) sparse_tiles_f16(const u32 *a, const u32 *places, const u32 *b, float *d) {
  sparse_tiles<dlc::f16>(a, places, b, d);
}
DLC_KERNEL(32) sparse_tiles_bf16(const u32 *a, const u32 *places, const u32 *b, float *d) {
  sparse_tiles<dlc::bf16>(a, places, b, d);
}
