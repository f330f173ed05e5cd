//===- CacheTest.cpp - How many positions of a cache the runs have taken ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/CudaRunner.h"

#include <cstring>
#include <numeric>

using namespace dlc::test;
using dlc::abi::CpuArgs;
using dlc::schema::DType;
using dlc::schema::ExprOp;
using dlc::schema::Storage;
using dlc::schema::Target;
using B = PackageBuilder;

namespace {

constexpr int64_t kCapacity = 8;

/// (x f32[T]) -> y f32[T], T in 1..8: x goes into a cache of 8 after what the runs before wrote; y
/// sums it up to each.
struct Cached : PackageBuilder {
  Expr t = symbol("T", 1, kCapacity);

  /// With `hasFlag` there is a second input, flag bool[1], which is checked and not used.
  explicit Cached(Target target, bool hasFlag = false) {
    Expr capacity = constant(kCapacity), one = constant(1);
    input("x", DType::f32, {t});
    if (hasFlag)
      input("flag", DType::boolean, {one});
    output("y", DType::f32, {t});
    state("cache", DType::f32, {capacity});
    state("length", DType::i64, {});
    module.cache = std::make_unique<dlc::schema::CacheT>();
    module.cache->capacity = kCapacity;
    module.cache->step = t.row;
    program(target);
    uint32_t x = buffer(Storage::input, DType::f32, {t});
    if (hasFlag)
      buffer(Storage::input, DType::boolean, {one}, 1);
    uint32_t y = buffer(Storage::output, DType::f32, {t}),
             cache = buffer(Storage::state, DType::f32, {capacity}, 0),
             length = buffer(Storage::state, DType::i64, {}, 1);
    uint32_t append =
        target == Target::cpu ? kernel("append", fill) : cudaKernel("append", kFill, 32);
    launch(append, {B::buffer(x), B::buffer(y), B::buffer(cache), B::buffer(length), B::dim(t)},
           {one});
  }

  using PackageBuilder::buffer;

  void state(const std::string &name, DType dtype, const std::vector<Expr> &dims) {
    auto value = std::make_unique<dlc::schema::ValueT>();
    value->name = name;
    value->dtype = dtype;
    for (Expr dim : dims)
      value->dims.push_back(dim.row);
    module.states.push_back(std::move(value));
  }

  static void fill(const CpuArgs *args, int64_t, int64_t, void *) {
    auto *x = static_cast<const float *>(args->buffers[0]);
    auto *y = static_cast<float *>(args->buffers[1]);
    auto *cache = static_cast<float *>(args->buffers[2]);
    auto &length = *static_cast<int64_t *>(args->buffers[3]);
    for (int64_t i = 0; i < args->dims[0]; ++i) {
      cache[length++] = x[i];
      y[i] = std::accumulate(cache, cache + length, 0.0F);
    }
  }
  static constexpr const char *kFill = R"(
extern "C" __global__ void append(const float *x, float *y, float *cache, long long *length, long long count) {
  if (threadIdx.x != 0)
    return;
  for (long long i = 0; i < count; ++i) {
    cache[length[0]++] = x[i];
    y[i] = 0;
    for (long long k = 0; k < length[0]; ++k)
      y[i] += cache[k];
  }
}
)";
};

/// What a run of `count` that does not fit is told.
std::string refusal(int64_t taken, int64_t count) {
  return "the model's cache holds 8 positions, of which " + std::to_string(taken) +
         " are taken, and this run brings " + std::to_string(count) +
         "; reset the states first (--reset-state, dlc_context_reset_states), or compile the model "
         "with a larger cache";
}

/// Runs `count` ones; the last sum.
float append(dlc_context *context, int64_t count, dlc_status expected = DLC_OK) {
  std::vector<float> x(count, 1), y(count, -1);
  dlc_tensor in = tensor(DLC_F32, {count}, x), out = tensor(DLC_F32, {count}, y);
  EXPECT_EQ(dlc_context_run(context, &in, 1, &out, 1), expected) << dlc_last_error();
  return y.back();
}

