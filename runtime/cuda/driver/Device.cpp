//===- Device.cpp - One GPU: its context, its limits, its first fatal error ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Device.h"

#include "ir/machine/GpuModel.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <iterator>
#include <map>

using namespace dlc;
using namespace dlc::cuda;
using rt::Status;
using rt::text;

/// The oldest supported GPU: Ampere.
static constexpr int kOldestArchitecture = 80;

/// Errors that leave the context, and with it all its memory and handles, useless.
static bool isFatal(Result result) {
  switch (result) {
  case Result::Deinitialized:
  case Result::EccUncorrectable:
  case Result::Contained:
  case Result::IllegalAddress:
  case Result::LaunchTimeout:
  case Result::ContextIsDestroyed:
  case Result::Assert:
  case Result::HardwareStackError:
  case Result::IllegalInstruction:
  case Result::MisalignedAddress:
  case Result::InvalidAddressSpace:
  case Result::InvalidPc:
  case Result::LaunchFailed:
    return true;
  default:
    return false;
  }
}

rt::Expected<std::shared_ptr<GpuDevice>> GpuDevice::open(int ordinal) {
  rt::Expected<const Driver *> driver = Driver::open();
  if (driver.failed())
    return driver.status();
  static auto &lock = *new std::mutex;
  static auto &devices = *new std::map<std::pair<const Driver *, int>, std::weak_ptr<GpuDevice>>;
  std::lock_guard guard(lock);
  std::weak_ptr<GpuDevice> &slot = devices[{*driver, ordinal}];
  if (std::shared_ptr<GpuDevice> device = slot.lock())
    return device;
  std::shared_ptr<GpuDevice> device(new GpuDevice(**driver, ordinal));
  DLC_TRY(device->start());
  slot = device;
  return device;
}

Status GpuDevice::start() {
  auto unusable = [&](const std::string &why) {
    return Status(DLC_UNSUPPORTED, text("CUDA device ", index, " is not usable: ", why));
  };
  int count = 0;
  Result result = cuda.deviceGetCount(&count);
  if (result != Result::Success)
    return unusable(text("cuDeviceGetCount: ", cuda.explain(result)));
  if (index < 0 || index >= count)
    return unusable(
        count == 0
            ? std::string("the driver sees no GPU (is CUDA_VISIBLE_DEVICES set?)")
            : text("the driver sees ", count, count == 1 ? " GPU" : " GPUs", ", numbered from 0"));
  if (result = cuda.deviceGet(&device, index); result != Result::Success)
    return unusable(text("cuDeviceGet: ", cuda.explain(result)));
  char buffer[256] = {};
  if (cuda.deviceGetName(buffer, sizeof(buffer) - 1, device) == Result::Success)
    deviceName = buffer;
  int major = 0, minor = 0, shared = 0;
  auto read = [&](int &value, DeviceAttribute attribute) {
    return cuda.deviceGetAttribute(&value, attribute, device) == Result::Success;
  };
  if (!read(major, DeviceAttribute::ComputeCapabilityMajor) ||
      !read(minor, DeviceAttribute::ComputeCapabilityMinor) ||
      !read(processors, DeviceAttribute::MultiprocessorCount) ||
      !read(shared, DeviceAttribute::MaxSharedMemoryPerBlockOptin))
    return unusable("the driver does not tell its compute capability");
  arch = major * 10 + minor;
  maxShared = shared;
  if (arch < kOldestArchitecture)
    return unusable(text(deviceName, " has compute capability ", major, ".", minor,
                         "; dlc needs 8.0 (Ampere) or newer"));
  if (result = cuda.devicePrimaryCtxRetain(&primary, device); result != Result::Success) {
    primary = nullptr;
    // Present and not to be had (exclusive mode, out of memory): a failure, not a reason to go
    // elsewhere.
    return {DLC_DEVICE, text("CUDA device ", index, " (", deviceName,
                             "): cannot make a context: ", cuda.explain(result))};
  }
  return {};
}

