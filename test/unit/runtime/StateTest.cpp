//===- StateTest.cpp - Tensors that a context keeps from run to run ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/CudaRunner.h"

#include <cstddef>

using namespace dlc;
using namespace dlc::test;

namespace {

/// Runs n rows of `value`; the first number of the result, NaN where the run fails.
float delay(dlc_context *context, int64_t n, float value, dlc_status expected = DLC_OK) {
  std::vector<float> x(n * 4, value), y(n * 4, -1);
  dlc_tensor in = tensor(DLC_F32, {n, 4}, x), out = tensor(DLC_F32, {n, 4}, y);
  EXPECT_EQ(dlc_context_run(context, &in, 1, &out, 1), expected) << dlc_last_error();
  for (float other : y)
    EXPECT_EQ(other, y.front());
  return expected == DLC_OK ? y.front() : -1;
}

/// Returns the values that the state `before` holds.
std::vector<float> held(dlc_context *context) {
  int rank = 0;
  int64_t dims[DLC_MAX_RANK];
  EXPECT_EQ(dlc_context_state_dims(context, 0, &rank, dims), DLC_OK) << dlc_last_error();
  EXPECT_EQ(rank, 2);
  std::vector<float> values(static_cast<size_t>(dims[0] * dims[1]), -1);
  EXPECT_EQ(dlc_context_read_state(context, 0, values.data(), values.size() * sizeof(float)),
            DLC_OK)
      << dlc_last_error();
  return values;
}

void expectRead(schema::Target target, dlc_context_options options) {
  ModulePtr module = load(delayPackage(target).file());
  ContextPtr context = open(module.get(), options);
  ASSERT_TRUE(context);
  int rank = 0;
  int64_t dims[DLC_MAX_RANK];
  EXPECT_EQ(dlc_context_state_dims(context.get(), 0, &rank, dims), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("state 'before' holds nothing before a run, which tells its dims"));
  EXPECT_EQ(dlc_context_state_dims(context.get(), 1, &rank, dims), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("there is no state 1; the module has 1"));
  delay(context.get(), 2, 5);
  EXPECT_EQ(held(context.get()), std::vector<float>(8, 5));
  delay(context.get(), 2, 6);
  EXPECT_EQ(held(context.get()), std::vector<float>(8, 6));
  float few[7];
  EXPECT_EQ(dlc_context_read_state(context.get(), 0, few, sizeof(few)), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("state 'before' needs 32 bytes, got 28"));
  EXPECT_EQ(dlc_context_read_state(context.get(), 0, nullptr, 32), DLC_USAGE);
  EXPECT_EQ(dlc_context_read_state(nullptr, 0, few, sizeof(few)), DLC_USAGE);
  EXPECT_EQ(dlc_context_state_dims(nullptr, 0, &rank, dims), DLC_USAGE);
  // A reading changes nothing.
  EXPECT_EQ(delay(context.get(), 2, 7), 6);
  EXPECT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  EXPECT_EQ(dlc_context_state_dims(context.get(), 0, &rank, dims), DLC_USAGE);
  delay(context.get(), 3, 8);
  EXPECT_EQ(held(context.get()), std::vector<float>(12, 8));
}

void expectWritten(schema::Target target, dlc_context_options options) {
  ModulePtr module = load(delayPackage(target).file());
  ContextPtr context = open(module.get(), options);
  ASSERT_TRUE(context);
  const int64_t dims[] = {2, 4};
  auto write = [&](float value, std::vector<int64_t> as = {2, 4}, size_t index = 0) {
    std::vector<float> values(8, value);
    return dlc_context_write_state(context.get(), index, as.data(), static_cast<int>(as.size()),
                                   values.data(), values.size() * sizeof(float));
  };
  EXPECT_EQ(write(1, {8}), DLC_USAGE);
  EXPECT_TRUE(
      lastErrorHas("state 'before' cannot be [8]; expected 2 dims as the model declares them"));
  // Before the first run, which reads it.
  EXPECT_EQ(write(3), DLC_OK) << dlc_last_error();
  EXPECT_EQ(held(context.get()), std::vector<float>(8, 3));
  delay(context.get(), 3, 1, DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("state 'before' was written with the dims [2,4], and these inputs make "
                           "it [3,4]"));
  EXPECT_EQ(delay(context.get(), 2, 5), 3);
  EXPECT_EQ(delay(context.get(), 2, 6), 5);
  // Between runs; the last one counts.
  EXPECT_EQ(write(8), DLC_OK);
  EXPECT_EQ(write(9), DLC_OK);
  EXPECT_EQ(delay(context.get(), 2, 7), 9);
  EXPECT_EQ(held(context.get()), std::vector<float>(8, 7));
  EXPECT_EQ(write(1, {4, 2}), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("state 'before' cannot be [4,2]; expected [2,4]"));
  EXPECT_EQ(write(1, {8}), DLC_USAGE);
  EXPECT_EQ(write(1, {2, 4}, 1), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("there is no state 1; the module has 1"));
  float few[7] = {};
  EXPECT_EQ(dlc_context_write_state(context.get(), 0, dims, 2, few, sizeof(few)), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("state 'before' of the dims [2,4] needs 32 bytes, got 28"));
  EXPECT_EQ(dlc_context_write_state(context.get(), 0, nullptr, 2, few, 32), DLC_USAGE);
  EXPECT_EQ(dlc_context_write_state(context.get(), 0, dims, 2, nullptr, 32), DLC_USAGE);
  EXPECT_EQ(dlc_context_write_state(context.get(), 0, dims, -1, few, 0), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("a state has a rank of 0 to "));
  EXPECT_EQ(dlc_context_write_state(nullptr, 0, dims, 2, few, 32), DLC_USAGE);
  EXPECT_EQ(dlc_context_seed(context.get(), 1), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("the model draws no random numbers, so that a seed changes nothing"));
  EXPECT_EQ(dlc_context_seed(nullptr, 1), DLC_USAGE);
  // A reset forgets it, and the dims with it.
  EXPECT_EQ(write(4), DLC_OK);
  EXPECT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  EXPECT_EQ(delay(context.get(), 3, 8), 0);
  EXPECT_EQ(write(1), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("state 'before' cannot be [2,4]; expected [3,4]"));
}

void expectKept(schema::Target target, dlc_context_options options) {
  ModulePtr module = load(delayPackage(target).file());
  ContextPtr context = open(module.get(), options);
  ASSERT_TRUE(context);
  EXPECT_EQ(delay(context.get(), 2, 5), 0);
  EXPECT_EQ(delay(context.get(), 2, 6), 5);
  EXPECT_EQ(delay(context.get(), 2, 7), 6);
  // Each context has its own.
  ContextPtr other = open(module.get(), options);
  ASSERT_TRUE(other);
  EXPECT_EQ(delay(other.get(), 2, 1), 0);

  // What is held is not thrown away.
  delay(context.get(), 3, 8, DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("state 'before' holds [2,4] from the runs before, and these inputs make "
                           "it [3,4]; reset the states first (--reset-state, "
                           "dlc_context_reset_states)"));
  EXPECT_EQ(delay(context.get(), 2, 9), 7);
  EXPECT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  EXPECT_EQ(delay(context.get(), 3, 10), 0);
  EXPECT_EQ(delay(context.get(), 3, 11), 10);

  dlc_memory_info memory = {};
  memory.struct_size = sizeof(memory);
  ASSERT_EQ(dlc_context_memory(context.get(), &memory), DLC_OK);
  EXPECT_EQ(memory.state_bytes, 64); // 48, aligned
}

} // namespace

