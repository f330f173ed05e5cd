//===- KernelProfileTest.cpp - What dlc bench tells of a GPU of known speed ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Library.h"
#include "test/unit/runtime/CudaRunner.h"
#include "tools/driver/base/ExitCode.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/cli/Compiler.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace dlc;
using namespace dlc::test;

#if defined(DLC_EMU_DRIVER_PATH)

static decltype(cuda::Driver::deviceGetAttribute) original;

/// The emulated GPU with clocks of 1 GHz: 4 multiprocessors of 128 units, a bus of 1024 bits.
static cuda::Result withClocks(int *value, cuda::DeviceAttribute attribute, cuda::Device device) {
  cuda::Result result = original(value, attribute, device);
  if (attribute == cuda::DeviceAttribute::ClockRate ||
      attribute == cuda::DeviceAttribute::MemoryClockRate)
    *value = 1000000;
  return result;
}

TEST_F(Cuda, BenchTellsThePeak) {
  TemporaryFolder folder;
  std::string model = folder.path() + "/model.bin";
  std::vector<uint8_t> file = cudaPackage().file();
  std::ofstream(model, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  auto *driver = const_cast<cuda::Driver *>(*cuda::Driver::open());
  original = driver->deviceGetAttribute;
  driver->deviceGetAttribute = withClocks;
  std::vector<std::string> words = {"dlc",        "bench", model,      "--device", "cuda",
                                    "--duration", "0",     "--warmup", "0",        "--profile"};
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  testing::internal::CaptureStdout();
  EXPECT_EQ(runCommandLine(int(arguments.size()), arguments.data(), kSeparateCompiler), kOk);
  std::string text = testing::internal::GetCapturedStdout();
  driver->deviceGetAttribute = original;
  std::string last = "Peak of the GPU: 1024 GFLOP/s in f32 without tensor cores, 256 GB/s\n";
  ASSERT_GT(text.size(), last.size());
  EXPECT_EQ(text.substr(text.size() - last.size()), last);
}

#endif
