//===- CountedTest.cpp - Outputs as large as the data say -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/CudaRunner.h"

using namespace dlc::test;
using dlc::abi::CpuArgs;
using dlc::schema::DType;
using dlc::schema::Storage;
using dlc::schema::Target;
using B = PackageBuilder;

namespace {

/// (x f32[N]) -> y f32[rows,K], K as x[0] says and N at most; y[r][k] is 10 r + k.
struct Counted : PackageBuilder {
  Expr n = symbol("N", 1, 8), k = symbol("K", 0, 8);
  uint32_t x, y, count;

  explicit Counted(Target target, int64_t rows = 2) {
    module.symbols[1]->counted = true;
    module.symbols[1]->most = n.row;
    Expr height = constant(rows);
    input("x", DType::f32, {n});
    output("y", DType::f32, {height, k});
    output("count", DType::i64, {});
    program(target);
    x = buffer(Storage::input, DType::f32, {n});
    y = buffer(Storage::output, DType::f32, {height, k});
    count = buffer(Storage::output, DType::i64, {}, 1);
    if (target == Target::cpu)
      launch(kernel("fill", fill),
             {B::buffer(x), B::buffer(y), B::buffer(count), B::dim(k), B::dim(height)},
             {constant(1)}, constant(0));
    else
      launch(cudaKernel("fill", kFill, 32),
             {B::buffer(x), B::buffer(y), B::buffer(count), B::dim(k), B::dim(height)},
             {constant(1)}, constant(0));
  }

  using PackageBuilder::buffer;

  static void fill(const CpuArgs *args, int64_t, int64_t, void *) {
    auto *x = static_cast<const float *>(args->buffers[0]);
    auto *y = static_cast<float *>(args->buffers[1]);
    for (int64_t r = 0; r < args->dims[1]; ++r)
      for (int64_t i = 0; i < args->dims[0]; ++i)
        y[r * args->dims[0] + i] = static_cast<float>(10 * r + i);
    *static_cast<int64_t *>(args->buffers[2]) = static_cast<int64_t>(x[0]);
  }
  static constexpr const char *kFill = R"(
extern "C" __global__ void fill(const float *x, float *y, long long *count, long long k, long long rows) {
  for (long long i = threadIdx.x; i < k * rows; i += blockDim.x)
    y[i] = (float)(10 * (i / k) + i % k);
  if (threadIdx.x == 0)
    count[0] = (long long)x[0];
}
)";
};

std::vector<int64_t> dimsOf(dlc_context *context) {
  int rank = 0;
  int64_t dims[DLC_MAX_RANK];
  EXPECT_EQ(dlc_context_output_dims(context, 0, &rank, dims), DLC_OK) << dlc_last_error();
  return {dims, dims + rank};
}

void expectCut(const std::vector<uint8_t> &file, const char *device) {
  ModulePtr module = load(file);
  EXPECT_EQ(dlc_module_num_outputs(module.get()), 1u); // its count is nobody's
  ContextPtr context = open(module.get(), options(device));
  std::vector<float> x(5), y(10);
  for (int64_t count : {3, 0, 5, 1}) {
    x[0] = static_cast<float>(count);
    dlc_tensor in = tensor(DLC_F32, {5}, x), out = tensor(DLC_F32, {2, 5}, y);
    ASSERT_EQ(dlc_context_bind(context.get(), &in, 1), DLC_OK) << dlc_last_error();
    EXPECT_EQ(dimsOf(context.get()), std::vector<int64_t>({2, 5})); // the most
    ASSERT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK) << dlc_last_error();
    EXPECT_EQ(dimsOf(context.get()), std::vector<int64_t>({2, count}));
    for (int64_t i = 0; i < 2 * count; ++i) {
      int64_t expected = 10 * (i / count) + i % count;
      EXPECT_EQ(y[i], static_cast<float>(expected)) << count;
    }
  }
  int rank = 0;
  int64_t dims[DLC_MAX_RANK];
  EXPECT_EQ(dlc_context_output_dims(context.get(), 1, &rank, dims), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "there is no output 1; the module has 1");
}

} // namespace