/// Units of floats of a multiprocessor; 0 where the generation is later than all that are
/// described.
static int unitsOf(int architecture) {
  const GpuModel &gpu = gpuModelOf(architecture);
  bool isLater = &gpu == std::end(kGpus) - 1 && architecture / 10 > gpu.architecture / 10;
  return isLater ? 0 : int(gpu.peakFloats);
}

GpuDevice::Peak GpuDevice::peak() const {
  int clock = 0, memoryClock = 0, busBits = 0, processors = 0; // clocks in kHz
  auto read = [&](int &value, DeviceAttribute attribute) {
    if (cuda.deviceGetAttribute(&value, attribute, device) != Result::Success || value < 0)
      value = 0;
  };
  read(clock, DeviceAttribute::ClockRate);
  read(memoryClock, DeviceAttribute::MemoryClockRate);
  read(busBits, DeviceAttribute::GlobalMemoryBusWidth);
  read(processors, DeviceAttribute::MultiprocessorCount);
  // Memory transfers twice a clock.
  return {2e3 * clock * processors * unitsOf(arch), 2e3 * memoryClock * busBits / 8};
}

GpuDevice::~GpuDevice() {
  if (primary && !hung)
    cuda.devicePrimaryCtxRelease(device);
}

static constexpr const char *kLost =
    ". The GPU context of this process is lost: end the process and start anew";

Status GpuDevice::hang(const std::string &what) {
  std::lock_guard guard(lock);
  hung = true;
  if (!fatal.failed())
    fatal = {DLC_DEVICE, text("CUDA device ", index, ": ", what, kLost)};
  return fatal;
}

Status GpuDevice::usable() const {
  if (getpid() != process)
    return {DLC_USAGE, text("CUDA device ", index,
                            " was opened before this process was forked, and CUDA does not work "
                            "in the child: start it by exec or spawn, or fork before the first "
                            "context is created")};
  std::lock_guard guard(lock);
  return fatal;
}

Status GpuDevice::check(Result result, const std::string &what) {
  if (result == Result::Success)
    return {};
  std::lock_guard guard(lock);
  if (fatal.failed())
    return fatal;
  Status status(DLC_DEVICE,
                text("CUDA device ", index, ": cannot ", what, ": ", cuda.explain(result)));
  if (isFatal(result)) {
    fatal = {DLC_DEVICE, status.message() + kLost};
    return fatal;
  }
  return status;
}

/// A block that grows does so by a quarter at least, where there is memory: for a sequence that
/// grows by one in each run, a new block for each would take longer than the run.
static constexpr int64_t kGrowthShare = 4;

Status DeviceBlock::reserve(GpuDevice &device, int64_t wanted, const char *what) {
  if (wanted <= bytes)
    return {};
  const int64_t roomy = std::max(wanted, bytes + bytes / kGrowthShare);
  release();
  owner = &device;
  Result result = device.driver().memAlloc(&base, static_cast<size_t>(roomy));
  bytes = roomy;
  if (result == Result::OutOfMemory && roomy > wanted) {
    result = device.driver().memAlloc(&base, static_cast<size_t>(wanted));
    bytes = wanted;
  }
  if (result == Result::Success)
    return {};
  base = 0;
  bytes = 0;
  Status status = device.check(result, text("allocate ", rt::byteCount(wanted), " for ", what));
  size_t free = 0, total = 0;
  if (result != Result::OutOfMemory || device.driver().memGetInfo(&free, &total) != Result::Success)
    return status;
  return {DLC_DEVICE,
          text("not enough GPU memory: ", what, " need ", rt::byteCount(wanted), "; ",
               rt::byteCount(free), " of ", rt::byteCount(total), " are free on ", device.name())};
}

void DeviceBlock::release() {
  // After a fatal error this fails; the driver frees everything with the process.
  if (base && !owner->isHung())
    owner->driver().memFree(base);
  base = 0;
  bytes = 0;
}