void expectCounted(const PackageBuilder &package, dlc_context_options chosen) {
  ModulePtr module = load(package.file());
  EXPECT_EQ(dlc_module_cache_capacity(module.get()), kCapacity);
  ContextPtr context = open(module.get(), chosen);
  ASSERT_TRUE(context);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 0);
  EXPECT_EQ(append(context.get(), 3), 3);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 3);
  EXPECT_EQ(append(context.get(), 4), 7);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 7);
  // One too many: nothing is computed, nothing is written, nothing is counted.
  EXPECT_EQ(append(context.get(), 2, DLC_USAGE), -1);
  EXPECT_EQ(dlc_last_error(), refusal(7, 2));
  EXPECT_EQ(dlc_context_cache_length(context.get()), 7);
  // The last one fits.
  EXPECT_EQ(append(context.get(), 1), 8);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 8);
  EXPECT_EQ(append(context.get(), 1, DLC_USAGE), -1);
  EXPECT_EQ(dlc_last_error(), refusal(8, 1));
  // Each context counts for itself.
  ContextPtr other = open(module.get(), chosen);
  ASSERT_TRUE(other);
  EXPECT_EQ(dlc_context_cache_length(other.get()), 0);
  EXPECT_EQ(append(other.get(), 8), 8);
  EXPECT_EQ(dlc_context_cache_length(other.get()), 8);

  ASSERT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 0);
  EXPECT_EQ(append(context.get(), 5), 5);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 5);
  // The context's count of positions would not match the written state.
  const int64_t size = kCapacity;
  std::vector<float> values(kCapacity);
  EXPECT_EQ(dlc_context_write_state(context.get(), 0, &size, 1, values.data(), 4 * kCapacity),
            DLC_UNSUPPORTED);
  EXPECT_TRUE(lastErrorHas("state 'cache' cannot be written: the model has caches whose positions "
                           "the context counts"));
}

} // namespace

TEST(Cache, IsCountedUntilItIsReset) { expectCounted(Cached(Target::cpu), options()); }

TEST(Cache, IsCountedInCheckedMode) {
  dlc_context_options chosen = options();
  chosen.checked = 1;
  expectCounted(Cached(Target::cpu), chosen);
}

TEST(Cache, ARunMayTakeMorePositionsThanItsDimSays) {
  Cached package(Target::cpu);
  package.module.cache->step =
      package.apply(ExprOp::add, package.t, package.constant(4)).row; // T + 4
  ModulePtr module = load(package.file());
  ContextPtr context = open(module.get(), options());
  ASSERT_TRUE(context);
  EXPECT_EQ(append(context.get(), 2), 2);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 6);
  EXPECT_EQ(append(context.get(), 2, DLC_USAGE), -1);
  EXPECT_EQ(dlc_last_error(), refusal(6, 6));
}

TEST(Cache, ARunThatIsRefusedForAnotherReasonIsNotCounted) {
  ModulePtr module = load(Cached(Target::cpu).file());
  ContextPtr context = open(module.get(), options());
  ASSERT_TRUE(context);
  std::vector<float> x(3, 1), y(2);
  dlc_tensor in = tensor(DLC_F32, {3}, x), out = tensor(DLC_F32, {2}, y);
  EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_USAGE);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 0);
  enqueue(context.get(), in, out, DLC_USAGE);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 0);
  // Shapes that are bound or prepared take nothing.
  ASSERT_EQ(dlc_context_bind(context.get(), &in, 1), DLC_OK);
  ASSERT_EQ(dlc_context_prepare(context.get(), &in, 1), DLC_OK);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 0);
  EXPECT_EQ(append(context.get(), 8), 8);
}

TEST(Cache, RunsInLineAreCountedWhenTheyAreEnqueued) {
  ModulePtr module = load(Cached(Target::cpu).file());
  ContextPtr context = open(module.get(), options());
  ASSERT_TRUE(context);
  std::vector<float> x(3, 1), y[3] = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}};
  auto put = [&](int run, int64_t count, dlc_status expected) {
    return enqueue(context.get(), tensor(DLC_F32, {count}, x), tensor(DLC_F32, {count}, y[run]),
                   expected);
  };
  RunPtr first = put(0, 3, DLC_OK), second = put(1, 3, DLC_OK);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 6) << "those in line included";
  put(2, 3, DLC_USAGE);
  EXPECT_EQ(dlc_last_error(), refusal(6, 3));
  EXPECT_EQ(dlc_context_cache_length(context.get()), 6);
  ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK) << dlc_last_error();
  EXPECT_EQ(y[0], std::vector<float>({1, 2, 3}));
  EXPECT_EQ(y[1], std::vector<float>({4, 5, 6}));
  EXPECT_EQ(y[2], std::vector<float>({-1, -1, -1}));
  // A run that is waited for counts on.
  EXPECT_EQ(append(context.get(), 2), 8);
  put(2, 3, DLC_USAGE);
  EXPECT_EQ(dlc_last_error(), refusal(8, 3));
  ASSERT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 0);
  put(2, 3, DLC_OK);
  ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK) << dlc_last_error();
  EXPECT_EQ(y[2], std::vector<float>({1, 2, 3}));
}

