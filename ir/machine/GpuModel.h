//===- GpuModel.h - What estimates of kernels know of a GPU ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_MACHINE_GPUMODEL_H
#define DLC_IR_MACHINE_GPUMODEL_H

#include <cstdint>

namespace dlc {

/// The rates of a GPU that estimates use: for one multiprocessor and clock.
struct GpuModel {
  int64_t multiprocessors;
  int64_t sharedBytes;  // of a multiprocessor
  int64_t threads;      // that it holds
  double halfProducts;  // multiply-adds of 16-bit elements on tensor cores; of bytes twice as many
  double floatProducts; // multiply-adds of floats
  double bytesFromL2;   // that arrive, all of them busy
  double clocksOfLatency; // from a copy's issue to its data
  double gigahertz;
  double memoryBytes; // a nanosecond, of the whole GPU
};

/// An A100: sm_80; an H100: sm_90, whose mma.sync is slower than its wgmma. As all after sm_80 it
/// multiplies floats twice as fast, which makes shared memory twice as dear. Only the memory of the
/// H100 is a measurement; the other rates are modelled.
extern const GpuModel kAmpere, kHopper;

} // namespace dlc

#endif // DLC_IR_MACHINE_GPUMODEL_H
