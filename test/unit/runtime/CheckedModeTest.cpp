//===- CheckedModeTest.cpp - Kernels that leave their buffers are caught ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

#include <cmath>

using namespace dlc::test;
using dlc::abi::CpuArgs;
using dlc::schema::DType;
using dlc::schema::Storage;
using dlc::schema::Target;

// AddressSanitizer would take the faults that these kernels provoke on purpose.
#if defined(__clang__)
#define NO_SANITIZE __attribute__((no_sanitize("address", "undefined", "thread"), noinline))
#else
#define NO_SANITIZE __attribute__((no_sanitize("address"), noinline))
#endif

namespace {

float *floats(const CpuArgs *args, int i) { return static_cast<float *>(args->buffers[i]); }
/// Hides from the optimiser that an access is out of bounds.
NO_SANITIZE void store(volatile float *at, float value) { *at = value; }
NO_SANITIZE float fetch(volatile float *at) { return *at; }

NO_SANITIZE void copyAll(const CpuArgs *args) {
  for (int64_t i = 0; i < args->dims[0]; ++i)
    store(floats(args, 1) + i, fetch(floats(args, 0) + i));
}

/// f32[n] -> f32[n] by `kernel`, arguments (x, y, n, w), scratch of 40 bytes, on n = 10.
struct Checked {
  explicit Checked(dlc::abi::CpuKernel kernel) {
    PackageBuilder package;
    Expr n = package.symbol("N", 1, 100);
    package.input("x", DType::f32, {n});
    package.output("y", DType::f32, {n});
    package.weight("w", {1, 2, 3}, {3});
    package.program(Target::cpu);
    uint32_t x = package.buffer(Storage::input, DType::f32, {n});
    uint32_t y = package.buffer(Storage::output, DType::f32, {n});
    uint32_t w = package.buffer(Storage::weight, DType::f32, {package.constant(3)});
    using B = PackageBuilder;
    package.launch(package.kernel("planted", kernel),
                   {B::buffer(x), B::buffer(y), B::buffer(w), B::dim(n)}, {package.constant(1)},
                   package.constant(40));
    module = load(package.file());
    dlc_context_options chosen = options();
    chosen.checked = 1;
    context = open(module.get(), chosen);
  }

  dlc_status run() {
    dlc_tensor in = tensor(DLC_F32, {10}, x), out = tensor(DLC_F32, {10}, y);
    return dlc_context_run(context.get(), &in, 1, &out, 1);
  }

  void caught(const std::string &message) {
    EXPECT_EQ(run(), DLC_INTERNAL);
    EXPECT_EQ(dlc_last_error(), "checked mode: kernel 'planted' (model.dl:3:7) " + message);
    // The context works on: the fault is the same again.
    EXPECT_EQ(run(), DLC_INTERNAL);
  }

  ModulePtr module;
  ContextPtr context;
  std::vector<float> x = std::vector<float>(10, 1.5f), y = std::vector<float>(10);
};

} // namespace

TEST(CheckedMode, ARightKernelRuns) {
  Checked checked([](const CpuArgs *args, int64_t, int64_t, void *scratch) {
    EXPECT_NE(scratch, nullptr);
    for (int i = 0; i < 40; ++i)
      static_cast<char *>(scratch)[i] = 1;
    copyAll(args);
  });
  EXPECT_EQ(checked.run(), DLC_OK) << dlc_last_error();
  EXPECT_EQ(checked.y, checked.x);
}

TEST(CheckedMode, AStoreOneElementTooFar) {
  Checked checked(
      [](const CpuArgs *args, int64_t, int64_t, void *) { store(floats(args, 1) + 10, 1); });
  checked.caught(
      "accessed memory 0 bytes past the end of buffer 1 (output 'y', f32[10], 40 bytes)");
}

TEST(CheckedMode, ALoadOneElementTooFar) {
  Checked checked([](const CpuArgs *args, int64_t, int64_t, void *) {
    store(floats(args, 1), fetch(floats(args, 0) + 10));
  });
  checked.caught("accessed memory 0 bytes past the end of buffer 0 (input 'x', f32[10], 40 bytes)");
}

TEST(CheckedMode, AStoreJustBeforeTheBuffer) {
  Checked checked(
      [](const CpuArgs *args, int64_t, int64_t, void *) { store(floats(args, 1) - 1, 1); });
  checked.caught("wrote before the begin of buffer 1 (output 'y', f32[10], 40 bytes)");
}

TEST(CheckedMode, AStoreFarBeforeTheBuffer) {
  Checked checked(
      [](const CpuArgs *args, int64_t, int64_t, void *) { store(floats(args, 1) - 1100, 1); });
  checked.caught(
      "accessed memory 4400 bytes before the begin of buffer 1 (output 'y', f32[10], 40 bytes)");
}

TEST(CheckedMode, ALoadBeforeTheBufferShowsAsNaN) {
  Checked checked([](const CpuArgs *args, int64_t, int64_t, void *) {
    copyAll(args);
    store(floats(args, 1), fetch(floats(args, 0) - 1) * 0 + 1);
  });
  EXPECT_EQ(checked.run(), DLC_OK) << dlc_last_error();
  EXPECT_FALSE(checked.y[0] == 1.0f) << "the pattern before the buffer is no number that hides";
}