TEST(Cache, ARunInLineThatFailsBeforeItWritesGivesItsPositionsBack) {
  ModulePtr module = load(Cached(Target::cpu, /*hasFlag=*/true).file());
  ContextPtr context = open(module.get(), options());
  ASSERT_TRUE(context);
  std::vector<float> x(3, 1), y[3] = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}};
  std::vector<uint8_t> right = {1}, wrong = {2};
  auto put = [&](std::vector<uint8_t> &flag, std::vector<float> &to) {
    dlc_tensor in[2] = {tensor(DLC_F32, {3}, x), tensor(DLC_BOOL, {1}, flag)},
               out = tensor(DLC_F32, {3}, to);
    dlc_run *run = nullptr;
    EXPECT_EQ(dlc_context_enqueue(context.get(), in, 2, &out, 1, nullptr, &run), DLC_OK)
        << dlc_last_error();
    return RunPtr(run);
  };
  RunPtr first = put(right, y[0]), second = put(wrong, y[1]);
  EXPECT_EQ(dlc_run_wait(second.get(), -1), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("input 'flag': element 0 is 2; a bool is 0 or 1")) << dlc_last_error();
  EXPECT_EQ(dlc_context_cache_length(context.get()), 3) << "as dlc_context_run counts";
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_USAGE);
  // There is room for what the failed run would have taken.
  put(right, y[2]);
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_OK) << dlc_last_error();
  EXPECT_EQ(dlc_context_cache_length(context.get()), 6);
  EXPECT_EQ(y[0], std::vector<float>({1, 2, 3}));
  EXPECT_EQ(y[1], std::vector<float>({-1, -1, -1}));
  EXPECT_EQ(y[2], std::vector<float>({4, 5, 6}));
}

TEST(Cache, PreparedShapesAreCheckedInLineAsWell) {
  ModulePtr module = load(Cached(Target::cpu).file());
  ContextPtr context = open(module.get(), options());
  ASSERT_TRUE(context);
  std::vector<float> x[2] = {std::vector<float>(5, 1), std::vector<float>(4, 1)},
                     y[2] = {std::vector<float>(5), std::vector<float>(4)};
  dlc_tensor in[2] = {tensor(DLC_F32, {5}, x[0]), tensor(DLC_F32, {4}, x[1])},
             out[2] = {tensor(DLC_F32, {5}, y[0]), tensor(DLC_F32, {4}, y[1])};
  for (dlc_tensor &shape : in)
    ASSERT_EQ(dlc_context_prepare(context.get(), &shape, 1), DLC_OK);
  enqueue(context.get(), in[0], out[0]);
  enqueue(context.get(), in[1], out[1], DLC_USAGE); // of the shapes that were prepared
  EXPECT_EQ(dlc_last_error(), refusal(5, 4));
  enqueue(context.get(), in[0], out[0], DLC_USAGE); // of those that are bound
  EXPECT_EQ(dlc_last_error(), refusal(5, 5));
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 5);
}

TEST(Cache, AModelWithoutOneTakesAnyNumberOfRuns) {
  ModulePtr module = load(delayPackage(Target::cpu).file());
  EXPECT_EQ(dlc_module_cache_capacity(module.get()), 0) << "a state is no cache by itself";
  ContextPtr context = open(module.get(), options());
  ASSERT_TRUE(context);
  std::vector<float> x(8, 1), y(8);
  dlc_tensor in = tensor(DLC_F32, {2, 4}, x), out = tensor(DLC_F32, {2, 4}, y);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 0);
  EXPECT_EQ(dlc_module_cache_capacity(nullptr), 0);
  EXPECT_EQ(dlc_context_cache_length(nullptr), 0);
}

TEST(Cache, AFlippedTableWithRightHashesDoesNotCrash) {
  const std::vector<uint8_t> file = Cached(Target::cpu).file();
  dlc::schema::ModuleHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  size_t refused = 0;
  for (size_t byte = 0; byte < header.tableBytes; ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> damaged = file;
      damaged[dlc::schema::kTableOffset + byte] ^= uint8_t(1 << bit);
      rehash(damaged);
      dlc_module *module = nullptr;
      refused += dlc_module_load_memory(damaged.data(), damaged.size(), nullptr, &module) != DLC_OK;
      // What passes may be another model. It is not run, as its code may start anywhere in the
      // image.
      EXPECT_GE(dlc_module_cache_capacity(module), 0);
      dlc_module_free(module);
    }
  EXPECT_GT(refused, 0U);
}

#if defined(DLC_EMU_DRIVER_PATH)
namespace {
class CacheCuda : public Cuda {};
} // namespace
TEST_F(CacheCuda, IsCountedUntilItIsReset) { expectCounted(Cached(Target::cuda), options("cuda")); }
#endif
