//===- Settings.h - what the environment asks of the emulator ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>

namespace dlc::emu {

/// In which order threads and blocks run: as numbered, backwards, or drawn by a seeded generator.
enum class Policy { Order, Reverse, Random };

/// Bytes of a multiprocessor's shared memory that each block takes beside its own.
constexpr int kReservedShared = 1024;

struct Settings {
  Policy policy = Policy::Order;
  uint64_t seed = 1;
  /// Report races, accesses out of bounds, misalignment and reads of unwritten shared memory.
  bool check = false;
  /// Host threads; 0 means one a core. Checked launches use one.
  int workers = 0;
  /// Compute capability of the device: 90 for 9.0.
  int arch = 90;
  /// What cuDriverGetVersion says.
  int driverVersion = 13000;
  /// Multiprocessors of the device; 0 where DLC_EMU_MULTIPROCESSORS does not say: then there are
  /// four, and a cooperative launch of any size is taken.
  int multiprocessors = 0;
  /// Shared memory that a block may ask for, static and dynamic, in bytes: the architecture's, or
  /// less.
  int sharedBytes = 227 << 10;
  /// Kernels are not computed: what is left is the host's time. A process that begins so reads its
  /// settings once.
  bool idle = false;

  /// "order", "reverse" or "random:SEED", as DLC_EMU_POLICY takes it.
  std::string describePolicy() const;
};

/// Shared memory that a block may ask for on this compute capability (CUDA programming guide,
/// technical specifications), in bytes; of one that is not known, what the nearest older one has.
int sharedLimit(int arch);

/// Reads DLC_EMU_POLICY, DLC_EMU_CHECK, DLC_EMU_WORKERS, DLC_EMU_ARCH, DLC_EMU_DRIVER,
/// DLC_EMU_MULTIPROCESSORS, DLC_EMU_SHARED and DLC_EMU_IDLE, afresh at each call: a test switches
/// between launches. A value that cannot be read is reported on stderr once and left at its
/// default.
Settings readSettings();

} // namespace dlc::emu
