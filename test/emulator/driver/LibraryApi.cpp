//===- LibraryApi.cpp - work that libraries put into streams ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/core/DeviceMemory.h"
#include "test/emulator/driver/Driver.h"
#include "test/emulator/driver/Exports.h"

namespace dlc::cuda {
extern "C" {

int dlcEmuCount(const char *function) { return int(Driver::get().countCall(function)); }

bool dlcEmuOwns(DevicePtr pointer, size_t bytes) {
  return emu::DeviceMemory::get().owns(reinterpret_cast<void *>(pointer), bytes);
}

Result dlcEmuSubmit(Stream stream, void (*run)(void *), void (*release)(void *), void *data) {
  std::shared_ptr<void> held(data, release);
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  if (Result entered = driver.enterCleanup(); entered != Result::Success)
    return entered;
  Work work;
  work.kind = WorkKind::Kernel;
  work.run = [run, held] {
    run(held.get());
    return Result::Success;
  };
  return driver.submit(stream, std::move(work));
}

} // extern "C"
} // namespace dlc::cuda