TEST(CheckedMode, AStoreToAnInputOrAWeight) {
  Checked input(
      [](const CpuArgs *args, int64_t, int64_t, void *) { store(floats(args, 0) + 2, 1); });
  input.caught("wrote to byte 8 of buffer 0 (input 'x', f32[10], 40 bytes), which is only read");
  Checked weight([](const CpuArgs *args, int64_t, int64_t, void *) { store(floats(args, 2), 1); });
  weight.caught("wrote to byte 0 of buffer 2 (weight 'w', f32[3], 12 bytes), which is only read");
}

TEST(CheckedMode, AStoreBehindTheScratch) {
  // Scratch is rounded up to whole cache lines.
  Checked checked([](const CpuArgs *, int64_t, int64_t, void *scratch) {
    store(static_cast<float *>(scratch) + 16, 1);
  });
  checked.caught("accessed memory 0 bytes past the end of its scratch");
}

TEST(CheckedMode, AStoreJustBeforeTheScratch) {
  Checked checked([](const CpuArgs *, int64_t, int64_t, void *scratch) {
    store(static_cast<float *>(scratch) - 1, 1);
  });
  checked.caught("wrote before the begin of its scratch");
}

TEST(CheckedMode, AWildStore) {
  Checked checked(
      [](const CpuArgs *, int64_t, int64_t, void *) { store(reinterpret_cast<float *>(16), 1); });
  checked.caught("accessed memory far from all of its buffers");
}

#if defined(__x86_64__)
TEST(CheckedMode, AnAddressThatIsNone) {
  // The processor tells no address where bits 48 to 63 are no copies of bit 47.
  Checked checked([](const CpuArgs *, int64_t, int64_t, void *) {
    store(reinterpret_cast<float *>(uintptr_t(1) << 62), 1);
  });
  checked.caught("made an access that the processor refuses: an aligned vector access to unaligned "
                 "memory, or an address that is no address");
}
#endif

TEST(CheckedMode, TheInitProgramIsNamed) {
  PackageBuilder package;
  package.weight("w", {1, 2, 3}, {3});
  package.program(Target::cpu);
  uint32_t w = package.buffer(Storage::weight, DType::f32, {package.constant(3)});
  auto kernel = [](const CpuArgs *args, int64_t, int64_t, void *) { store(floats(args, 0), 1); };
  package.launch(package.kernel("fold", kernel), {PackageBuilder::buffer(w)}, {package.constant(1)},
                 {0}, true);
  ModulePtr module = load(package.file());
  dlc_context_options chosen = options();
  chosen.checked = 1;
  open(module.get(), chosen, DLC_INTERNAL);
  EXPECT_STREQ(dlc_last_error(),
               "init program: checked mode: kernel 'fold' (model.dl:3:7) wrote to byte 0 of buffer "
               "0 (weight 'w', f32[3], 12 bytes), which is only read");
}

TEST(CheckedMode, WhatIsNotWrittenIsNaN) {
  Checked checked([](const CpuArgs *args, int64_t, int64_t, void *) { store(floats(args, 1), 1); });
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(checked.run(), DLC_OK) << dlc_last_error();
    EXPECT_EQ(checked.y[0], 1);
    for (int i = 1; i < 10; ++i)
      EXPECT_TRUE(std::isnan(checked.y[i]));
  }
}

TEST(CheckedMode, FaultsOnWorkerThreadsAreCaughtToo) {
  PackageBuilder package;
  Expr n = package.symbol("N", 1, 100);
  package.output("y", DType::f32, {n});
  package.input("x", DType::f32, {n});
  package.program(Target::cpu);
  uint32_t x = package.buffer(Storage::input, DType::f32, {n}),
           y = package.buffer(Storage::output, DType::f32, {n});
  using B = PackageBuilder;
  auto kernel = [](const CpuArgs *args, int64_t begin, int64_t end, void *) {
    for (int64_t i = begin; i < end; ++i)
      store(floats(args, 1) + i, 1); // the grid has one tile too many
  };
  Expr tiles = package.apply(dlc::schema::ExprOp::add, n, package.constant(1));
  package.launch(package.kernel("grid", kernel), {B::buffer(x), B::buffer(y)}, {tiles});
  ModulePtr module = load(package.file());
  dlc_context_options chosen = options("cpu", 4);
  chosen.checked = 1;
  ContextPtr context = open(module.get(), chosen);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> in(64), out(64);
    dlc_tensor a = tensor(DLC_F32, {64}, in), b = tensor(DLC_F32, {64}, out);
    ASSERT_EQ(dlc_context_run(context.get(), &a, 1, &b, 1), DLC_INTERNAL);
    ASSERT_STREQ(dlc_last_error(), "checked mode: kernel 'grid' (model.dl:3:7) accessed memory 0 "
                                   "bytes past the end of buffer 1 (output 'y', f32[64], 256 "
                                   "bytes)");
  }
}
