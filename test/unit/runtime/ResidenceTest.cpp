//===- ResidenceTest.cpp - Columns that the blocks of a launch keep ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/schema/Residence.h"
#include "test/unit/runtime/CudaRunner.h"

using namespace dlc::test;
using dlc::abi::KeptColumns;

namespace {

struct Gpu {
  const char *arch, *multiprocessors;
  int64_t sharedBytes;
};
constexpr Gpu kH100 = {"90", "132", 227 << 10}, kA100 = {"80", "108", 163 << 10},
              kLaptop = {"86", "20", 99 << 10};

struct Case {
  const char *name;
  Gpu gpu;
  std::vector<KeptColumns> kept;
  int64_t blocks, sharedBytes;
};

// A grid of 132 blocks with 4096 bytes each, beside the columns.
const Case kCases[] = {
    {"the H100 holds all", kH100, {{1024, 8192}}, 128, 4096 + 8 * 8192},
    {"the A100 holds all, in fewer blocks", kA100, {{1024, 8192}}, 103, 4096 + 10 * 8192},
    {"the laptop's holds 11 of 52", kLaptop, {{1024, 8192}}, 20, 4096 + 11 * 8192},
    {"fewer columns than multiprocessors", kH100, {{5, 16}}, 5, 4096 + 16},
    {"the last byte fits", kLaptop, {{20, (99 << 10) - 4096}}, 20, 99 << 10},
    {"one step more does not", kLaptop, {{20, (99 << 10) - 4096 + 16}}, 20, 4096},
    {"the second list fits beside the first", kLaptop, {{40, 40960}, {20, 15360}}, 20, 101376},
    {"the second list does not", kLaptop, {{40, 40960}, {20, 15376}}, 20, 4096 + 2 * 40960},
    {"what the first list leaves goes to the second",
     kLaptop,
     {{60, 40960}, {40, 8192}},
     20,
     4096 + 2 * 40960 + 8192},
    {"no list", kLaptop, {}, 20, 4096},
};

} // namespace

TEST(Residence, Rule) {
  for (const Case &c : kCases) {
    dlc::abi::Spread spread = dlc::abi::spreadColumns(
        132, atoi(c.gpu.multiprocessors), 4096, c.gpu.sharedBytes, c.kept.data(), c.kept.size());
    EXPECT_EQ(spread.blocks, c.blocks) << c.name;
    EXPECT_EQ(spread.sharedBytes, c.sharedBytes) << c.name;
  }
}

// A product of no rows has no tiles: its grid stays empty, with columns to keep or without.
TEST(Residence, EmptyGrid) {
  KeptColumns kept = {1024, 8192};
  for (size_t lists : {0, 1})
    EXPECT_EQ(dlc::abi::spreadColumns(0, 132, 4096, 227 << 10, &kept, lists).blocks, 0);
}

#if defined(DLC_EMU_DRIVER_PATH)
class ResidentLaunch : public Cuda {};

// The numbers that the kernel sees on each of the GPUs.
TEST_F(ResidentLaunch, OnEachGpu) {
  for (const Case &c : kCases) {
    PackageBuilder package = cudaPackage(R"(
extern "C" __global__ void scale(const float *x, const float *p, float *y, long long n) {
  if (blockIdx.x == 0 && threadIdx.x < n)
    y[threadIdx.x] = threadIdx.x == 0 ? gridDim.x : dlc::dynamic_shared_bytes();
}
)");
    dlc::schema::LaunchT &launch = *package.module.programs[0]->main[0]->command.AsLaunch();
    launch.persistent = true;
    launch.grid = {package.constant(132).row};
    launch.scratch_bytes = package.constant(4096).row;
    for (KeptColumns list : c.kept)
      launch.kept.emplace_back(list.count, list.bytes);
    Environment arch("DLC_EMU_ARCH", c.gpu.arch),
        multiprocessors("DLC_EMU_MULTIPROCESSORS", c.gpu.multiprocessors);
    ModulePtr module = load(package.file());
    ContextPtr context = open(module.get(), options("cuda"));
    std::vector<float> seen;
    ASSERT_EQ(runScale(context.get(), 1, &seen), DLC_OK) << dlc_last_error();
    EXPECT_EQ(seen[0], float(c.blocks)) << c.name;
    EXPECT_EQ(seen[1], float(c.sharedBytes)) << c.name;
  }
}
#endif
