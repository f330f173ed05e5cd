//===- Cluster.cpp - blocks that read each other's shared memory -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cluster runs on one host thread, and its blocks are all that are open there.
//===----------------------------------------------------------------------===//
#include "test/emulator/check/Checker.h"
#include "test/emulator/core/Worker.h"

namespace dlc::emu {

Block *Worker::blockOf(const void *p) {
  for (auto &block : open)
    if (block->isShared(p))
      return block.get();
  return nullptr;
}

void Worker::releaseClusterBarrier() {
  atClusterBarrier = 0;
  if (Checker *checker = current->checker; checker && clusterBarrierOrders) {
    std::vector<Block *> blocks;
    for (auto &block : open)
      blocks.push_back(block.get());
    checker->meet(blocks);
  }
  for (auto &block : open) {
    block->remoteReads.clear();
    for (Thread &thread : block->threads)
      if (thread.state == ThreadState::AtClusterBarrier)
        makeReady(thread);
  }
}

void Worker::joinClusterBarrier(bool orders) {
  if (clusterSize() == 1)
    failThread(Fault::LaunchFailed, "cluster_barrier in a kernel without clusters");
  if (atClusterBarrier && clusterBarrierOrders != orders)
    failThread(Fault::LaunchFailed,
               "divergent barrier: some threads of the cluster wait at cluster_barrier, others at "
               "cluster_leave");
  clusterBarrierOrders = orders;
  self().state = ThreadState::AtClusterBarrier;
  if (++atClusterBarrier == live)
    releaseClusterBarrier();
  suspend();
}

} // namespace dlc::emu

using namespace dlc::emu;

extern "C" {

unsigned dlcEmuClusterRank() {
  Block &block = self().home();
  return block.index.x % block.worker->clusterSize();
}

void dlcEmuClusterBarrier(bool orders) { self().home().worker->joinClusterBarrier(orders); }

const void *dlcEmuClusterMap(const void *p, unsigned rank) {
  Block &block = self().home();
  uint32_t offset = block.sharedOffset(p);
  if (!block.isShared(p) || offset < block.dynamicOffset)
    failThread(Fault::IllegalAddress, "map_shared: %p is not in the block's dynamic shared memory",
               p);
  if (rank >= block.worker->clusterSize())
    failThread(Fault::IllegalAddress, "map_shared: block %u of a cluster of %u", rank,
               block.worker->clusterSize());
  return block.worker->blockOfCluster(rank).shared + offset;
}

} // extern "C"
