//===- GpuModel.h - What estimates of kernels know of a GPU ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_MACHINE_GPUMODEL_H
#define DLC_IR_MACHINE_GPUMODEL_H

#include <cstdint>

namespace dlc {

/// How fast one multiprocessor runs a kernel that multiplies slabs out of a ring of stages in shared memory.
struct RingRates {
  double
      products; ///< multiply-adds a clock: of floats, or on tensor cores of 16-bit elements (of bytes twice as many)
  double bytes; ///< bytes a clock that arrive from L2 while all multiprocessors ask for them
  double latency;   ///< clocks from the issue of a copy to its data
  double ends;      ///< clocks of a block before its first product and after its last
  double total;     ///< clocks of the way of one total to its result
  double exchange;  ///< bytes of totals a clock, between blocks that share a tile
  double meeting;   ///< clocks in which blocks that share a tile meet
  double leastPart; ///< clocks of reading the totals of one block at least
};

/// The rates of a GPU that estimates use. Those of one multiprocessor are for one clock.
struct GpuModel {
  int64_t multiprocessors;
  int64_t sharedBytes; ///< of a multiprocessor
  int64_t threads;     ///< that a multiprocessor holds
  double halfProducts; ///< multiply-adds of 16-bit elements on tensor cores; of bytes twice as many
  double floatProducts;   ///< multiply-adds of floats
  double clocksOfLatency; ///< from a copy's issue to its data
  double gigahertz;
  double memoryBytes; ///< a nanosecond, of the whole GPU
  double
      bytesOnce; ///< a clock, of the whole GPU: a product takes no less than all of its bytes once
  double launch; ///< microseconds of a kernel that has nothing to do, between two events
  RingRates mma; ///< contract_mma, on tensor cores
  RingRates wgmma;  ///< contract_wgmma; all 0 where a GPU has none
  RingRates floats; ///< contract_simt
};

/// An A100 (sm_80), all of whose rates are modelled.
extern const GpuModel kAmpere;
/// An H100 SXM (sm_90). `mma`, `wgmma`, `bytesOnce` and `launch` are fitted to 1,194 measured tiles
/// (test/bench/results/tiles-nvidia-h100-80gb-hbm3-2026-11-23.csv; `tools/scripts/bench tiles` fits them anew), and
/// `memoryBytes` was measured. `floats` is modelled.
extern const GpuModel kHopper;

} // namespace dlc

#endif // DLC_IR_MACHINE_GPUMODEL_H
