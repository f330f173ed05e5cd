//===- Gpu.h - kernels of our own choosing on a GPU -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime launches what a package says; the hardware check also launches single kernels. It
// takes the driver, NVRTC and their errors from the runtime, so that what holds here holds there.
//===----------------------------------------------------------------------===//
#ifndef DLC_TEST_HARDWARE_GPU_H
#define DLC_TEST_HARDWARE_GPU_H

#include "runtime/core/Status.h"
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/kernels/KernelText.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
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

/// The arguments of a launch, as the driver takes them.
class Arguments {
public:
  Arguments(Gpu &gpu) : gpu(gpu) { values.reserve(16); }
  template <class T> Arguments &input(const std::vector<T> &data) {
    return pointer(data.data(), data.size() * sizeof(T));
  }
  /// Memory filled with `byte`; what it holds afterwards belongs to the answer.
  Arguments &output(size_t bytes, char byte = 0x5a) {
    std::vector<char> fill(bytes, byte);
    pointer(fill.data(), bytes);
    outputs.push_back({cuda::DevicePtr(values.back()), bytes});
    return *this;
  }
  Arguments &number(int32_t value) {
    values.push_back(uint32_t(value));
    return *this;
  }
  Arguments &map(const TensorMap &map) {
    maps.push_back(map);
    mapAt.push_back(values.size());
    values.push_back(0);
    return *this;
  }

  rt::Status launch(cuda::Function function, const Gpu::Launch &how, std::vector<char> &answer) {
    DLC_TRY(status);
    std::vector<void *> parameters;
    for (uint64_t &value : values)
      parameters.push_back(&value);
    for (size_t i = 0; i < maps.size(); ++i)
      parameters[mapAt[i]] = &maps[i];
    DLC_TRY(gpu.enqueue(function, how, parameters.data()));
    for (auto &[address, bytes] : outputs) {
      size_t begin = answer.size();
      answer.resize(begin + bytes);
      DLC_TRY(gpu.download(address, answer.data() + begin, bytes));
    }
    return {};
  }

  Gpu &gpu;
  cuda::DevicePtr last() const { return cuda::DevicePtr(values.back()); }
  rt::Status status;

private:
  Arguments &pointer(const void *data, size_t bytes) {
    auto address = gpu.upload(data, bytes);
    if (address.failed() && !status.failed())
      status = address.status();
    values.push_back(address.failed() ? 0 : *address);
    return *this;
  }

  std::vector<uint64_t> values;
  std::vector<TensorMap> maps;
  std::vector<size_t> mapAt;
  std::vector<std::pair<cuda::DevicePtr, size_t>> outputs;
};

} // namespace dlc::hardware

#endif // DLC_TEST_HARDWARE_GPU_H
