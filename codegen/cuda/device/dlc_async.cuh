//===- dlc_async.cuh - copies that run beside the computation -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async for sm_80 and later; mbarriers and TMA for sm_90a.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_device.cuh"

namespace dlc {

/// A CUtensorMap, passed as a DLC_GRID_CONST parameter.
struct alignas(64) tensor_map {
  u64 opaque[16];
};

} // namespace dlc

#ifdef DLC_EMU
#include "dlc_emu_async.h"
#else

namespace dlc {

//===-- cp.async (sm_80) --------------------------------------------------===//

/// Copies 16 bytes, of which the first `source_bytes` are read and the others are zero. Both
/// addresses aligned to 16.
DLC_DEV void cp_async16(void *shared, const void *global, int source_bytes) {
  asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(smem_u32(shared)), "l"(global),
               "r"(source_bytes)
               : "memory");
}
/// Copies BYTES (4, 8 or 16), or zeroes them where not `copy`. Both addresses aligned to BYTES;
/// `global` is not read otherwise.
template <int BYTES> DLC_DEV void cp_async(void *shared, const void *global, bool copy) {
  if constexpr (BYTES == 16)
    cp_async16(shared, global, copy ? 16 : 0);
  else
    asm volatile("cp.async.ca.shared.global [%0],[%1],%2,%3;" ::"r"(smem_u32(shared)), "l"(global),
                 "n"(BYTES), "r"(copy ? BYTES : 0)
                 : "memory");
}
/// Ends the group of this thread's copies since the last one.
DLC_DEV void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most N of this thread's groups are in flight.
template <int N> DLC_DEV void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
//===-- mbarriers and TMA (sm_90a) ----------------------------------------===//

/// A barrier in shared memory whose phase ends after `count` arrivals and the bytes announced.
DLC_DEV void mbar_init(u64 *bar, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0],%1;" ::"r"(smem_u32(bar)), "r"(count)
               : "memory");
}
/// After the inits, before other threads or TMA use the barriers.
DLC_DEV void mbar_fence_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Arrives, and announces bytes that copies will bring in this phase.
DLC_DEV void mbar_expect_tx(u64 *bar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" ::"r"(smem_u32(bar)),
               "r"(bytes)
               : "memory");
}
DLC_DEV void mbar_arrive(u64 *bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _,[%0];" ::"r"(smem_u32(bar)) : "memory");
}
/// Waits for the end of the phase of this parity. A fresh barrier is in phase 0.
DLC_DEV void mbar_wait(u64 *bar, u32 phase) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done,[%0],%1;\n"
               "@!done bra again;\n"
               "}" ::"r"(smem_u32(bar)),
               "r"(phase)
               : "memory");
}
/// Asks for the map, a parameter, so that the first copy by it need not wait for it.
DLC_DEV void prefetch_map(const tensor_map *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
/// Copies the map's box at column c0, row c1 to shared memory (aligned to 128 bytes; 1024 with the
/// 128-byte swizzle) and counts its bytes at the barrier. Outside the array it brings zeros.
DLC_DEV void tma_load_2d(void *shared, const tensor_map *map, u64 *bar, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0],[%1,{%3,%4}],[%2];" ::"r"(smem_u32(shared)),
               "l"(map), "r"(smem_u32(bar)), "r"(c0), "r"(c1)
               : "memory");
}
/// Orders this thread's plain accesses to shared memory before later asynchronous ones.
DLC_DEV void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#endif // sm_90a

} // namespace dlc
#endif // DLC_EMU
