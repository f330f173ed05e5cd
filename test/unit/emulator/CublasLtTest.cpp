//===- CublasLtTest.cpp - the emulated cuBLASLt -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/driver/CublasLtAbi.h"
#include "test/unit/emulator/EmuDevice.h"
#include <dlfcn.h>

namespace dlc::test {

namespace {

struct BlasApi {
#define DLC_CUBLASLT(member, symbol, result, parameters) result(*member) parameters = nullptr;
#include "runtime/cuda/driver/Symbols.def"
  long (*alive)() = nullptr;

  BlasApi() {
    void *library = dlopen(DLC_EMU_CUBLASLT_PATH, RTLD_NOW | RTLD_LOCAL);
    auto bind = [&](auto &function, const char *name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
#define DLC_CUBLASLT(member, symbol, result, parameters) bind(member, #symbol);
#include "runtime/cuda/driver/Symbols.def"
    bind(alive, "dlcEmuBlasAlive");
  }
};

constexpr auto kOk = BlasStatus::Success, kRefused = BlasStatus::InvalidValue;

/// A product of 8 x 4 by 4 x 8, column by column, each matrix followed by nothing.
class CublasLtTest : public EmuTest {
protected:
  void SetUp() override {
    EmuTest::SetUp();
    ASSERT_EQ(blas.create(&handle), kOk);
    ASSERT_EQ(blas.matmulCreate(&matmul, BlasCompute::F32, BlasType::F32), kOk);
    ASSERT_EQ(blas.layoutCreate(&aLayout, BlasType::F32, 8, 4, 8), kOk);
    ASSERT_EQ(blas.layoutCreate(&bLayout, BlasType::F32, 4, 8, 4), kOk);
    ASSERT_EQ(blas.layoutCreate(&dLayout, BlasType::F32, 8, 8, 8), kOk);
    ASSERT_EQ(blas.preferenceCreate(&preference), kOk);
    std::vector<float> ones(32, 1.0f);
    a = upload(ones);
    b = upload(ones);
    d = upload(std::vector<float>(64, -1.0f));
    workspace = upload(std::vector<float>(32 << 10, 0.0f));
  }

  void TearDown() override {
    EXPECT_EQ(blas.preferenceDestroy(preference), kOk);
    for (BlasLayout layout : {aLayout, bLayout, dLayout})
      EXPECT_EQ(blas.layoutDestroy(layout), kOk);
    EXPECT_EQ(blas.matmulDestroy(matmul), kOk);
    EXPECT_EQ(blas.destroy(handle), kOk);
    EXPECT_EQ(blas.alive(), 0);
    EmuTest::TearDown();
  }

  template <class T> BlasStatus prefer(BlasPreferenceAttribute attribute, T value) {
    return blas.preferenceSet(preference, attribute, &value, sizeof(value));
  }

  BlasStatus choose() {
    int found = 0;
    return blas.heuristic(handle, matmul, aLayout, bLayout, dLayout, dLayout, preference, 1,
                          &chosen, &found);
  }
  /// What dlc asks for.
  BlasStatus chooseStrictly(uint64_t workspaceBytes = 1 << 20) {
    EXPECT_EQ(prefer(BlasPreferenceAttribute::ReductionSchemes, kBlasReduceInComputeType), kOk);
    EXPECT_EQ(prefer(BlasPreferenceAttribute::MaxWorkspaceBytes, workspaceBytes), kOk);
    return choose();
  }

  BlasStatus multiply(size_t workspaceBytes) {
    float one = 1, zero = 0;
    auto at = [](DevicePtr pointer) { return reinterpret_cast<void *>(pointer); };
    return blas.multiply(handle, matmul, &one, at(a), aLayout, at(b), bLayout, &zero, at(d),
                         dLayout, at(d), dLayout, &chosen.algorithm, at(workspace), workspaceBytes,
                         nullptr);
  }

