//===- FaultTest.cpp - planted mistakes must be reported --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/emulator/EmuDevice.h"
#include <numeric>

namespace dlc::test {

namespace {

class FaultTest : public CheckedTest {
protected:
  void SetUp() override {
    CheckedTest::SetUp();
    std::vector<float> values(64);
    std::iota(values.begin(), values.end(), 0.0f);
    x = upload(values);
    y = upload(std::vector<float>(64, 0.0f));
  }

  Result run(const char *kernel, unsigned blocks = 1) {
    return launch(compileFile("faults.cu", kernel), {blocks}, {64}, 0, x, y);
  }

  /// The kernel must fail with `result`, and its report must name it and hold `phrase`.
  void expectFault(const char *kernel, Result result, const std::string &phrase,
                   unsigned blocks = 1) {
    EXPECT_EQ(run(kernel, blocks), result);
    EXPECT_NE(report().find(std::string("kernel ") + kernel + ", block ("), std::string::npos)
        << report();
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
    EXPECT_NE(report().find(std::string("policy ") + GetParam()), std::string::npos) << report();
    // The error stays until the context ends.
    EXPECT_EQ(api.ctxSynchronize(), result);
    DevicePtr pointer;
    EXPECT_EQ(api.memAlloc(&pointer, 4), result);
  }

  DevicePtr x = 0, y = 0;
};

TEST_P(FaultTest, OutOfBoundsStore) {
  expectFault("out_of_bounds", Result::IllegalAddress,
              "thread (63,0,0): out of bounds: store of 4 B at buffer #");
  EXPECT_NE(report().find("offset 256 (of 256 B)"), std::string::npos) << report();
}

TEST_P(FaultTest, OutOfBoundsLoad) {
  expectFault("read_past_end", Result::IllegalAddress, "out of bounds: load of 4 B at buffer #");
}

TEST_P(FaultTest, MisalignedVector) {
  expectFault("misaligned_vector", Result::MisalignedAddress, "misaligned");
}

TEST_P(FaultTest, MisalignedScalar) {
  expectFault("misaligned_scalar", Result::MisalignedAddress, "misaligned");
}

TEST_P(FaultTest, DivergentBarrier) {
  expectFault("divergent_barrier", Result::LaunchFailed, "divergent barrier");
}

TEST_P(FaultTest, TwoBarriers) {
  expectFault("two_barriers", Result::LaunchFailed,
              "divergent barrier: this thread waits at kernel.cu:");
}

TEST_P(FaultTest, DivergentShuffle) {
  expectFault("divergent_shuffle", Result::LaunchFailed, "divergent warp");
}

TEST_P(FaultTest, UninitialisedShared) {
  expectFault("uninitialised_shared", Result::LaunchFailed,
              "thread (0,0,0): uninitialised: load of 4 B at shared 'tile'+252 (of 256 B)");
}

TEST_P(FaultTest, SharedOutOfBounds) {
  expectFault("shared_out_of_bounds", Result::IllegalAddress,
              "thread (63,0,0): out of bounds: store of 4 B at shared 'tile'+256 (of 256 B)");
}

TEST_P(FaultTest, MissingBarrier) {
  // In either order: the tile is read before it is written, or after.
  expectFault("missing_barrier", Result::LaunchFailed, "race: ");
  EXPECT_NE(report().find("of the same block, with no barrier between"), std::string::npos)
      << report();
}

TEST_P(FaultTest, MissingWaitForCopy) {
  expectFault("copy_without_wait", Result::LaunchFailed,
              "missing wait: load of 4 B at shared 'tile'");
  EXPECT_NE(report().find("into which a cp_async of thread "), std::string::npos) << report();
}

TEST_P(FaultTest, MissingBarrierAfterCopy) {
  EXPECT_EQ(run("copy_without_barrier"), Result::LaunchFailed);
  EXPECT_TRUE(report().find("no barrier between") != std::string::npos ||
              report().find("missing wait: load of 4 B at shared 'tile'") != std::string::npos)
      << report();
}

TEST_P(FaultTest, EachReaderIsRemembered) {
  expectFault("many_readers", Result::LaunchFailed, "race: ");
}

TEST_P(FaultTest, GlobalRace) {
  expectFault("global_race", Result::LaunchFailed, "race: store at buffer #");
}

TEST_P(FaultTest, BlockRace) { expectFault("block_race", Result::LaunchFailed, "of block ", 2); }

TEST_P(FaultTest, CorrectKernelsPass) {
  EXPECT_EQ(run("warp_exchange"), Result::Success) << report();
  std::vector<float> got = download<float>(y, 64);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], float(i ^ 1));
  EXPECT_EQ(run("many_ordered_readers"), Result::Success) << report();
  EXPECT_EQ(run("bytes"), Result::Success) << report();
  EXPECT_EQ(download<uint8_t>(y, 64)[63], 63);
  EXPECT_EQ(api.memsetD8(y, 0, 4), Result::Success);
  EXPECT_EQ(run("atomic_count", 3), Result::Success) << report();
  EXPECT_EQ(download<float>(y, 1)[0], 192.0f);
}