TEST(State, IsKeptUntilItIsReset) { expectKept(schema::Target::cpu, options()); }

TEST(State, IsRead) { expectRead(schema::Target::cpu, options()); }
TEST(State, IsWritten) { expectWritten(schema::Target::cpu, options()); }

TEST(State, IsReadInCheckedMode) {
  dlc_context_options checked = options();
  checked.checked = 1;
  expectRead(schema::Target::cpu, checked);
  expectWritten(schema::Target::cpu, checked);
}

TEST(State, IsKeptInCheckedMode) {
  dlc_context_options checked = options();
  checked.checked = 1;
  ModulePtr module = load(delayPackage(schema::Target::cpu).file());
  ContextPtr context = open(module.get(), checked);
  ASSERT_TRUE(context);
  EXPECT_EQ(delay(context.get(), 2, 5), 0);
  EXPECT_EQ(delay(context.get(), 2, 6), 5);
  EXPECT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  EXPECT_EQ(delay(context.get(), 3, 7), 0);
  EXPECT_EQ(delay(context.get(), 3, 8), 7);
}

#if defined(DLC_EMU_DRIVER_PATH)
namespace {
class CudaState : public Cuda {};
} // namespace
TEST_F(CudaState, IsKeptUntilItIsReset) { expectKept(schema::Target::cuda, options("cuda")); }
TEST_F(CudaState, IsRead) { expectRead(schema::Target::cuda, options("cuda")); }
TEST_F(CudaState, IsWritten) { expectWritten(schema::Target::cuda, options("cuda")); }
#endif