  BlasApi blas;
  BlasHandle handle = nullptr;
  BlasMatmul matmul = nullptr;
  BlasLayout aLayout = nullptr, bLayout = nullptr, dLayout = nullptr;
  BlasPreference preference = nullptr;
  BlasHeuristic chosen = {};
  DevicePtr a = 0, b = 0, d = 0, workspace = 0;
};

} // namespace

TEST_F(CublasLtTest, MultipliesWhenTheStreamRuns) {
  ASSERT_EQ(chooseStrictly(), kOk);
  EXPECT_GT(chosen.workspaceBytes, 0u);
  ASSERT_EQ(multiply(chosen.workspaceBytes), kOk);
  EXPECT_EQ(download<float>(d, 64), std::vector<float>(64, 4.0f));
}

TEST_F(CublasLtTest, RefusesWrongNumbers) {
  BlasLayout layout;
  BlasMatmul other;
  EXPECT_EQ(blas.layoutCreate(&layout, BlasType::F32, 8, 4, 7), kRefused);
  EXPECT_EQ(blas.layoutCreate(&layout, BlasType::F32, 0, 4, 8), kRefused);
  EXPECT_EQ(blas.layoutCreate(&layout, BlasType(1), 8, 4, 8), kRefused);
  EXPECT_EQ(blas.matmulCreate(&other, BlasCompute(64), BlasType::F32), kRefused);
  EXPECT_EQ(blas.matmulCreate(&other, BlasCompute::F32, BlasType::F16), kRefused);
  int32_t count = 0;
  int64_t wide = 1;
  EXPECT_EQ(blas.layoutSet(aLayout, BlasLayoutAttribute::BatchCount, &count, 4), kRefused);
  EXPECT_EQ(blas.layoutSet(aLayout, BlasLayoutAttribute::BatchCount, &wide, 8), kRefused);
  EXPECT_EQ(blas.layoutSet(aLayout, BlasLayoutAttribute(1), &count, 4), kRefused);
  EXPECT_EQ(blas.matmulSet(matmul, BlasMatmulAttribute(7), &count, 4), kRefused);
  count = 2;
  EXPECT_EQ(blas.matmulSet(matmul, BlasMatmulAttribute::TransposeA, &count, 4), kRefused);
  EXPECT_EQ(prefer(BlasPreferenceAttribute::AlignmentA, uint32_t(24)), kRefused);
  EXPECT_EQ(prefer(BlasPreferenceAttribute::MaxWorkspaceBytes, uint32_t(24)), kRefused);
  EXPECT_EQ(prefer(BlasPreferenceAttribute(2), uint32_t(1)), kRefused);
}

TEST_F(CublasLtTest, RefusesProductsThatAreNone) {
  EXPECT_EQ(choose(), kRefused) << "sums may be rounded on their way";
  ASSERT_EQ(chooseStrictly(), kOk);
  auto transpose = BlasOperation::Transpose;
  ASSERT_EQ(blas.matmulSet(matmul, BlasMatmulAttribute::TransposeA, &transpose, 4), kOk);
  EXPECT_EQ(choose(), kRefused) << "4 x 8 by 4 x 8";
  EXPECT_EQ(multiply(chosen.workspaceBytes), kRefused);
  auto none = BlasOperation::None;
  ASSERT_EQ(blas.matmulSet(matmul, BlasMatmulAttribute::TransposeA, &none, 4), kOk);
  int32_t two = 2;
  ASSERT_EQ(blas.layoutSet(dLayout, BlasLayoutAttribute::BatchCount, &two, 4), kOk);
  EXPECT_EQ(choose(), kRefused) << "one batch of two";
  for (BlasLayout layout : {aLayout, bLayout})
    ASSERT_EQ(blas.layoutSet(layout, BlasLayoutAttribute::BatchCount, &two, 4), kOk);
  EXPECT_EQ(choose(), kRefused) << "results on top of each other";
}

TEST_F(CublasLtTest, RefusesMemoryThatIsNotThere) {
  ASSERT_EQ(chooseStrictly(), kOk);
  EXPECT_EQ(multiply(chosen.workspaceBytes - 1), kRefused);
  workspace += 16;
  EXPECT_EQ(multiply(chosen.workspaceBytes), kRefused) << "not aligned";
  workspace -= 16;
  a += 16;
  EXPECT_EQ(multiply(chosen.workspaceBytes), kRefused) << "256 bytes of alignment were promised";
  ASSERT_EQ(prefer(BlasPreferenceAttribute::AlignmentA, uint32_t(16)), kOk);
  ASSERT_EQ(choose(), kOk);
  EXPECT_EQ(multiply(chosen.workspaceBytes), kRefused) << "the last row lies outside";
  a -= 16;
  EXPECT_EQ(multiply(chosen.workspaceBytes), kOk);
  ASSERT_EQ(chooseStrictly(/*workspaceBytes=*/0), kOk);
  EXPECT_EQ(chosen.workspaceBytes, 0u);
  EXPECT_EQ(multiply(0), kOk);
  chosen.algorithm = {};
  EXPECT_EQ(multiply(0), kRefused) << "no algorithm of this product";
}

TEST_F(CublasLtTest, FailsWhereThatIsPlanted) {
  ASSERT_EQ(chooseStrictly(), kOk);
  api.failAt(0, 13);
  EXPECT_EQ(multiply(chosen.workspaceBytes), BlasStatus::ExecutionFailed);
  EXPECT_STREQ(api.failedFunction(), "cublasLtMatmul");
  api.failAt(-1, 0);
  EXPECT_EQ(multiply(chosen.workspaceBytes), kOk);
}

} // namespace dlc::test
