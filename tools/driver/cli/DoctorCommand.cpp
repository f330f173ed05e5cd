//===- DoctorCommand.cpp - dlc doctor: what this machine can run --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "runtime/core/Text.h"
#include "runtime/cpu/Isa.h"
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/driver/Library.h"
#include "runtime/cuda/kernels/KernelCompiler.h"
#include "runtime/include/dlc/runtime.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/run/Session.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <unistd.h>

static constexpr const char *kExamples =
    R"(Examples:
  dlc doctor
  dlc doctor --device cuda || echo "no GPU"

Exit codes: 0 a model can run here, 5 the device is unusable; the report says
why.)";

namespace dlc {

static std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      return line.substr(line.find(':') + 2);
  return "unknown processor";
}

/// The instruction sets that packages have code for, by the features that the loader asks for.
static bool describeCpu(std::string &out) {
  bool avx2 = cpu::hasFeature("avx2") && cpu::hasFeature("fma");
  bool avx512 = avx2 && cpu::hasFeature("avx512f") && cpu::hasFeature("avx512vl");
  out += "Processor     " + processorName() + ", " +
         std::to_string(std::thread::hardware_concurrency()) + " threads\n";
  out += std::string("CPU code      ") +
         (avx512 ? "usable: avx512"
          : avx2 ? "usable: avx2"
                 : "unusable: dlc needs AVX2 and FMA") +
         "\n";
  return avx2;
}

static std::string version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// Code can be made without a driver, for named GPUs ahead of time.
static bool describeNvrtc(std::string &out, int driverVersion) {
  auto nvrtc = cuda::Nvrtc::open(driverVersion);
  if (nvrtc.failed()) {
    out += "NVRTC         unusable: " + nvrtc.status().message() + "\n";
    return false;
  }
  const cuda::NvrtcFacts &facts = (*nvrtc)->facts;
  out += "NVRTC         " + (*nvrtc)->path + ", " + std::to_string(facts.major) + "." +
         std::to_string(facts.minor) + "\n  compiles for " +
         cuda::describeArchitectures(facts.architectures) + "\n";
  return true;
}

/// Never needed: dlc's kernels compute all that it does.
static void describeCublasLt(std::string &out, int driverVersion) {
  auto blas = cuda::CublasLt::open(driverVersion);
  out += "cuBLASLt      ";
  if (blas.failed())
    out += "not used, dlc's own kernels take its place: " + blas.status().message() + "\n";
  else
    out += (*blas)->path + ", " + (*blas)->versionText() + "\n";
}

static void describeCache(std::string &out) {
  std::string folder = cuda::KernelCache::folderFor(nullptr);
  cuda::KernelCache cache(folder, cuda::KernelCache::limitFromEnvironment());
  out += "Kernel cache  ";
  if (folder.empty())
    out += "turned off (DLC_CACHE_DIR)\n";
  else if (!cache.isOpen())
    out += "unusable: " + cache.problem() + "\n";
  else
    out += folder + ", at most " +
           rt::byteCount(static_cast<uint64_t>(cuda::KernelCache::limitFromEnvironment())) + "\n";
}

static bool describeGpus(std::string &out, const cuda::Driver &driver) {
  int count = 0;
  if (driver.deviceGetCount(&count) != cuda::Result{} || count == 0) {
    out += "GPU           none found by the driver (is CUDA_VISIBLE_DEVICES set?)\n";
    return false;
  }
  bool any = false;
  for (int i = 0; i < count; ++i) {
    auto device = cuda::GpuDevice::open(i);
    any |= !device.failed();
    out += "GPU " + std::to_string(i) + "         " +
           (device.failed()
                ? "unusable: " + device.status().message()
                : (*device)->name() + ", sm_" + std::to_string((*device)->architecture())) +
           "\n";
  }
  return any;
}

static bool describeCuda(std::string &out) {
  auto driver = cuda::Driver::open();
  if (driver.failed())
    out += "CUDA driver   unusable: " + driver.status().message() + "\n";
  else
    out += "CUDA driver   " + (*driver)->path + ", CUDA " + version((*driver)->version) + "\n";
  bool compiles = describeNvrtc(out, driver.failed() ? 0 : (*driver)->version);
  describeCublasLt(out, driver.failed() ? 0 : (*driver)->version);
  describeCache(out);
  return !driver.failed() && describeGpus(out, **driver) && compiles;
}

static int examine(const DeviceOptions &options) {
  std::string problem, out = std::string("dlc           ") + dlc_version() + "\n";
  if (options.device == "cuda-emu" && !useEmulator(problem))
    return fail(kDevice, problem);
  std::error_code error;
  auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  out += std::string("Compiler      ") +
         (access((folder / "dlc-compile").c_str(), X_OK) == 0
              ? (folder / "dlc-compile").string()
              : "dlc-compile is not beside dlc; dlc runs models only") +
         "\n";
  bool cpu = describeCpu(out), cuda = describeCuda(out);
  bool asked = options.device == "auto" ? cpu || cuda : options.device == "cpu" ? cpu : cuda;
  out += "Device        " + options.device + (asked ? ": usable\n" : ": unusable\n");
  return finishOutput(out, asked ? kOk : kDevice);
}

} // namespace dlc

void dlc::addDoctorCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<DeviceOptions>();
  CLI::App *command =
      app.add_subcommand("doctor", "Show what this machine can run, and what keeps it from more");
  setExamples(*command, kExamples);
  setHelp(command->add_option("--device", options->device, "auto, cpu, cuda, cuda-emu [auto]")
              ->check(checkOneOf({"auto", "cpu", "cuda", "cuda-emu"})),
          "Device", "DEVICE", R"(The device that must be usable for exit code 0.)");
  command->callback([&action, options] { action = [options] { return examine(*options); }; });
}