TEST(State, IsDescribed) {
  ModulePtr module = load(delayPackage(schema::Target::cpu).file());
  EXPECT_EQ(dlc_module_num_states(module.get()), 1u);
  EXPECT_EQ(dlc_module_num_states(nullptr), 0u);
  EXPECT_EQ(dlc_module_precision(nullptr), DLC_F32);
  dlc_value_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(dlc_module_state(module.get(), 0, &info), DLC_OK);
  EXPECT_STREQ(info.name, "before");
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_STREQ(info.dim_names[0], "N");
  EXPECT_EQ(dlc_module_state(module.get(), 1, &info), DLC_USAGE);
  EXPECT_EQ(dlc_module_state(nullptr, 0, &info), DLC_USAGE);
  EXPECT_EQ(dlc_context_reset_states(nullptr), DLC_USAGE);
}

TEST(State, MayBeHalfWrittenAfterARunThatFailed) {
  PackageBuilder p = delayPackage(schema::Target::cpu);
  // The kernel sleeps beyond the timeout; the copies after it are not made.
  uint32_t slow = p.kernel("slow", [](const dlc::abi::CpuArgs *, int64_t, int64_t, void *) {
    timespec pause = {0, 20'000'000};
    nanosleep(&pause, nullptr);
  });
  p.launch(slow, {}, {p.constant(1)});
  p.copy(0, 2);
  ModulePtr module = load(p.file());
  dlc_context_options chosen = options();
  chosen.timeout_ms = 5;
  ContextPtr context = open(module.get(), chosen);
  ASSERT_TRUE(context);
  delay(context.get(), 2, 5, DLC_DEVICE);
  delay(context.get(), 2, 5, DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("the run before failed and may have left states half written; reset "
                           "them first (dlc_context_reset_states)"));
  EXPECT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  delay(context.get(), 2, 5, DLC_DEVICE);
}

TEST(State, OldCallersGetTheMemoryThatTheyKnow) {
  ModulePtr module = load(delayPackage(schema::Target::cpu).file());
  ContextPtr context = open(module.get(), options());
  ASSERT_TRUE(context);
  delay(context.get(), 2, 5);
  dlc_memory_info memory = {};
  memory.struct_size = offsetof(dlc_memory_info, state_bytes);
  memory.state_bytes = -7;
  ASSERT_EQ(dlc_context_memory(context.get(), &memory), DLC_OK);
  EXPECT_EQ(memory.state_bytes, -7);
  EXPECT_EQ(memory.struct_size, offsetof(dlc_memory_info, state_bytes));
}
