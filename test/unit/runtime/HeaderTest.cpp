//===- HeaderTest.cpp - dlc.hpp, compiled as C++17 --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "dlc/dlc.hpp"
#include "test/unit/runtime/PackageBuilder.h"

#include <array>
#include <gtest/gtest.h>

static_assert(__cplusplus == 201703L, "what this header promises");

using dlc::test::affinePackage;
using dlc::test::delayPackage;

namespace {

dlc::Model modelOf(const dlc::test::PackageBuilder &package) {
  const std::vector<uint8_t> file = package.file();
  return dlc::Model(dlc::Span<const uint8_t>(file));
}

/// The failure of `call`.
template <class Call> std::pair<dlc_status, std::string> failureOf(Call call) {
  try {
    call();
  } catch (const dlc::Error &error) {
    return {error.status(), error.what()};
  }
  return {DLC_OK, ""};
}

using Failure = std::pair<dlc_status, std::string>;

} // namespace

TEST(Header, RunsAModel) {
  dlc::Model model = modelOf(affinePackage());
  dlc::Context context(model, "cpu");
  EXPECT_EQ(context.device().substr(0, 5), "cpu (");
  EXPECT_EQ(context.remarks(), "");
  const std::vector<float> x = {1, 2, 3, 4};
  std::array<float, 4> y{};
  float z[4] = {};
  context.run({dlc::Tensor({1, 4}, x)}, {dlc::Tensor({1, 4}, y)});
  EXPECT_EQ(y, (std::array<float, 4>{3, 6, 9, 12}));
  context.run({dlc::Tensor({1, 4}, y)}, {dlc::Tensor({1, 4}, dlc::Span<float>(z))});
  EXPECT_EQ(z[3], 28);
  context.bind({dlc::Tensor({7, 4}, DLC_F32)});
  EXPECT_EQ(context.outputShape(0), dlc::Shape({7, 4}));
  EXPECT_EQ(context.memory().arena_bytes, 128);
}

TEST(Header, ContextsKeepOutputs) {
  dlc::Model model = modelOf(affinePackage());
  dlc::Context context(model, "cpu");
  const std::vector<float> x = {1, 2, 3, 4};
  context.run({dlc::Tensor({1, 4}, x)}, {dlc::Tensor({}, DLC_F32)});
  dlc::Span<const uint8_t> kept = context.outputData(0);
  ASSERT_EQ(kept.size(), 16u);
  EXPECT_EQ(reinterpret_cast<const float *>(kept.data())[3], 12);
  context.bind({dlc::Tensor({1, 4}, x)});
  EXPECT_EQ(failureOf([&] { context.outputData(0); }),
            Failure(DLC_USAGE, "the context does not keep output 0: hand dlc_context_run an output "
                               "with data null and bytes 0"));
}

TEST(Header, DescribesAModel) {
  dlc::Model model = modelOf(delayPackage(dlc::schema::Target::cpu));
  ASSERT_EQ(model.inputs().size(), 1u);
  ASSERT_EQ(model.outputs().size(), 1u);
  ASSERT_EQ(model.states().size(), 1u);
  EXPECT_EQ(model.precision(), DLC_F32);
  dlc::ValueInfo x = model.inputs()[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dtype, DLC_F32);
  EXPECT_EQ(x.dims, dlc::Shape({-1, 4}));
  EXPECT_EQ(x.minDims, dlc::Shape({1, 4}));
  EXPECT_EQ(x.maxDims, dlc::Shape({64, 4}));
  EXPECT_EQ(x.dimNames, std::vector<std::string>({"N", ""}));
  EXPECT_EQ(model.states()[0].name, "before");
}

TEST(Header, EnqueuesRuns) {
  std::unique_ptr<dlc::Context> context;
  {
    dlc::Model model = modelOf(delayPackage(dlc::schema::Target::cpu));
    context = std::make_unique<dlc::Context>(model, "cpu");
  } // the context keeps the model alive
  std::vector<float> x[3], y[3];
  std::vector<dlc::Run> runs;
  context->prepare({dlc::Tensor({2, 4}, DLC_F32)});
  for (int i = 0; i < 3; ++i) {
    x[i].assign(8, float(i + 1));
    y[i].assign(8, -1);
    runs.push_back(context->enqueue({dlc::Tensor({2, 4}, x[i])}, {dlc::Tensor({2, 4}, y[i])}));
  }
  runs[1].wait();
  EXPECT_TRUE(runs[0].hasEnded());
  EXPECT_EQ(runs[0].outputShape(0), dlc::Shape({2, 4}));
  context->synchronize();
  EXPECT_TRUE(runs[2].waitFor(std::chrono::milliseconds(0)));
  EXPECT_EQ(y[2][0], 2);
  context->resetStates();
  context->run({dlc::Tensor({2, 4}, x[0])}, {dlc::Tensor({2, 4}, y[0])});
  EXPECT_EQ(y[0][0], 0);
  context.reset();
  EXPECT_TRUE(runs[2].hasEnded());
}

TEST(Header, FailuresAreThrown) {
  dlc::Model model = modelOf(affinePackage());
  EXPECT_EQ(failureOf([] { dlc::Model("/nonexistent/model.bin"); }),
            Failure(DLC_DEVICE,
                    "'/nonexistent/model.bin': cannot open the file: No such file or directory"));
  EXPECT_EQ(failureOf([&] { dlc::Context(model, "tpu"); }),
            Failure(DLC_USAGE, "unknown device 'tpu'; expected cpu, cuda, cuda:N or auto"));
  EXPECT_EQ(failureOf([] { dlc::Tensor(dlc::Shape(9, 1), DLC_F32); }),
            Failure(DLC_USAGE, "a tensor has at most 8 dims, and this one has 9"));
  dlc::Context context(model, "cpu");
  std::vector<double> wide(4);
  std::vector<float> x(4);
  auto expected = Failure(DLC_USAGE, "input 'x': expected f32[N,4], got f64");
  EXPECT_EQ(failureOf([&] { context.run({dlc::Tensor({1, 4}, wide)}, {dlc::Tensor({1, 4}, x)}); }),
            expected);
  EXPECT_EQ(failureOf([&] {
              (void)context.enqueue({dlc::Tensor({1, 4}, wide)}, {dlc::Tensor({1, 4}, x)});
            }),
            expected);
  dlc::ContextOptions options("cpu");
  options.threads = -1;
  EXPECT_EQ(failureOf([&] { dlc::Context(model, options); }),
            Failure(DLC_USAGE, "expected 0 to 1024 threads, got -1"));
}
