//===- EmuDevice.cpp - a client of the fake driver for tests ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/emulator/EmuDevice.h"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace dlc::embed {
struct File {
  const char *name, *text;
};
extern const File deviceHeaders[];
extern const File testKernels[];
} // namespace dlc::embed

namespace dlc::test {

namespace {

void *openLibrary(const char *variable, const char *built) {
  const char *chosen = std::getenv(variable);
  // Local scope on purpose: the libraries must not depend on how they are opened.
  void *library = dlopen(chosen && *chosen ? chosen : built, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  return library;
}

template <class F> void bind(void *library, const char *symbol, F &function) {
  function = reinterpret_cast<F>(dlsym(library, symbol));
  if (!function) {
    std::fprintf(stderr, "%s is missing\n", symbol);
    std::abort();
  }
}

EmuApi openApi() {
  EmuApi api;
  void *driver = openLibrary("DLC_LIBCUDA", DLC_EMU_DRIVER_PATH);
  void *nvrtc = openLibrary("DLC_LIBNVRTC", DLC_EMU_NVRTC_PATH);
#define DLC_DRIVER(member, symbol, parameters) bind(driver, #symbol, api.member);
#define DLC_DRIVER_OPTIONAL(member, symbol, parameters) bind(driver, #symbol, api.member);
#define DLC_NVRTC(member, symbol, result, parameters) bind(nvrtc, #symbol, api.nvrtc.member);
#include "runtime/cuda/driver/Symbols.def"
#define DLC_DRIVER(member, symbol, parameters) bind(driver, #symbol, api.member);
#include "test/emulator/driver/Extras.def"
  bind(driver, "dlcEmuLastReport", api.lastReport);
  bind(driver, "dlcEmuFailAt", api.failAt);
  bind(driver, "dlcEmuCallCount", api.callCount);
  bind(driver, "dlcEmuFailedFunction", api.failedFunction);
  return api;
}

} // namespace

const EmuApi &EmuApi::get() {
  static const EmuApi api = openApi();
  return api;
}

std::string kernelFile(const std::string &name) {
  for (const embed::File *table : {embed::deviceHeaders, embed::testKernels})
    for (const embed::File *file = table; file->name; ++file)
      if (name == file->name)
        return file->text;
  ADD_FAILURE() << "no kernel file " << name;
  return "";
}

void EmuTest::SetUp() {
  ASSERT_EQ(api.init(0), Result::Success);
  ASSERT_EQ(api.devicePrimaryCtxRetain(&context, 0), Result::Success);
  ASSERT_EQ(api.ctxPushCurrent(context), Result::Success);
}

void EmuTest::TearDown() {
  for (Module module : modules)
    api.moduleUnload(module);
  api.ctxPopCurrent(&context);
  EXPECT_EQ(api.devicePrimaryCtxRelease(0), Result::Success);
}

NvrtcResult EmuTest::compileText(const std::string &source, std::vector<char> &image,
                                 const std::vector<const char *> &options) {
  std::vector<const char *> names, texts,
      all = {"--gpu-architecture=sm_90a", "--std=c++17", "--fmad=false"};
  for (const embed::File *file = embed::deviceHeaders; file->name; ++file) {
    names.push_back(file->name);
    texts.push_back(file->text);
  }
  all.insert(all.end(), options.begin(), options.end());
  NvrtcProgram program;
  EXPECT_EQ(api.nvrtc.createProgram(&program, source.c_str(), "kernel.cu", int(names.size()),
                                    texts.data(), names.data()),
            NvrtcResult::Success);
  NvrtcResult result = api.nvrtc.compileProgram(program, int(all.size()), all.data());
  size_t bytes = 0;
  api.nvrtc.getProgramLogSize(program, &bytes);
  log.resize(bytes);
  api.nvrtc.getProgramLog(program, log.data());
  log.resize(std::strlen(log.c_str()));
  if (result == NvrtcResult::Success) {
    api.nvrtc.getCubinSize(program, &bytes);
    image.resize(bytes);
    api.nvrtc.getCubin(program, image.data());
  }
  api.nvrtc.destroyProgram(&program);
  return result;
}

Function EmuTest::compile(const std::string &source, const std::string &kernel,
                          const std::vector<const char *> &options) {
  std::vector<char> image;
  NvrtcResult result = compileText(source, image, options);
  EXPECT_EQ(result, NvrtcResult::Success) << log;
  EXPECT_EQ(log, "");
  Module module;
  Function function = nullptr;
  if (result != NvrtcResult::Success)
    return nullptr;
  EXPECT_EQ(api.moduleLoadData(&module, image.data()), Result::Success) << report();
  modules.push_back(module);
  EXPECT_EQ(api.moduleGetFunction(&function, module, kernel.c_str()), Result::Success);
  return function;
}

Function EmuTest::compileFile(const std::string &file, const std::string &kernel,
                              const std::vector<const char *> &options) {
  return compile(kernelFile(file), kernel, options);
}

TensorMap EmuTest::describe(TensorMapType type, DevicePtr base, int rows, int columns,
                            int boxRows) {
  unsigned bytes = type == TensorMapType::Tf32 ? 4 : 2;
  unsigned long long extents[2] = {(unsigned long long)columns, (unsigned long long)rows};
  unsigned long long strides[1] = {extents[0] * bytes};
  unsigned box[2] = {128 / bytes, unsigned(boxRows)}, ones[2] = {1, 1};
  TensorMap map;
  EXPECT_EQ(api.tensorMapEncodeTiled(&map, int(type), 2, reinterpret_cast<void *>(base), extents,
                                     strides, box, ones, /*no interleave*/ 0, kSwizzle128,
                                     /*no promotion*/ 0, /*zeros*/ 0),
            Result::Success);
  return map;
}

DevicePtr EmuTest::allocate(size_t bytes) {
  DevicePtr pointer = 0;
  EXPECT_EQ(api.memAlloc(&pointer, bytes), Result::Success);
  return pointer;
}

void CheckedTest::SetUp() {
  setenv("DLC_EMU_CHECK", "1", 1);
  setenv("DLC_EMU_POLICY", GetParam(), 1);
  EmuTest::SetUp();
}

void CheckedTest::TearDown() {
  EmuTest::TearDown();
  unsetenv("DLC_EMU_CHECK");
  unsetenv("DLC_EMU_POLICY");
}

} // namespace dlc::test
