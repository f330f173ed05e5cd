//===- dlc_emu_cluster.h - clusters of blocks, emulated -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for the PTX half of dlc_cluster.cuh.
//===----------------------------------------------------------------------===//
#pragma once

namespace dlc {

DLC_DEV u32 cluster_rank() { return dlcEmuClusterRank(); }
DLC_DEV void cluster_barrier() { dlcEmuClusterBarrier(true); }
DLC_DEV void cluster_leave() { dlcEmuClusterBarrier(false); }
template <class T> DLC_DEV const T *map_shared(const T *p, u32 rank) {
  return static_cast<const T *>(dlcEmuClusterMap(p, rank));
}

} // namespace dlc
