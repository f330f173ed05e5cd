//===- Gpu.h - kernels of our own choosing on a GPU -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime launches what a package says; the hardware check also launches single kernels. It takes the driver, NVRTC and
// their errors from the runtime, so that what holds here holds there.
//===----------------------------------------------------------------------===//
#ifndef DLC_TEST_HARDWARE_GPU_H
#define DLC_TEST_HARDWARE_GPU_H

#include "runtime/core/Status.h"
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/kernels/KernelText.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dlc::hardware {

/// A CUtensorMap.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

/// A GPU whose context is current while this lives. Memory and code are released with it.
class Gpu {
public:
  static rt::Expected<std::unique_ptr<Gpu>> open(int ordinal);
  ~Gpu();

  const std::string &name() const { return device->name(); }
  /// 90 for compute capability 9.0.
  int architecture() const { return device->architecture(); }
  const cuda::Driver &driver() const { return device->driver(); }

  /// Kernel `kernel` of `text`, which is compiled when it is first asked for.
  rt::Expected<cuda::Function> find(const cuda::KernelText &text, const std::string &kernel);

  rt::Expected<cuda::DevicePtr> upload(const void *data, size_t bytes);
  rt::Status download(cuda::DevicePtr source, void *data, size_t bytes);

  struct Launch {
    Dim grid, block;
    unsigned sharedBytes = 0;
    bool isCooperative = false;
  };
  /// Launches without waiting.
  rt::Status enqueue(cuda::Function function, const Launch &launch, void **parameters);
  rt::Status wait();

  /// Rows of `columns` values of bf16 (9 in CUtensorMapDataType), boxes with the 128-byte swizzle.
  rt::Status encode(TensorMap &map, cuda::DevicePtr base, unsigned rows, unsigned columns,
                    unsigned boxRows, unsigned boxColumns);

  cuda::Stream stream() const { return queue; }
  rt::Status check(cuda::Result result, const std::string &what) {
    return device->check(result, what);
  }

private:
  explicit Gpu(std::shared_ptr<cuda::GpuDevice> device) : device(std::move(device)) {}
  rt::Status start();

  std::shared_ptr<cuda::GpuDevice> device;
  std::unique_ptr<cuda::ContextScope> scope;
  cuda::Stream queue = nullptr;
  std::map<const char *, cuda::Module> modules; ///< by their text
  std::vector<cuda::DevicePtr> blocks;
};

} // namespace dlc::hardware

#endif // DLC_TEST_HARDWARE_GPU_H