TEST(Counted, OutputsAreCutToTheCount) { expectCut(Counted(Target::cpu).file(), "cpu"); }

TEST(Counted, ACountOfMoreThanThereIsIsRefused) {
  ModulePtr module = load(Counted(Target::cpu).file());
  ContextPtr context = open(module.get(), options("cpu"));
  std::vector<float> x = {6, 0, 0, 0, 0}, y(10);
  dlc_tensor in = tensor(DLC_F32, {5}, x), out = tensor(DLC_F32, {2, 5}, y);
  EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_INTERNAL);
  EXPECT_STREQ(dlc_last_error(), "the model counted 6 of 5 for 'K'");
  x[0] = -1;
  EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_INTERNAL);
  EXPECT_STREQ(dlc_last_error(), "the model counted -1 of 5 for 'K'");
}

TEST(Counted, EachEnqueuedRunHasItsOwnCounts) {
  ModulePtr module = load(Counted(Target::cpu).file());
  ContextPtr context = open(module.get(), options("cpu"));
  std::vector<float> x[] = {{3, 0, 0, 0, 0}, {6, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, {5, 0, 0, 0, 0}};
  std::vector<float> y[4];
  RunPtr runs[4];
  for (int i = 0; i < 4; ++i) {
    y[i].resize(10);
    runs[i] = enqueue(context.get(), tensor(DLC_F32, {5}, x[i]), tensor(DLC_F32, {2, 5}, y[i]));
  }
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_INTERNAL);
  EXPECT_STREQ(dlc_last_error(), "the model counted 6 of 5 for 'K'");
  for (int i : {0, 2, 3}) {
    int rank = 0;
    int64_t dims[DLC_MAX_RANK];
    ASSERT_EQ(dlc_run_output_dims(runs[i].get(), 0, &rank, dims), DLC_OK) << dlc_last_error();
    EXPECT_EQ(rank, 2);
    EXPECT_EQ(dims[0], 2);
    EXPECT_EQ(dims[1], int64_t(x[i][0]));
  }
  EXPECT_EQ(y[0], std::vector<float>({0, 1, 2, 10, 11, 12, 11, 12, 13, 14}));
  EXPECT_EQ(dimsOf(context.get()), std::vector<int64_t>({2, 5})) << "those that were bound";
}

#if defined(DLC_EMU_DRIVER_PATH)
class CountedCuda : public Cuda {};

TEST_F(CountedCuda, OutputsAreCutToTheCount) { expectCut(Counted(Target::cuda).file(), "cuda"); }

TEST_F(CountedCuda, InGpuMemoryOnlyTheFirstDimIsCut) {
  // No GPU memory is touched: the dims are looked at before.
  alignas(16) static float nowhere[16];
  std::vector<float> x = {3, 0, 0, 0, 0};
  ModulePtr module = load(Counted(Target::cuda).file());
  ContextPtr context = open(module.get(), options("cuda"));
  dlc_tensor in = tensor(DLC_F32, {5}, x), out = in;
  out.rank = 2;
  out.dims[0] = 2;
  out.dims[1] = 5;
  out.data = nowhere;
  out.bytes = sizeof(nowhere);
  out.memory = DLC_MEMORY_DEVICE;
  EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_UNSUPPORTED);
  EXPECT_STREQ(dlc_last_error(),
               "output 'y': the data say how large a dim is that is not its first: dlc moves its "
               "elements together in memory of the CPU alone; give it such memory");
}

TEST_F(CountedCuda, AreNotEnqueued) {
  std::vector<float> x = {3, 0, 0, 0, 0}, y(10);
  ModulePtr module = load(Counted(Target::cuda).file());
  ContextPtr context = open(module.get(), options("cuda"));
  dlc_tensor in = tensor(DLC_F32, {5}, x), out = tensor(DLC_F32, {2, 5}, y);
  ASSERT_EQ(dlc_context_prepare(context.get(), &in, 1), DLC_OK) << dlc_last_error();
  enqueue(context.get(), in, out, DLC_UNSUPPORTED);
  EXPECT_STREQ(dlc_last_error(),
               "an output has a data-dependent size, which on a GPU is known only after "
               "the run: use dlc_context_run");
}
#endif
