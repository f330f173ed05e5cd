//===- dlc_cluster.cuh - blocks that read each other's shared memory ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a cluster (DLC_KERNEL_CLUSTER) are resident at once, on multiprocessors that reach each
// other's shared memory. For sm_90 and later.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_device.cuh"

#if defined(DLC_EMU) || __CUDA_ARCH__ >= 900
/// Text for GPUs with clusters is under this: for older ones it compiles to nothing.
#define DLC_HAS_CLUSTERS 1
#endif

#ifdef DLC_EMU
#include "dlc_emu_cluster.h"
#elif __CUDA_ARCH__ >= 900
namespace dlc {

/// The number of this block in its cluster.
DLC_DEV u32 cluster_rank() {
  u32 r;
  asm("mov.u32 %0,%%cluster_ctarank;" : "=r"(r));
  return r;
}
/// Waits for all threads of the cluster that have not ended; what they wrote is seen by all. Whole
/// warps call it together.
DLC_DEV void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}
/// The same where nothing is read after it. A block whose memory others read must not end before
/// they have: this is how they leave together. It does not wait for stores to memory.
DLC_DEV void cluster_leave() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\n"
               "barrier.cluster.wait.aligned;" ::
                   : "memory");
}
/// Maps `p`, in this block's dynamic shared memory, to the same location in block `rank` of the
/// cluster.
template <class T> DLC_DEV const T *map_shared(const T *p, u32 rank) {
  u64 mapped;
  asm("mapa.u64 %0,%1,%2;" : "=l"(mapped) : "l"(p), "r"(rank));
  return reinterpret_cast<const T *>(mapped);
}

} // namespace dlc
#endif
