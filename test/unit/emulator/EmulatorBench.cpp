//===- EmulatorBench.cpp - how fast the emulator is -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints, and judges nothing: threads a second of a pointwise kernel, threads and switches of one
// with barriers, GFLOP/s of the contractions, and the time of a compile. Medians of five, by the
// processor time of this process and its compilers, so that a busy machine gives the same figures.
//===----------------------------------------------------------------------===//
#include "test/unit/emulator/EmuDevice.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sys/resource.h>

namespace dlc::test {

namespace {

double processorSeconds() {
  double seconds = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage;
    getrusage(who, &usage);
    for (timeval time : {usage.ru_utime, usage.ru_stime})
      seconds += double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  }
  return seconds;
}

double medianSeconds(const std::function<void()> &work) {
  work(); // stacks, arenas and pages are made once
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    double start = processorSeconds();
    work();
    seconds.push_back(processorSeconds() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

class EmulatorBench : public EmuTest {
protected:
  void report(const char *what, double amount, const char *unit, double seconds) {
    const char *workers = std::getenv("DLC_EMU_WORKERS"), *check = std::getenv("DLC_EMU_CHECK");
    std::printf("%-22s %8.1f %s  (%.2f ms of processor time, workers %s%s)\n", what,
                amount / seconds, unit, seconds * 1e3, workers ? workers : "auto",
                check ? ", checked" : "");
  }
};

TEST_F(EmulatorBench, All) {
  long long n = 4 << 20;
  DevicePtr x = allocate(n * 4), y = allocate(n * 4), z = allocate(n * 4);
  api.memsetD32(x, 0x3f800000, n);
  api.memsetD32(z, 0x3f800000, n);
  Function elementwise = compileFile("elementwise.cu", "elementwise");
  double seconds = medianSeconds([&] {
    EXPECT_EQ(launch(elementwise, {unsigned(n / 1024 + 1)}, {256}, 0, x, z, y, 1.5f, 0.25f, n),
              Result::Success);
  });
  report("pointwise", n / 4e6, "Mthreads/s", seconds);

  int rows = 512, cols = 2048;
  Function softmax = compileFile("softmax.cu", "softmax");
  seconds = medianSeconds(
      [&] { EXPECT_EQ(launch(softmax, {unsigned(rows)}, {256}, 0, x, y, cols), Result::Success); });
  report("softmax", rows * 256 / 1e6, "Mthreads/s", seconds);

  int m = 256;
  Function simt = compileFile("gemm_simt.cu", "gemm_simt");
  seconds = medianSeconds([&] {
    EXPECT_EQ(launch(simt, {unsigned(m) / 64, unsigned(m) / 64}, {256}, 0, x, z, y, m, m, m),
              Result::Success);
  });
  report("gemm_simt 256^3", 2e-9 * m * m * m, "GFLOP/s", seconds);

  constexpr unsigned kShared = 3 * (128 * 32 + 32 * 128) * 2;
  Function mma = compileFile("gemm80.cu", "gemm80");
  api.funcSetAttribute(mma, FunctionAttribute::MaxDynamicSharedSizeBytes, kShared);
  seconds = medianSeconds([&] {
    EXPECT_EQ(
        launch(mma, {unsigned(m) / 128, unsigned(m) / 128}, {128}, kShared, x, z, y, x, m, m, m),
        Result::Success);
  });
  report("gemm80 256^3", 2e-9 * m * m * m, "GFLOP/s", seconds);

  constexpr unsigned kRing = 4 * (128 * 64 + 128 * 64) * 2 + 64;
  Function wgmma = compileFile("gemm90.cu", "gemm90");
  api.funcSetAttribute(wgmma, FunctionAttribute::MaxDynamicSharedSizeBytes, kRing);
  TensorMap a = describe(TensorMapType::Bf16, x, m, m, 128),
            b = describe(TensorMapType::Bf16, z, m, m, 128);
  seconds = medianSeconds(
      [&] { EXPECT_EQ(launch(wgmma, {4}, {384}, kRing, a, b, y, x, m, m, m), Result::Success); });
  report("gemm90 256^3", 2e-9 * m * m * m, "GFLOP/s", seconds);

  setenv("DLC_EMU_CACHE", "", 1);
  for (const char *file :
       {"elementwise.cu", "softmax.cu", "gemm_simt.cu", "gemm80.cu", "gemm90.cu"}) {
    std::vector<char> image;
    std::string text = kernelFile(file);
    seconds = medianSeconds([&] { EXPECT_EQ(compileText(text, image), NvrtcResult::Success); });
    std::printf("%-22s %8.1f ms\n", (std::string("compile ") + file).c_str(), seconds * 1e3);
  }
  unsetenv("DLC_EMU_CACHE");
}

} // namespace
} // namespace dlc::test
