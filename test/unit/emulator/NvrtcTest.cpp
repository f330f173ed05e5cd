//===- NvrtcTest.cpp - the fake NVRTC ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/emulator/EmuDevice.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dlc::test {

namespace {

/// Each test has a cache of its own.
class NvrtcTest : public EmuTest {
protected:
  void SetUp() override {
    EmuTest::SetUp();
    const char *old = std::getenv("DLC_EMU_CACHE");
    saved = old ? old : "";
    hadCache = old;
    cache = fs::temp_directory_path() / ("dlc-nvrtc-test-" + std::to_string(getpid()));
    fs::remove_all(cache);
    setenv("DLC_EMU_CACHE", cache.c_str(), 1);
  }
  void TearDown() override {
    fs::remove_all(cache);
    if (hadCache)
      setenv("DLC_EMU_CACHE", saved.c_str(), 1);
    else
      unsetenv("DLC_EMU_CACHE");
    EmuTest::TearDown();
  }
  std::vector<fs::path> cached() {
    std::vector<fs::path> files;
    if (fs::exists(cache))
      for (const auto &entry : fs::directory_iterator(cache))
        files.push_back(entry.path());
    return files;
  }

  fs::path cache;
  std::string saved;
  bool hadCache = false;
};

const char *const kKernel = "#include \"dlc_device.cuh\"\n"
                            "DLC_KERNEL(32) k(float *x) { x[threadIdx.x] = VALUE; }\n";

TEST_F(NvrtcTest, ErrorsNameTheLine) {
  std::vector<char> image;
  EXPECT_EQ(compileText("#include \"dlc_device.cuh\"\n\nDLC_KERNEL(32) k(float *x) { x = 1.5f; }\n",
                        image),
            NvrtcResult::Compilation);
  EXPECT_NE(log.find("kernel.cu:3:"), std::string::npos) << log;
  EXPECT_EQ(log.find("/tmp"), std::string::npos) << log;
}

TEST_F(NvrtcTest, UnknownOptionsAreRefused) {
  std::vector<char> image;
  EXPECT_EQ(compileText(kKernel, image, {"--use_fast_math"}), NvrtcResult::InvalidOption);
  EXPECT_NE(log.find("--use_fast_math"), std::string::npos) << log;
}

TEST_F(NvrtcTest, MacrosReachTheText) {
  std::vector<char> image;
  EXPECT_EQ(compileText(kKernel, image), NvrtcResult::Compilation);
  EXPECT_EQ(compileText(kKernel, image, {"-DVALUE=2.0f"}), NvrtcResult::Success) << log;
}

TEST_F(NvrtcTest, CacheKeepsWhatIsWholeAndForgetsWhatIsNot) {
  std::vector<char> first, second, other;
  ASSERT_EQ(compileText(kKernel, first, {"-DVALUE=2.0f"}), NvrtcResult::Success) << log;
  std::vector<fs::path> files = cached();
  ASSERT_EQ(files.size(), 1u);
  fs::file_time_type written = fs::last_write_time(files[0]);
  ASSERT_EQ(compileText(kKernel, second, {"-DVALUE=2.0f"}), NvrtcResult::Success) << log;
  EXPECT_EQ(fs::last_write_time(files[0]), written) << "compiled again";
  EXPECT_EQ(first, second);
  ASSERT_EQ(compileText(kKernel, other, {"-DVALUE=3.0f"}), NvrtcResult::Success) << log;
  EXPECT_NE(first, other);
  EXPECT_EQ(cached().size(), 2u);

  // A flipped byte is a miss, and is replaced.
  std::fstream file(files[0], std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(2000);
  file.put('\x5a');
  file.close();
  ASSERT_EQ(compileText(kKernel, second, {"-DVALUE=2.0f"}), NvrtcResult::Success) << log;
  Module module;
  ASSERT_EQ(api.moduleLoadData(&module, second.data()), Result::Success) << report();
  EXPECT_EQ(api.moduleUnload(module), Result::Success);
  fs::resize_file(files[0], 100);
  ASSERT_EQ(compileText(kKernel, second, {"-DVALUE=2.0f"}), NvrtcResult::Success) << log;
  EXPECT_GT(fs::file_size(files[0]), 1000u);
}

TEST_F(NvrtcTest, KernelsAreFoundInTheText) {
  const char *const text = R"(#include "dlc_device.cuh"
// DLC_KERNEL(32) commented(float *x)
/* __global__ void also_commented(int) */
#define NOT_HERE DLC_KERNEL(32) macro(float *x)
static const char *string = "DLC_KERNEL(32) quoted(";
DLC_KERNEL(32) declared(float *x);
DLC_KERNEL(32)
declared(float *x) { x[0] = 1.0f; }
constexpr int kThreads = 96;
DLC_KERNEL_OCCUPANCY(kThreads, 2) bounded(float *x) { x[0] = 2.0f; }
extern "C" __global__ void __launch_bounds__(64, 1) plain(float *x, char c) { x[0] = 3.0f; }
)";
  std::vector<char> image;
  ASSERT_EQ(compileText(text, image), NvrtcResult::Success) << log;
  Module module;
  ASSERT_EQ(api.moduleLoadData(&module, image.data()), Result::Success);
  Function function;
  int threads = 0;
  for (auto [name, bound] : {std::pair{"declared", 32}, {"bounded", 96}, {"plain", 64}}) {
    ASSERT_EQ(api.moduleGetFunction(&function, module, name), Result::Success) << name;
    api.funcGetAttribute(&threads, FunctionAttribute::MaxThreadsPerBlock, function);
    EXPECT_EQ(threads, bound) << name;
  }
  for (const char *name : {"commented", "also_commented", "macro", "quoted"})
    EXPECT_EQ(api.moduleGetFunction(&function, module, name), Result::NotFound) << name;
  EXPECT_EQ(api.moduleUnload(module), Result::Success);
}

TEST_F(NvrtcTest, CheckedModeNeedsClang) {
  setenv("DLC_EMU_CXX", "g++", 1);
  setenv("DLC_EMU_CHECK", "1", 1);
  std::vector<char> image;
  EXPECT_NE(compileText(kKernel, image, {"-DVALUE=2.0f"}), NvrtcResult::Success);
  EXPECT_NE(log.find("needs clang"), std::string::npos) << log;
  unsetenv("DLC_EMU_CHECK");
  // Unchecked, the other compiler will do.
  EXPECT_EQ(compileText(kKernel, image, {"-DVALUE=2.0f"}), NvrtcResult::Success) << log;
  setenv("DLC_EMU_CXX", "no-such-compiler", 1);
  EXPECT_NE(compileText(kKernel, image, {"-DVALUE=4.0f"}), NvrtcResult::Success);
  EXPECT_NE(log.find("DLC_EMU_CXX"), std::string::npos) << log;
  unsetenv("DLC_EMU_CXX");
}

} // namespace
} // namespace dlc::test
