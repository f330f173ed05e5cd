//===- CudaRunner.h - What the tests of the CUDA path share ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_UNIT_RUNTIME_CUDARUNNER_H
#define DLC_TEST_UNIT_RUNTIME_CUDARUNNER_H

#include "runtime/cuda/driver/DriverAbi.h"
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace dlc::test {

/// The kernel that cudaPackage() launches in each run.
extern const char *const kScaleKernel;

/// y = x * (w + 1) over f32[N,4], N in 0..64, with an init program, an arena buffer and a copy.
PackageBuilder cudaPackage(const std::string &scale = kScaleKernel);

/// A variable of the environment while it lives.
class Environment {
public:
  Environment(const char *name, const std::string &value);
  ~Environment();
  Environment(const Environment &) = delete;

private:
  const char *name;
  std::string before;
  bool wasSet;
};

/// A folder that is removed with all that is in it.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  const std::string &path() const { return name; }

private:
  std::string name;
};

dlc_status openCuda(const PackageBuilder &package, const char *device = "cuda");
/// Runs cudaPackage() on n rows of ascending numbers.
dlc_status runScale(dlc_context *context, int64_t n, std::vector<float> *result = nullptr);
/// The same, and the result must be right.
void expectRight(dlc_context *context, int64_t n);

#if defined(DLC_EMU_DRIVER_PATH)
/// Calls of the emulated driver since the first look at them.
struct DriverCalls {
  int launches = 0, earlyLaunches = 0, graphLaunches = 0, graphsMade = 0, graphsDestroyed = 0,
      captures = 0;
  int graphsUpdated = 0, allocations = 0, uploads = 0, pinned = 0, eventWaits = 0;
  int patches = 0, copyPatches = 0;  ///< launches and copies in graphs that were changed
  cuda::Stream lastStream = nullptr; ///< of a launch or a graph's launch

  /// The calls since `before`.
  DriverCalls operator-(const DriverCalls &before) const;
};
DriverCalls driverCalls();

/// What had not been given back when the emulated driver's context ended last; empty: nothing.
std::string emulatorLeaks();

/// How many programs the emulated NVRTC has compiled since the first call.
int countCompiles();

/// Runs on the emulated GPU, with no cache of kernels.
class Cuda : public testing::Test {
protected:
  Environment driver{"DLC_LIBCUDA", DLC_EMU_DRIVER_PATH};
  Environment nvrtc{"DLC_LIBNVRTC", DLC_EMU_NVRTC_PATH};
  Environment cache{"DLC_CACHE_DIR", ""};
};
#endif

} // namespace dlc::test

#endif // DLC_TEST_UNIT_RUNTIME_CUDARUNNER_H
