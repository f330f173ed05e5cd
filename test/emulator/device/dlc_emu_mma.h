//===- dlc_emu_mma.h - tensor cores, emulated -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for the PTX half of dlc_mma.cuh.
//===----------------------------------------------------------------------===//
#pragma once

namespace dlc {

template <class T> struct mma_type;
template <> struct mma_type<f16> {
  static constexpr DlcEmuMmaType value = DlcEmuF16;
};
template <> struct mma_type<bf16> {
  static constexpr DlcEmuMmaType value = DlcEmuBf16;
};
template <> struct mma_type<float> {
  static constexpr DlcEmuMmaType value = DlcEmuTf32;
};

DLC_DEV void ldmatrix_x4(u32 (&r)[4], const void *row) { dlcEmuLdmatrixX4(r, row, false); }
DLC_DEV void ldmatrix_x4_trans(u32 (&r)[4], const void *row) { dlcEmuLdmatrixX4(r, row, true); }
template <class T, int MI, int NJ>
DLC_DEV void mma_tile(float (&d)[MI][NJ][4], const u32 (&a)[MI][4],
                      const u32 (&b)[(NJ + 1) / 2][4]) {
  dlcEmuMmaTile(&d[0][0][0], &a[0][0], &b[0][0], MI, NJ, mma_type<T>::value);
}
template <class T, int MI, int NJ>
DLC_DEV void mma_tile_sparse(float (&d)[MI][NJ][4], const u32 (&a)[MI][4], const u32 (&places)[MI],
                             const u32 (&b)[NJ][4]) {
  static_assert(sizeof(T) == 2, "sparse operands are of 16-bit types");
  dlcEmuMmaTileSparse(&d[0][0][0], &a[0][0], places, &b[0][0], MI, NJ, mma_type<T>::value);
}
template <bool SIGNED_A, bool SIGNED_B, int MI, int NJ>
DLC_DEV void mma_tile_bytes(i32 (&d)[MI][NJ][4], const u32 (&a)[MI][4], const u32 (&b)[NJ / 2][4]) {
  dlcEmuMmaTileBytes(&d[0][0][0], &a[0][0], &b[0][0], MI, NJ,
                     (SIGNED_A ? DlcEmuSignedA : 0u) | (SIGNED_B ? DlcEmuSignedB : 0u));
}
template <bool SIGNED> DLC_DEV i32 add_bytes(u32 four, i32 total) {
  for (int i = 0; i < 32; i += 8)
    total = (i32)((u32)total + (SIGNED ? (u32)(i32)(i8)(four >> i) : four >> i & 255u));
  return total;
}
/// The f16 of one e4m3.
DLC_DEV u32 half_of_float8(u32 byte) {
  u32 sign = (byte & 0x80u) << 8, exponent = byte >> 3 & 15u, mantissa = byte & 7u;
  if (exponent == 15u && mantissa == 7u)
    return sign | 0x7e00u;
  if (exponent > 0u)
    return sign | (exponent + 8u) << 10 | mantissa << 7;
  float magnitude = (float)mantissa * 0x1p-9f;
  return sign | pack2<f16>(magnitude, 0.0f);
}
DLC_DEV u32 halves_of_float8(u32 pair) {
  return half_of_float8(pair & 255u) | half_of_float8(pair >> 8 & 255u) << 16;
}
DLC_DEV u32 tf32_bits(u32 v) {
  if ((v & 0x7f800000u) == 0x7f800000u)
    return v & 0x007fffffu ? 0x7fffffffu : v;
  return (v + 0x1000u) & 0xffffe000u;
}

DLC_DEV void wgmma_fence() { dlcEmuWgmmaFence(); }
DLC_DEV void wgmma_commit() { dlcEmuWgmmaCommit(); }
template <int N> DLC_DEV void wgmma_wait() { dlcEmuWgmmaWait(N); }
template <class T, int N, bool ALONG_M, bool ALONG_N>
DLC_DEV void wgmma(float (&d)[N / 2], u64 a, u64 b, bool accumulate) {
  dlcEmuWgmma(d, N, a, b, accumulate, mma_type<T>::value,
              (ALONG_M ? DlcEmuAlongM : 0u) | (ALONG_N ? DlcEmuAlongN : 0u));
}
template <bool SIGNED_A, bool SIGNED_B, int N>
DLC_DEV void wgmma_bytes(i32 (&d)[N / 2], u64 a, u64 b, bool accumulate) {
  dlcEmuWgmmaBytes(d, N, a, b, accumulate,
                   (SIGNED_A ? DlcEmuSignedA : 0u) | (SIGNED_B ? DlcEmuSignedB : 0u));
}
template <int N> DLC_DEV void wgmma_float8(float (&d)[N / 2], u64 a, u64 b, bool accumulate) {
  dlcEmuWgmma(d, N, a, b, accumulate, DlcEmuE4m3, 0u);
}
template <class T, int N, bool ALONG_N>
DLC_DEV void wgmma_held(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool accumulate) {
  static_assert(sizeof(T) == 2, "A in registers is of 16-bit types");
  dlcEmuWgmmaHeld(d, N, a, b, accumulate, mma_type<T>::value, ALONG_N ? DlcEmuAlongN : 0u);
}
template <int N>
DLC_DEV void wgmma_held_float8(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool accumulate) {
  dlcEmuWgmmaHeld(d, N, a, b, accumulate, DlcEmuE4m3, 0u);
}
/// The nearest e4m3, ties to even.
DLC_DEV u32 float8_of(float v) {
  u32 bits = (u32)bits_of(v), sign = bits >> 24 & 0x80u, magnitude = bits & 0x7fffffffu;
  if (v != v)
    return 0x7fu;
  u32 code;
  if (magnitude < 0x3c800000u) // below 2^-6 steps are of 2^-9
    code = (u32)rint(abs(v) * 0x1p9f);
  else
    code = ((magnitude + 0x7ffffu + (magnitude >> 20 & 1u)) >> 20) - (120u << 3);
  return sign | (code > 0x7eu ? 0x7eu : code);
}
DLC_DEV u32 pack4_float8(float a, float b, float c, float d) {
  return float8_of(a) | float8_of(b) << 8 | float8_of(c) << 16 | float8_of(d) << 24;
}
DLC_DEV u32 choose_bytes(u32 a, u32 b, u32 selector) {
  u64 both = (u64)b << 32 | a;
  u32 r = 0;
  for (int i = 0; i < 4; ++i)
    r |= (u32)(both >> (selector >> i * 4 & 7u) * 8 & 255u) << i * 8;
  return r;
}
template <class T, int N>
DLC_DEV void wgmma_sparse(float (&d)[N / 2], u64 a, u32 places, u64 b, bool accumulate) {
  static_assert(sizeof(T) == 2, "sparse operands are of 16-bit types");
  dlcEmuWgmmaSparse(d, N, a, places, b, accumulate, mma_type<T>::value);
}
template <int COUNT> DLC_DEV void wgmma_arrived(float (&)[COUNT]) {}
template <int N> DLC_DEV void reg_dealloc() { dlcEmuSetRegisters(N, false); }
template <int N> DLC_DEV void reg_alloc() { dlcEmuSetRegisters(N, true); }

} // namespace dlc
