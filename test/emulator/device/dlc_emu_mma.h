//===- dlc_emu_mma.h - tensor cores, emulated -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for the PTX half of dlc_mma.cuh.
//===----------------------------------------------------------------------===//
#pragma once

namespace dlc {

template <class T> struct is_bf16 {
  static constexpr bool value = false;
};
template <> struct is_bf16<bf16> {
  static constexpr bool value = true;
};

DLC_DEV void ldmatrix_x4(u32 (&r)[4], const void *row) { dlcEmuLdmatrixX4(r, row, false); }
DLC_DEV void ldmatrix_x4_trans(u32 (&r)[4], const void *row) { dlcEmuLdmatrixX4(r, row, true); }
template <class T, int MI, int NJ>
DLC_DEV void mma_tile(float (&d)[MI][NJ][4], const u32 (&a)[MI][4], const u32 (&b)[NJ / 2][4]) {
  dlcEmuMmaTile(&d[0][0][0], &a[0][0], &b[0][0], MI, NJ, is_bf16<T>::value);
}

DLC_DEV void wgmma_fence() { dlcEmuWgmmaFence(); }
DLC_DEV void wgmma_commit() { dlcEmuWgmmaCommit(); }
template <int N> DLC_DEV void wgmma_wait() { dlcEmuWgmmaWait(N); }
template <class T> DLC_DEV void wgmma_m64n128k16(float (&d)[64], u64 a, u64 b, bool accumulate) {
  dlcEmuWgmma(d, 128, a, b, accumulate, is_bf16<T>::value);
}
template <int N> DLC_DEV void reg_dealloc() {}
template <int N> DLC_DEV void reg_alloc() {}

} // namespace dlc
