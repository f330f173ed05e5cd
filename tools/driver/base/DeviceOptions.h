//===- DeviceOptions.h - The device that a subcommand runs a model on ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_BASE_DEVICEOPTIONS_H
#define DLC_TOOLS_DRIVER_BASE_DEVICEOPTIONS_H

#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace dlc {

struct DeviceOptions {
  std::string device = "auto";
  int threads = 0;
  bool checked = false, verifyAll = false, noJit = false, noCache = false, noGraph = false,
       noOverlap = false;
  bool noCublas = false, cublas = false;
  double timeout = 0;      // seconds; 0: none
  bool timeDevice = false; // not an option of its own
  std::string cacheFolder; // empty: as the environment has it
  /// Declares the options on a subcommand.
  void declare(CLI::App &command);
};

/// A sentence on why `name` does not name a device; empty where it does.
std::string checkDevice(const std::string &name);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_BASE_DEVICEOPTIONS_H
