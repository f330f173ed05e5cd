//===- DeviceOptions.cpp - The device that a subcommand runs a model on -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/DeviceOptions.h"

#include "tools/driver/base/OptionChecks.h"

#include <CLI/CLI.hpp>

namespace dlc {

std::string checkDevice(const std::string &name) {
  bool isGpu = name.starts_with("cuda:") && name.size() > 5 && name.size() < 9 &&
               name.find_first_not_of("0123456789", 5) == std::string::npos;
  return isGpu || name == "auto" || name == "cpu" || name == "cuda" || name == "cuda-emu"
             ? std::string()
             : "unknown device '" + name + "'; expected auto, cpu, cuda, cuda:N or cuda-emu";
}

void DeviceOptions::declare(CLI::App &command) {
  command
      .add_option("--device", device,
                  "auto, cpu, cuda, cuda:1, or cuda-emu (CUDA kernels emulated on the CPU)")
      ->check(checkDevice)
      ->capture_default_str();
  command
      .add_option("--threads", threads,
                  "CPU threads (default: one for each core that the process may use)")
      ->check(checkRange(0, 4096));
  command.add_flag("--verify", verifyAll, "Check the hash of every weight, however large");
  command.add_flag(
      "--no-jit", noJit,
      "CUDA: fail where the model was not compiled for the GPU ('dlc compile --target sm_90a')");
  command.add_flag("--no-graph", noGraph,
                   "CUDA: launch kernel by kernel, not by a CUDA graph from the second run on");
  command.add_flag("--no-overlap", noOverlap,
                   "CUDA: no kernel begins before the one before it has ended");
  auto *always =
      command.add_flag("--cublas", cublas,
                       "CUDA: cuBLASLt for each plain matrix product that it can do (default: for "
                       "those large enough)");
  command.add_flag("--no-cublas", noCublas, "CUDA: dlc's own kernels for all matrix products")
      ->excludes(always);
  command
      .add_option("--timeout", timeout,
                  "Seconds after which a run that has not ended fails (default: none)")
      ->check(checkRange(0.001, 1e6));
  auto *folder = command.add_option("--cache-dir", cacheFolder,
                                    "CUDA: folder of compiled kernels (default: $DLC_CACHE_DIR, "
                                    "else dlc/kernels in $XDG_CACHE_HOME or ~/.cache)");
  command.add_flag("--no-cache", noCache, "CUDA: neither take nor keep compiled kernels")
      ->excludes(folder);
}

} // namespace dlc
