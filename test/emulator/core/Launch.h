//===- Launch.h - one emulated kernel launch --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "test/emulator/core/Fault.h"
#include "test/emulator/core/Settings.h"
#include "test/emulator/device/dlc_emu_abi.h"
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace dlc::emu {

class Checker;

/// What to launch. The driver has checked its limits.
struct LaunchRequest {
  void (*call)(void **params) = nullptr;
  void **params = nullptr;
  size_t paramCount = 0;
  std::string kernel;
  DlcEmuDim grid{1, 1, 1}, block{1, 1, 1};
  /// Blocks that run at once and may read each other's shared memory: neighbours along the grid's
  /// x.
  uint32_t cluster = 1;
  uint32_t dynamicShared = 0;
  /// All blocks are resident at once, and may meet at the grid barrier.
  bool cooperative = false;
  /// It may begin before the kernels before it in its stream have ended.
  bool early = false;
  /// The kernel's code and parameters: reads of them are no stray reads.
  const void *image = nullptr;
  size_t imageBytes = 0;
  const void *paramBlock = nullptr;
  size_t paramBlockBytes = 0;
};

struct LaunchResult {
  Fault fault = Fault::None;
  /// Empty if there was no fault.
  std::string report;
  /// Static shared memory that the kernel asked for, in bytes.
  uint32_t staticShared = 0;
};

/// The state of a launch that its workers share.
class Launch {
public:
  Launch(const LaunchRequest &request, const Settings &settings);

  const LaunchRequest &request;
  const Settings settings;
  const uint32_t clusterCount;
  /// Null in an unchecked launch.
  Checker *checker = nullptr;
  std::atomic<bool> failed{false};
  std::atomic<uint32_t> staticShared{0};

  /// The first block of the next cluster to run, or false if none is left.
  bool nextCluster(uint32_t &number);
  /// Keeps the first report, with the kernel and the policy added.
  void fail(Fault fault, const Text &what);

  LaunchResult result;

private:
  std::atomic<uint32_t> started{0};
  std::vector<uint32_t> order;
  std::mutex mutex;
};

/// Runs a kernel to its end. Safe to call from several host threads at a time.
LaunchResult runLaunch(const LaunchRequest &request, const Settings &settings);

} // namespace dlc::emu
