//===- CudaTest.cpp - The CUDA path on the emulator, and why CUDA may be unusable -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/driver/Library.h"
#include "test/unit/runtime/CudaRunner.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <thread>

using namespace dlc::test;
using dlc::cuda::Driver;
using dlc::cuda::Result;
using dlc::schema::DType;
using dlc::schema::Storage;
using dlc::schema::Target;

TEST(CudaUnusable, NoDriverLibrary) {
  Environment driver("DLC_LIBCUDA", "/nonexistent/libcuda.so.1");
  EXPECT_EQ(openCuda(cudaPackage()), DLC_UNSUPPORTED);
  EXPECT_TRUE(lastErrorHas(
      "CUDA is not usable: cannot load the driver library '/nonexistent/libcuda.so.1'"));
  EXPECT_TRUE(lastErrorHas("install the NVIDIA driver"));
}

TEST(CudaUnusable, NotADriver) {
  Environment driver("DLC_LIBCUDA", "libc.so.6");
  EXPECT_EQ(openCuda(cudaPackage()), DLC_UNSUPPORTED);
  EXPECT_TRUE(lastErrorHas("the driver library 'libc.so.6' lacks cuInit"));
}

TEST(CudaUnusable, TheToolkitsStub) {
  const char *stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  if (!std::filesystem::exists(stub))
    GTEST_SKIP() << "no CUDA toolkit";
  Environment driver("DLC_LIBCUDA", stub);
  EXPECT_EQ(openCuda(cudaPackage()), DLC_UNSUPPORTED);
  EXPECT_TRUE(lastErrorHas("CUDA is not usable: "));
}

TEST(CudaUnusable, NoProgramForIt) {
  EXPECT_EQ(openCuda(affinePackage()), DLC_UNSUPPORTED);
  EXPECT_TRUE(lastErrorHas("the module has no program for CUDA"));
}

TEST(CudaUnusable, AutoTakesTheCpuOrSaysWhyNothingServes) {
  Environment driver("DLC_LIBCUDA", "/nonexistent/libcuda.so.1");
  EXPECT_EQ(openCuda(cudaPackage(), "auto"), DLC_UNSUPPORTED);
  EXPECT_TRUE(lastErrorHas("cannot load the driver library"));
  PackageBuilder both = affinePackage();
  both.program(Target::cuda);
  both.buffer(Storage::output, DType::f32, {{1}, {2}});
  EXPECT_EQ(openCuda(both, "auto"), DLC_OK) << dlc_last_error();
  ModulePtr module = load(both.file());
  ContextPtr context = open(module.get(), options("auto"));
  std::string remarks = dlc_context_remarks(context.get());
  EXPECT_EQ(remarks.find("not on a GPU: CUDA is not usable: cannot load the driver library"), 0u)
      << remarks;
  module = load(affinePackage().file());
  context = open(module.get(), options("auto"));
  EXPECT_STREQ(dlc_context_remarks(context.get()), "not on a GPU: the module has no CUDA program");
  context = open(module.get(), options("cpu"));
  EXPECT_STREQ(dlc_context_remarks(context.get()), "");
  EXPECT_STREQ(dlc_context_remarks(nullptr), "");
}