TEST_P(FaultTest, DivergentSigns) {
  expectFault("divergent_signs", Result::LaunchFailed,
              "divergent warp: the lanes of mma_tile_bytes disagree about which operands have a "
              "sign");
}

TEST_P(FaultTest, HalfAWarpMultiplies) {
  expectFault("half_a_warp_multiplies", Result::LaunchFailed,
              "mma_tile_bytes: only the lanes 0x0000ffff of the warp take part");
}

TEST_P(FaultTest, BytesMeetHalves) {
  expectFault("bytes_meet_halves", Result::LaunchFailed,
              "divergent warp: this lane calls mma_tile");
}

TEST_P(FaultTest, MissingBarrierInSoftmax) {
  Function kernel = compileFile("softmax.cu", "softmax", {"-DPLANT_MISSING_BARRIER"});
  std::vector<float> row(512, 1.0f);
  EXPECT_EQ(launch(kernel, {1}, {256}, 0, upload(row), upload(row), 512), Result::LaunchFailed);
  EXPECT_NE(report().find("race: "), std::string::npos) << report();
  EXPECT_NE(report().find("shared 'red'"), std::string::npos) << report();
}

TEST_P(FaultTest, MissingBarrierInGemm) {
  Function kernel = compileFile("gemm_simt.cu", "gemm_simt", {"-DPLANT_MISSING_BARRIER"});
  std::vector<float> a(64 * 32, 1.0f);
  EXPECT_EQ(launch(kernel, {1}, {256}, 0, upload(a), upload(a), upload(std::vector<float>(64 * 64)),
                   64, 64, 32),
            Result::LaunchFailed);
  EXPECT_NE(report().find("race: "), std::string::npos) << report();
}

TEST_P(FaultTest, OutOfBoundsInGemm) {
  Function kernel = compileFile("gemm_simt.cu", "gemm_simt", {"-DPLANT_OUT_OF_BOUNDS"});
  std::vector<float> a(63 * 16, 1.0f), b(16 * 64, 1.0f);
  EXPECT_EQ(launch(kernel, {1}, {256}, 0, upload(a), upload(b), allocate(63 * 64 * 4), 63, 64, 16),
            Result::IllegalAddress);
  EXPECT_NE(report().find("out of bounds: store of 4 B"), std::string::npos) << report();
  EXPECT_NE(report().find("(of 16128 B)"), std::string::npos) << report();
}

TEST_P(FaultTest, MissingBarrierInGemm80) {
  constexpr unsigned kShared = 3 * (128 * 32 + 32 * 128) * 2;
  Function kernel = compileFile("gemm80.cu", "gemm80", {"-DPLANT_MISSING_BARRIER"});
  api.funcSetAttribute(kernel, FunctionAttribute::MaxDynamicSharedSizeBytes, kShared);
  std::vector<uint16_t> a(128 * 64, 0x3f80);
  EXPECT_EQ(launch(kernel, {1}, {128}, kShared, upload(a), upload(a), allocate(128 * 128 * 2),
                   upload(std::vector<float>(128)), 128, 128, 64),
            Result::LaunchFailed);
  EXPECT_TRUE(report().find("no barrier between") != std::string::npos ||
              report().find("missing wait: ") != std::string::npos)
      << report();
}

INSTANTIATE_TEST_SUITE_P(Policies, FaultTest, ::testing::Values("order", "reverse", "random:11"));

} // namespace
} // namespace dlc::test
