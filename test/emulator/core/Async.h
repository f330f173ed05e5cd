//===- Async.h - a thread's copies and products in flight -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dlc::emu {

/// One cp.async: `bytes` to shared memory, of which `sourceBytes` come from global, the rest is 0.
struct AsyncCopy {
  void *shared;
  const void *global;
  uint32_t bytes, sourceBytes;
};

/// One wgmma, not done yet. `type` is a DlcEmuMmaType, `flags` are DlcEmuMajors or, of bytes,
/// DlcEmuSigns. Where A lies in registers: these, and what they held at the issue. Where two of
/// each four elements of A are stored: the thread's word of their places.
struct AsyncProduct {
  void *accumulator; // n / 2 floats, of bytes i32
  int n;
  uint64_t a, b;
  bool accumulate;
  int type;
  unsigned flags;
  int group;
  const unsigned *held = nullptr;
  unsigned words[4] = {};
  bool isSparse = false;
  unsigned places = 0;
};

/// An accumulator that wgmma writes: its true values. The kernel's own registers are poisoned until
/// the last product is done, so that early reads show.
struct HiddenAccumulator {
  void *registers;
  std::vector<uint32_t> values; // their bits
  int inFlight;
};

struct AsyncState {
  std::vector<AsyncCopy> copies;
  /// Ends of the committed groups in `copies`.
  std::vector<size_t> groups;
  std::vector<AsyncProduct> products;
  std::vector<HiddenAccumulator> accumulators;
  /// Number of the wgmma group that is open.
  int productGroup = 0;

  bool hasProducts() const { return !products.empty(); }
  void clear() {
    copies.clear();
    groups.clear();
    products.clear();
    accumulators.clear();
    productGroup = 0;
  }
};

struct Thread;
AsyncState &asyncOf(Thread &thread);

} // namespace dlc::emu
