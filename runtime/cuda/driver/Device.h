//===- Device.h - One GPU: its context, its limits, its first fatal error -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_DRIVER_DEVICE_H
#define DLC_RUNTIME_CUDA_DRIVER_DEVICE_H

#include "runtime/core/Status.h"
#include "runtime/cuda/driver/Library.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>

namespace dlc::cuda {

/// A GPU with its primary context retained, shared by all modules on it. Safe to use from many
/// threads.
class GpuDevice {
public:
  /// DLC_UNSUPPORTED with the reason where there is no such GPU or it is older than Ampere.
  static rt::Expected<std::shared_ptr<GpuDevice>> open(int ordinal);
  ~GpuDevice();
  GpuDevice(const GpuDevice &) = delete;
  GpuDevice &operator=(const GpuDevice &) = delete;

  const Driver &driver() const { return cuda; }
  Context context() const { return primary; }
  int ordinal() const { return index; }
  const std::string &name() const { return deviceName; }
  /// 90 for compute capability 9.0.
  int architecture() const { return arch; }
  int multiprocessors() const { return processors; }
  /// Shared memory that a block may ask for, in bytes.
  int sharedLimit() const { return maxShared; }

  /// What the hardware can do at its highest clocks: f32 operations (an fma is two) and bytes of
  /// memory, a second. 0 where it is not known.
  struct Peak {
    double flops = 0, bytes = 0;
  };
  Peak peak() const;

  /// Turns the result of a call into a Status; `what` ("launch kernel 'k'") says what was tried.
  /// Errors after which the context is lost are kept.
  rt::Status check(Result result, const std::string &what);
  /// The first error after which nothing on this device works any more in this process. DLC_USAGE
  /// in a process that was forked from the one that opened the device.
  rt::Status usable() const;

  /// Something on the device does not end: keeps `what` ("the run ...") as the error. Whoever would
  /// wait for the device, to free things among others, must ask isHung() first.
  rt::Status hang(const std::string &what);
  bool isHung() const { return hung; }

private:
  GpuDevice(const Driver &cuda, int index) : cuda(cuda), index(index) {}
  rt::Status start();

  const Driver &cuda;
  int index;
  pid_t process = getpid(); ///< that opened it
  Device device = 0;
  Context primary = nullptr;
  std::string deviceName;
  int arch = 0, maxShared = 0, processors = 0;
  std::atomic<bool> hung = false;
  mutable std::mutex lock; ///< of `fatal`
  rt::Status fatal;
};

/// Makes a device's context current and afterwards the caller's again.
class ContextScope {
public:
  explicit ContextScope(GpuDevice &device)
      : device(device), entered(device.check(device.driver().ctxPushCurrent(device.context()),
                                             "enter the context")) {}
  ~ContextScope() {
    Context ours;
    if (!entered.failed())
      device.driver().ctxPopCurrent(&ours);
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  const rt::Status &status() const { return entered; }

private:
  GpuDevice &device;
  rt::Status entered;
};

/// GPU memory. Move-only. Its functions need the device's context to be current.
class DeviceBlock {
public:
  DeviceBlock() = default;
  DeviceBlock(DeviceBlock &&other) noexcept { swap(other); }
  DeviceBlock &operator=(DeviceBlock &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBlock() { release(); }

  /// At least `bytes`; the contents are lost where that needs a new block, which has some room for
  /// the next time. After a failure it is empty, and the message says how much `what` ("the
  /// weights") need and how much is free.
  rt::Status reserve(GpuDevice &device, int64_t bytes, const char *what);
  void release();
  DevicePtr address() const { return base; }

private:
  void swap(DeviceBlock &other) noexcept {
    std::swap(owner, other.owner);
    std::swap(base, other.base);
    std::swap(bytes, other.bytes);
  }

  GpuDevice *owner = nullptr;
  DevicePtr base = 0;
  int64_t bytes = 0;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_DRIVER_DEVICE_H
