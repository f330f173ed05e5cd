//===- dlc_emu_async.h - asynchronous copies, emulated --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for the PTX half of dlc_async.cuh.
//===----------------------------------------------------------------------===//
#pragma once

namespace dlc {

DLC_DEV void cp_async16(void *shared, const void *global, int source_bytes) {
  dlcEmuCopyAsync(shared, global, 16, source_bytes);
}
template <int BYTES> DLC_DEV void cp_async(void *shared, const void *global, bool copy) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "what cp.async copies");
  dlcEmuCopyAsync(shared, global, BYTES, copy ? BYTES : 0);
}
DLC_DEV void cp_async_commit() { dlcEmuCopyCommit(); }
template <int N> DLC_DEV void cp_async_wait() { dlcEmuCopyWait(N); }

DLC_DEV void mbar_init(u64 *bar, u32 count) { dlcEmuMbarInit(bar, count); }
DLC_DEV void mbar_fence_init() { dlcEmuMbarFenceInit(); }
DLC_DEV void mbar_expect_tx(u64 *bar, u32 bytes) { dlcEmuMbarExpect(bar, bytes); }
DLC_DEV void mbar_arrive(u64 *bar) { dlcEmuMbarArrive(bar); }
DLC_DEV void mbar_wait(u64 *bar, u32 phase) { dlcEmuMbarWait(bar, phase); }
DLC_DEV void prefetch_map(const tensor_map *) {}
DLC_DEV void fence_async() { dlcEmuFenceAsync(); }
DLC_DEV void tma_load_2d(void *shared, const tensor_map *map, u64 *bar, int c0, int c1) {
  dlcEmuTmaLoad2d(shared, map, bar, c0, c1);
}

} // namespace dlc
