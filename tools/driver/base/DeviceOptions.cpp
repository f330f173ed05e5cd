//===- DeviceOptions.cpp - The device that a subcommand runs a model on -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/DeviceOptions.h"

#include "tools/driver/base/OptionChecks.h"
#include "tools/driver/base/OptionHelp.h"

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
  const char *group = "Device";
  setHelp(
      command.add_option("--device", device, "auto, cpu, cuda, cuda:N, cuda-emu [" + device + "]")
          ->check(checkDevice),
      group, "DEVICE",
      R"(auto      the first GPU that can run the model, else the CPU
cuda:N    the GPU with number N; cuda is cuda:0
cuda-emu  CUDA kernels emulated on the CPU: slow, for tests)");
  setHelp(command.add_option("--threads", threads, "CPU threads [one per usable core]")
              ->check(checkRange(0, 4096)),
          group, "N");
  setHelp(command.add_flag("--verify", verifyAll, "Check the hash of every weight"), group, "",
          R"(By default the hashes of large weights are not checked.)");
  setHelp(command.add_flag("--no-jit", noJit, "CUDA: fail rather than compile kernels at load"),
          group, "", R"(Needs a model compiled for the GPU, as by 'dlc compile --target sm_90a'.)");
  setHelp(command.add_flag("--no-graph", noGraph, "CUDA: launch kernel by kernel, without graphs"),
          group, "", R"(By default a CUDA graph launches all kernels from the second run on.)");
  setHelp(command.add_flag("--no-overlap", noOverlap, "CUDA: start a kernel when the last ended"),
          group, "");
  auto *always = setHelp(
      command.add_flag("--cublas", cublas, "CUDA: use cuBLASLt for every matmul it can run"), group,
      "", R"(By default cuBLASLt runs only large matmuls.)");
  setHelp(command.add_flag("--no-cublas", noCublas, "CUDA: never use cuBLASLt"), group, "")
      ->excludes(always);
  setHelp(command.add_option("--timeout", timeout, "Fail if a run takes longer [none]")
              ->check(checkRange(0.001, 1e6)),
          group, "SECONDS");
  auto *folder = setHelp(
      command.add_option("--cache-dir", cacheFolder, "CUDA: folder of compiled kernels"), group,
      "DIR", R"(Default: $DLC_CACHE_DIR, else dlc/kernels in $XDG_CACHE_HOME or ~/.cache.)");
  setHelp(command.add_flag("--no-cache", noCache, "CUDA: do not read or write compiled kernels"),
          group, "")
      ->excludes(folder);
}

} // namespace dlc