TEST(CudaUnusable, DeviceNames) {
  for (const char *name : {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda1"}) {
    EXPECT_EQ(openCuda(cudaPackage(), name), DLC_USAGE) << name;
    EXPECT_TRUE(lastErrorHas("unknown device"));
  }
}

#if !defined(DLC_EMU_DRIVER_PATH)
TEST(Cuda, OnTheEmulator) { GTEST_SKIP() << "the emulator is not part of this build"; }
#else

namespace {

/// Sends each call of the driver through a counter that can make the Nth one fail.
class Faults {
public:
  static Faults &instance() {
    static Faults faults;
    return faults;
  }
  /// Wraps the table of the emulated driver; once.
  void install() {
    static bool done = false;
    if (std::exchange(done, true))
      return;
    dlc::rt::Expected<const Driver *> opened = Driver::open();
    ASSERT_FALSE(opened.failed()) << opened.status().message();
    auto *driver = const_cast<Driver *>(*opened);
    original() = *driver;
#define DLC_DRIVER(member, symbol, parameters) wrap<&Driver::member>(driver, #symbol);
#include "runtime/cuda/driver/Symbols.def"
  }
  void failAt(int call, Result with) {
    calls = 0;
    target = call;
    result = with;
    failed.clear();
  }
  /// The function that was made to fail; empty if there were fewer calls.
  std::string failed;

private:
  static Driver &original() {
    static Driver driver;
    return driver;
  }
  template <auto Member> static const char *&name() {
    static const char *held = nullptr;
    return held;
  }
  template <auto Member> struct Wrapper;
  template <class... Args, Result (*Driver::*Member)(Args...)> struct Wrapper<Member> {
    static Result call(Args... args) {
      Faults &faults = instance();
      // Messages about errors and the freeing of things after one are not failed.
      std::string symbol = name<Member>();
      bool exempt = symbol.find("GetError") != std::string::npos ||
                    symbol.find("Free") != std::string::npos ||
                    symbol.find("Destroy") != std::string::npos ||
                    symbol.find("Release") != std::string::npos ||
                    symbol.find("Unload") != std::string::npos ||
                    symbol.find("PopCurrent") != std::string::npos;
      if (!exempt && faults.target >= 0 && faults.calls++ == faults.target) {
        faults.failed = symbol;
        return faults.result;
      }
      return (original().*Member)(args...);
    }
  };
  template <auto Member> static void wrap(Driver *driver, const char *symbol) {
    name<Member>() = symbol;
    driver->*Member = &Wrapper<Member>::call;
  }

  std::atomic<int> calls{0}, target{-1};
  Result result = Result::Success;
};

} // namespace

TEST_F(Cuda, RunsAPackage) {
  ModulePtr module = load(cudaPackage().file());
  ContextPtr context = open(module.get(), options("cuda"));
  ASSERT_TRUE(context);
  EXPECT_EQ(std::string(dlc_context_device(context.get())).find("cuda:0 ("), 0u)
      << dlc_context_device(context.get());
  for (int64_t n : {1, 2, 17, 64, 0, 3})
    expectRight(context.get(), n);
  dlc_memory_info memory = {};
  memory.struct_size = sizeof(memory);
  ASSERT_EQ(dlc_context_memory(context.get(), &memory), DLC_OK);
  EXPECT_EQ(memory.weight_bytes, 0); // the init program alone reads it
  EXPECT_EQ(memory.persistent_bytes, 64);
  EXPECT_EQ(memory.arena_bytes, 3 * 64);
}

TEST_F(Cuda, AutoPrefersIt) {
  ModulePtr module = load(cudaPackage().file());
  ContextPtr context = open(module.get(), options("auto"));
  ASSERT_TRUE(context);
  expectRight(context.get(), 5);
}

TEST_F(Cuda, ProfilesByEvents) {
  ModulePtr module = load(cudaPackage().file());
  dlc_context_options chosen = options("cuda");
  chosen.profile = 1;
  ContextPtr context = open(module.get(), chosen);
  ASSERT_TRUE(context);
  expectRight(context.get(), 9);
  const dlc_profile_entry *entries;
  size_t count;
  ASSERT_EQ(dlc_context_profile(context.get(), &entries, &count), DLC_OK);
  ASSERT_EQ(count, 2u);
  EXPECT_STREQ(entries[0].kernel, "scale");
  EXPECT_STREQ(entries[1].kind, "copy");
  EXPECT_GE(entries[0].microseconds, 0);
}

TEST_F(Cuda, ContextsInThreadsShareAModule) {
  ModulePtr module = load(cudaPackage().file());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      ContextPtr context = open(module.get(), options("cuda"));
      ASSERT_TRUE(context);
      for (int64_t n = 1; n < 6; ++n)
        expectRight(context.get(), n + thread);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Cuda, TheCallersContextStays) {
  dlc::rt::Expected<const Driver *> opened = Driver::open();
  ASSERT_FALSE(opened.failed());
  const Driver &driver = **opened;
  dlc::cuda::Context before, after;
  ASSERT_EQ(driver.ctxGetCurrent(&before), Result::Success);
  {
    ModulePtr module = load(cudaPackage().file());
    ContextPtr context = open(module.get(), options("cuda"));
    ASSERT_TRUE(context);
    expectRight(context.get(), 2);
    ASSERT_EQ(driver.ctxGetCurrent(&after), Result::Success);
    EXPECT_EQ(before, after);
  }
  ASSERT_EQ(driver.ctxGetCurrent(&after), Result::Success);
  EXPECT_EQ(before, after);
}

TEST_F(Cuda, TextThatDoesNotCompileGivesTheLog) {
  EXPECT_EQ(openCuda(cudaPackage("extern \"C\" __global__ void scale() { undeclared = 1; }")),
            DLC_INTERNAL);
  EXPECT_TRUE(lastErrorHas("refuses the kernel 'scale'"));
  EXPECT_TRUE(lastErrorHas("undeclared"));
}

TEST_F(Cuda, AKernelThatIsNotThere) {
  EXPECT_NE(openCuda(cudaPackage("extern \"C\" __global__ void other() {}")), DLC_OK);
  EXPECT_TRUE(lastErrorHas("find kernel 'scale' (model.dl:3:7) in its compiled source"));
}

TEST_F(Cuda, NoSuchDevice) {
  EXPECT_EQ(openCuda(cudaPackage(), "cuda:99"), DLC_UNSUPPORTED);
  EXPECT_TRUE(lastErrorHas("CUDA device 99 is not usable: the driver sees "));
}

TEST_F(Cuda, NoNvrtc) {
  Environment missing("DLC_LIBNVRTC", "/nonexistent/libnvrtc.so");
  EXPECT_EQ(openCuda(cudaPackage()), DLC_UNSUPPORTED);
  EXPECT_TRUE(lastErrorHas("cannot load '/nonexistent/libnvrtc.so'"));
}

TEST_F(Cuda, CheckedModeIsForTheCpu) {
  ModulePtr module = load(cudaPackage().file());
  dlc_context_options chosen = options("cuda");
  chosen.checked = 1;
  open(module.get(), chosen, DLC_UNSUPPORTED);
}

// The next two wrap the table for the rest of the process; they come last.

TEST_F(Cuda, EachCallMayFail) {
  ASSERT_NO_FATAL_FAILURE(Faults::instance().install());
  Faults &faults = Faults::instance();
  PackageBuilder package = cudaPackage();
  std::vector<uint8_t> file = package.file();
  int failures = 0;
  for (int call = 0;; ++call) {
    ModulePtr module = load(file);
    faults.failAt(call, Result::OutOfMemory);
    dlc_context *context = nullptr;
    dlc_context_options chosen = options("cuda");
    dlc_status status = dlc_context_create(module.get(), &chosen, &context);
    if (status == DLC_OK)
      status = runScale(context, 3);
    std::string failed = faults.failed, message = dlc_last_error();
    faults.failAt(-1, Result::Success);
    if (failed.empty()) {
      EXPECT_EQ(status, DLC_OK) << message;
      dlc_context_free(context);
      break;
    }
    // The name of a device is no reason to fail, nor is the free memory in a message.
    if (failed != "cuDeviceGetName" && failed != "cuMemGetInfo_v2") {
      ++failures;
      EXPECT_NE(status, DLC_OK) << failed;
      EXPECT_FALSE(message.empty()) << failed;
    }
    // The same module and context go on as if nothing had been.
    if (!context)
      context = open(module.get(), options("cuda")).release();
    ASSERT_TRUE(context) << failed << ": " << dlc_last_error();
    expectRight(context, 4);
    dlc_context_free(context);
  }
  EXPECT_GT(failures, 20);
}

TEST_F(Cuda, AFatalErrorIsKept) {
  ASSERT_NO_FATAL_FAILURE(Faults::instance().install());
  Faults &faults = Faults::instance();
  ModulePtr module = load(cudaPackage().file());
  dlc_context_options chosen = options("cuda");
  chosen.no_graph = 1;
  ContextPtr context = open(module.get(), chosen);
  ASSERT_TRUE(context);
  expectRight(context.get(), 4);
  // Of a run on bound shapes the calls are: push, input, launch, copy, output, synchronise.
  faults.failAt(5, Result::IllegalAddress);
  EXPECT_EQ(runScale(context.get(), 4), DLC_DEVICE);
  EXPECT_EQ(faults.failed, "cuStreamSynchronize");
  faults.failAt(-1, Result::Success);
  std::string first = dlc_last_error();
  EXPECT_NE(first.find("cannot finish the run"), std::string::npos) << first;
  EXPECT_NE(first.find("end the process and start anew"), std::string::npos) << first;
  // From now on every call gives the first error.
  EXPECT_EQ(runScale(context.get(), 4), DLC_DEVICE);
  EXPECT_EQ(dlc_last_error(), first);
  EXPECT_EQ(runScale(context.get(), 5), DLC_DEVICE);
  EXPECT_EQ(dlc_last_error(), first);
  open(module.get(), options("cuda"), DLC_DEVICE);
  EXPECT_EQ(dlc_last_error(), first);
}
#endif
