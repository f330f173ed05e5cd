//===- cluster.cu - kernels of blocks in clusters -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All take x and y of as many floats as there are threads, 64 a block, four blocks a cluster, and give
// each thread the value of the thread of its number in the next block of the cluster. The first one is
// right; each of the others has a mistake.
//===----------------------------------------------------------------------===//
#include "dlc_cluster.cuh"

#if defined(DLC_EMU) || __CUDA_ARCH__ >= 900 // others have no clusters

static DLC_DEV int at() { return (int)(blockIdx.x * 64 + threadIdx.x); }
static DLC_DEV const float *of_next(const float *values) {
  return dlc::map_shared(values, (dlc::cluster_rank() + 1) % 4) + threadIdx.x;
}

DLC_KERNEL_CLUSTER(64, 4) next_block(const float *x, float *y) {
  DLC_DYN_SMEM(smem);
  float *values = reinterpret_cast<float *>(smem);
  values[threadIdx.x] = x[at()];
  dlc::cluster_barrier();
  y[at()] = *of_next(values);
  dlc::cluster_leave();
}

/// Threads that have ended are not waited for.
DLC_KERNEL_CLUSTER(64, 4) next_block_of_half(const float *x, float *y) {
  DLC_DYN_SMEM(smem);
  float *values = reinterpret_cast<float *>(smem);
  if (threadIdx.x >= 32)
    return;
  values[threadIdx.x] = x[at()];
  dlc::cluster_barrier();
  y[at()] = *of_next(values);
  dlc::cluster_barrier();
}

DLC_KERNEL_CLUSTER(64, 4) no_barrier_before(const float *x, float *y) {
  DLC_DYN_SMEM(smem);
  float *values = reinterpret_cast<float *>(smem);
  values[threadIdx.x] = x[at()];
  dlc::barrier();
  y[at()] = *of_next(values);
  dlc::cluster_barrier();
}

DLC_KERNEL_CLUSTER(64, 4) no_barrier_after(const float *x, float *y) {
  DLC_DYN_SMEM(smem);
  float *values = reinterpret_cast<float *>(smem);
  values[threadIdx.x] = x[at()];
  dlc::cluster_barrier();
  y[at()] = *of_next(values);
}

DLC_KERNEL_CLUSTER(64, 4) overwrites(const float *x, float *y) {
  DLC_DYN_SMEM(smem);
  float *values = reinterpret_cast<float *>(smem);
  values[threadIdx.x] = x[at()];
  dlc::cluster_barrier();
  y[at()] = *of_next(values);
  values[threadIdx.x] = 0.0f;
  dlc::cluster_barrier();
}

/// A barrier that orders nothing.
DLC_KERNEL_CLUSTER(64, 4) leaves_and_reads(const float *x, float *y) {
  DLC_DYN_SMEM(smem);
  float *values = reinterpret_cast<float *>(smem);
  values[threadIdx.x] = x[at()];
  dlc::cluster_leave();
  y[at()] = *of_next(values);
  dlc::cluster_leave();
}

DLC_KERNEL_CLUSTER(64, 4) two_kinds_of_barriers(const float *x, float *y) {
  if (threadIdx.x < 32)
    dlc::cluster_barrier();
  else
    dlc::cluster_leave();
  y[at()] = x[at()];
}

DLC_KERNEL_CLUSTER(64, 4) reads_unwritten(const float *x, float *y) {
  DLC_DYN_SMEM(smem);
  float *values = reinterpret_cast<float *>(smem);
  if (dlc::cluster_rank() != 2)
    values[threadIdx.x] = x[at()];
  dlc::cluster_barrier();
  y[at()] = *of_next(values);
  dlc::cluster_barrier();
}

DLC_KERNEL_CLUSTER(64, 4) stores(const float *x, float *y) {
  DLC_DYN_SMEM(smem);
  float *values = reinterpret_cast<float *>(smem);
  values[threadIdx.x] = 0.0f;
  dlc::cluster_barrier();
  *const_cast<float *>(of_next(values)) = x[at()];
  dlc::cluster_barrier();
  y[at()] = values[threadIdx.x];
}

DLC_KERNEL_CLUSTER(64, 4) reads_past_the_end(const float *x, float *y) {
  DLC_DYN_SMEM(smem);
  float *values = reinterpret_cast<float *>(smem);
  values[threadIdx.x] = x[at()];
  dlc::cluster_barrier();
  y[at()] = of_next(values)[1];
  dlc::cluster_barrier();
}

DLC_KERNEL(64) without_clusters(const float *x, float *y) {
  dlc::cluster_barrier();
  y[at()] = x[at()];
}
#endif
