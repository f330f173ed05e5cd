//===- EmuDevice.h - a client of the fake driver for tests ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the two emulator libraries by their paths and speaks the driver API to them, as the runtime
// does; nothing of the emulator is linked.
//===----------------------------------------------------------------------===//
#pragma once
#include "runtime/cuda/driver/DriverAbi.h"
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace dlc::test {

using namespace dlc::cuda;

/// The functions of both libraries by their names in Symbols.def and Extras.def.
struct EmuApi {
#define DLC_DRIVER(member, symbol, parameters) Result(*member) parameters = nullptr;
#define DLC_DRIVER_OPTIONAL(member, symbol, parameters) Result(*member) parameters = nullptr;
#include "runtime/cuda/driver/Symbols.def"
#define DLC_DRIVER(member, symbol, parameters) Result(*member) parameters = nullptr;
#include "test/emulator/driver/Extras.def"
  struct {
#define DLC_NVRTC(member, symbol, result, parameters) result(*member) parameters = nullptr;
#include "runtime/cuda/driver/Symbols.def"
  } nvrtc;
  const char *(*lastReport)() = nullptr;
  void (*failAt)(long call, int result) = nullptr;
  long (*callCount)() = nullptr;
  const char *(*failedFunction)() = nullptr;

  static const EmuApi &get();
};

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

/// A test with a fresh context in the mode that DLC_EMU_* ask for.
class EmuTest : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// The log of the last compile().
  std::string log;
  NvrtcResult compileText(const std::string &source, std::vector<char> &image,
                          const std::vector<const char *> &options = {});
  /// Compiles and loads a kernel; the test fails with the log if it cannot.
  Function compile(const std::string &source, const std::string &kernel,
                   const std::vector<const char *> &options = {});
  /// The same for a kernel of test/unit/emulator/kernels, by file name.
  Function compileFile(const std::string &file, const std::string &kernel,
                       const std::vector<const char *> &options = {});

  DevicePtr allocate(size_t bytes);
  template <class T> DevicePtr upload(const std::vector<T> &values) {
    DevicePtr pointer = allocate(values.size() * sizeof(T));
    EXPECT_EQ(api.memcpyHtoD(pointer, values.data(), values.size() * sizeof(T)), Result::Success);
    return pointer;
  }
  template <class T> std::vector<T> download(DevicePtr pointer, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(api.memcpyDtoH(values.data(), pointer, count * sizeof(T)), Result::Success);
    return values;
  }
  /// Launches and waits.
  template <class... A>
  Result launch(Function function, Dim grid, Dim block, unsigned sharedBytes, A... arguments) {
    void *parameters[] = {&arguments..., nullptr};
    Result result = api.launchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                     sharedBytes, nullptr, parameters, nullptr);
    return result == Result::Success ? api.ctxSynchronize() : result;
  }
  std::string report() const { return api.lastReport(); }

  /// Describes a row-major array for copies of boxes of \p boxRows rows by 128 bytes, swizzled.
  TensorMap describe(TensorMapType type, DevicePtr base, int rows, int columns, int boxRows);

  const EmuApi &api = EmuApi::get();

private:
  Context context = nullptr;
  std::vector<Module> modules;
};

/// A test that runs under each scheduling policy, with the checker.
class CheckedTest : public EmuTest, public ::testing::WithParamInterface<const char *> {
protected:
  void SetUp() override;
  void TearDown() override;
};

/// The text of a device header or a test kernel.
std::string kernelFile(const std::string &name);

} // namespace dlc::test
