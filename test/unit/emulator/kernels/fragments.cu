//===- fragments.cu - what a warp's lanes hold of a matrix ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dlc_contract.cuh"

/// d = a * b, one 16x8 tile: each lane brings its registers and takes its results.
template <class T> DLC_DEV void multiply(const u32 *a, const u32 *b, float *d) {
  int lane = (int)threadIdx.x;
  u32 fa[1][4], fb[1][4];
  float acc[1][2][4] = {};
  for (int i = 0; i < 4; ++i) {
    fa[0][i] = a[lane * 4 + i];
    fb[0][i] = i < 2 ? b[lane * 2 + i] : 0;
  }
  dlc::mma_tile<T, 1, 2>(acc, fa, fb);
  for (int i = 0; i < 4; ++i)
    d[lane * 4 + i] = acc[0][0][i];
}
DLC_KERNEL(32) mma_f16(const u32 *a, const u32 *b, float *d) { multiply<dlc::f16>(a, b, d); }
DLC_KERNEL(32) mma_bf16(const u32 *a, const u32 *b, float *d) { multiply<dlc::bf16>(a, b, d); }
DLC_KERNEL(32) mma_tf32(const u32 *a, const u32 *b, float *d) { multiply<float>(a, b, d); }

/// d += a * b of bytes.
template <bool SIGNED_A, bool SIGNED_B>
DLC_DEV void multiply_bytes(const u32 *a, const u32 *b, i32 *d) {
  int lane = (int)threadIdx.x;
  u32 fa[1][4], fb[1][4];
  i32 acc[1][2][4] = {};
  for (int i = 0; i < 4; ++i) {
    fa[0][i] = a[lane * 4 + i];
    fb[0][i] = i < 2 ? b[lane * 2 + i] : 0;
    acc[0][0][i] = d[lane * 4 + i];
  }
  dlc::mma_tile_bytes<SIGNED_A, SIGNED_B, 1, 2>(acc, fa, fb);
  for (int i = 0; i < 4; ++i)
    d[lane * 4 + i] = acc[0][0][i];
}
DLC_KERNEL(32) mma_u8u8(const u32 *a, const u32 *b, i32 *d) {
  multiply_bytes<false, false>(a, b, d);
}
DLC_KERNEL(32) mma_u8i8(const u32 *a, const u32 *b, i32 *d) {
  multiply_bytes<false, true>(a, b, d);
}
DLC_KERNEL(32) mma_i8u8(const u32 *a, const u32 *b, i32 *d) {
  multiply_bytes<true, false>(a, b, d);
}
DLC_KERNEL(32) mma_i8i8(const u32 *a, const u32 *b, i32 *d) { multiply_bytes<true, true>(a, b, d); }

/// d = a * b of 32x24 over 32 steps of k, of which a has 16 stored: each lane brings the registers
/// and places of its tiles.
template <class T>
DLC_DEV void multiply_sparse(const u32 *a, const u32 *places, const u32 *b, float *d) {
  int lane = (int)threadIdx.x;
  u32 fa[2][4], at[2], fb[3][4];
  float acc[2][3][4] = {};
  for (int i = 0; i < 2; ++i) {
    at[i] = places[lane * 2 + i];
    for (int r = 0; r < 4; ++r)
      fa[i][r] = a[(lane * 2 + i) * 4 + r];
  }
  for (int j = 0; j < 3; ++j)
    for (int r = 0; r < 4; ++r)
      fb[j][r] = b[(lane * 3 + j) * 4 + r];
  dlc::mma_tile_sparse<T, 2, 3>(acc, fa, at, fb);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int e = 0; e < 4; ++e)
        d[((lane * 2 + i) * 3 + j) * 4 + e] = acc[i][j][e];
}
DLC_KERNEL(32) sparse_f16(const u32 *a, const u32 *places, const u32 *b, float *d) {
  multiply_sparse<dlc::f16>(a, places, b, d);
}
DLC_KERNEL(32) sparse_bf16(const u32 *a, const u32 *places, const u32 *b, float *d) {
  multiply_sparse<dlc::bf16>(a, places, b, d);
}

/// Each word's bytes added to `totals`: without a sign, then with.
DLC_KERNEL(32) sums_of_bytes(const u32 *in, const i32 *totals, i32 *out, i32 n) {
  for (int i = (int)threadIdx.x; i < n; i += 32) {
    out[i] = dlc::add_bytes<false>(in[i], totals[i]);
    out[n + i] = dlc::add_bytes<true>(in[i], totals[i]);
  }
}

/// The four 8x8 matrices of `in` as lanes get them.
DLC_KERNEL(32) ldmatrix(const u32 *in, u32 *plain, u32 *transposed) {
  DLC_SHARED(u32, tile, [128]);
  int lane = (int)threadIdx.x;
  for (int i = 0; i < 4; ++i)
    tile[lane * 4 + i] = in[lane * 4 + i];
  dlc::barrier();
  u32 r[4];
  dlc::ldmatrix_x4(r, tile + lane * 4);
  for (int i = 0; i < 4; ++i)
    plain[lane * 4 + i] = r[i];
  dlc::ldmatrix_x4_trans(r, tile + lane * 4);
  for (int i = 0; i < 4; ++i)
    transposed[lane * 4 + i] = r[i];
}

DLC_KERNEL(32) round_tf32(const u32 *in, u32 *out, i32 n) {
  for (int i = (int)threadIdx.x; i < n; i += 32)
    out[i] = dlc::tf32_bits(in[i]);
}

/// Bytes at which the chunks of 16 rows begin.
template <int CHUNKS> DLC_DEV void list_places(i32 *out) {
  using slab = dlc::slab<dlc::f16, 16, CHUNKS * 8, true>;
  for (int i = (int)threadIdx.x; i < 16 * CHUNKS; i += 32)
    out[i] = slab::place(i / CHUNKS, i % CHUNKS) * 2;
}
DLC_KERNEL(32) places(i32 chunks, i32 *out) {
  if (chunks == 2)
    list_places<2>(out);
  if (chunks == 4)
    list_places<4>(out);
  if (chunks == 8)
    list_places<8>(out);
  if (chunks == 16)
    list_places<16>(out);
}
