//===- FlowContextTest.cpp - States, outputs and devices of models with flows -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Library.h"
#include "test/unit/runtime/CudaRunner.h"
#include "test/unit/runtime/Instead.h"
#include "test/unit/runtime/RefusedCall.h"
#include "test/unit/runtime/flow/FlowRun.h"

#include <functional>
#include <thread>

using namespace dlc::test;
using dlc::abi::CpuArgs;
using dlc::schema::DType;
using dlc::schema::IfStepT;
using dlc::schema::LoopStepT;
using dlc::schema::Storage;
using dlc::schema::Target;

namespace {

/// y = the x of the run before, which is the state.
FlowPackage delay() {
  FlowPackage f;
  Expr n = f.symbol("N", 1, 64);
  uint32_t x = f.inputSlot("x", DType::f32, {n}, {-1}),
           before = f.stateSlot("before", DType::f32, {n}, {-1}), y = f.slot(DType::f32, {-1});
  f.call(0, f.segment(twiceSegment()), {before}, {y});
  f.result("y", DType::f32, {n}, y);
  f.flow().next_states = {x};
  return f;
}

} // namespace

TEST(Flow, StatesGoOnFromRunToRun) {
  FlowRun run(delay().file());
  Floats x = {1, 2};
  auto call = [&] { return run.run({tensor(DLC_F32, {int64_t(x.size())}, x)}); };
  ASSERT_EQ(call(), DLC_OK) << dlc_last_error();
  EXPECT_EQ(run.floats(0), Floats({0, 0}));
  x = {3, 4};
  ASSERT_EQ(call(), DLC_OK);
  EXPECT_EQ(run.floats(0), Floats({2, 4}));
  x = {1, 1, 1};
  EXPECT_EQ(call(), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("state 'before' holds [2] from the runs before"));
  dlc_context_reset_states(run.context.get());
  ASSERT_EQ(call(), DLC_OK) << dlc_last_error();
  EXPECT_EQ(run.floats(0), Floats({0, 0, 0}));
  dlc_memory_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(dlc_context_memory(run.context.get(), &info), DLC_OK);
  EXPECT_GE(info.state_bytes, 12);
}

TEST(Flow, ARunThatFailsChangesNoState) {
  FlowPackage f = delay();
  // A second output of unknown size, whose array is too small.
  Expr t = f.readSymbol("T", 0, 64);
  uint32_t longer = f.slot(DType::f32, {-1});
  f.call(0, f.segment(appendSegment()), {0}, {longer});
  f.result("longer", DType::f32, {t}, longer);
  FlowRun run(f.file());
  Floats x = {1, 2}, y(2), small(2), large(3);
  auto call = [&](Floats &second) {
    dlc_tensor in = tensor(DLC_F32, {2}, x);
    dlc_tensor out[] = {tensor(DLC_F32, {2}, y), tensor(DLC_F32, {-1}, second)};
    return dlc_context_run(run.context.get(), &in, 1, out, 2);
  };
  EXPECT_EQ(call(small), DLC_USAGE);
  EXPECT_STREQ(
      dlc_last_error(),
      "output 'longer': the model computed f32[3], which needs 12 bytes, and the array has "
      "8. Run again with a larger array, or leave the output to the context (data null, "
      "bytes 0)");
  EXPECT_EQ(run.dims(1), Integers({3}));
  ASSERT_EQ(call(large), DLC_OK) << dlc_last_error();
  EXPECT_EQ(y, Floats({0, 0}));
  EXPECT_EQ(large, Floats({1, 2, 2}));
  ASSERT_EQ(call(large), DLC_OK) << dlc_last_error();
  EXPECT_EQ(y, Floats({2, 4}));
}

TEST(Flow, OutputsOverInputsAreWrittenLast) {
  // Output 0 is written over the input that is output 1.
  FlowPackage f;
  Expr n = f.symbol("N", 1, 64);
  uint32_t x = f.inputSlot("x", DType::f32, {n}, {-1}), y = f.slot(DType::f32, {-1});
  f.call(0, f.segment(twiceSegment()), {x}, {y});
  f.result("y", DType::f32, {n}, y);
  f.result("same", DType::f32, {n}, x);
  FlowRun run(f.file());
  alignas(64) static float both[16];
  both[0] = 1;
  both[1] = 2;
  Floats same(2);
  dlc_tensor in = tensor(DLC_F32, {2}, same), out[] = {in, in};
  in.data = out[0].data = both;
  ASSERT_EQ(dlc_context_run(run.context.get(), &in, 1, out, 2), DLC_OK) << dlc_last_error();
  EXPECT_EQ(both[1], 4);
  EXPECT_EQ(same, Floats({1, 2}));
}

TEST(Flow, DeclaredDimsAreChecked) {
  FlowPackage f = sampleFlow();
  f.module.outputs[0]->dims = {f.module.inputs[0]->dims[0]}; // f32[N], and it grows
  FlowRun run(f.file());
  Floats x = {1, 2};
  Integers trips = {1};
  std::vector<uint8_t> flag = {0};
  EXPECT_EQ(
      run.run({tensor(DLC_F32, {2}, x), tensor(DLC_I64, {}, trips), tensor(DLC_BOOL, {}, flag)}),
      DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "output 'y', dim 0: the model computed 6; expected 2");
}

TEST(Flow, CountedOutputsOfSegmentsAreCut) {
  // x f32[N] -> f32[2,K], K = x[0], and its second dim as a number.
  OneKernel p;
  Expr n = p.symbol("N", 1, 8), k = p.symbol("K", 0, 8);
  p.module.symbols[1]->counted = true;
  p.module.symbols[1]->most = n.row;
  p.input("x", DType::f32, {n});
  p.output("y", DType::f32, {p.constant(2), k});
  p.output("count", DType::i64, {});
  p.onCpu(
      [](const CpuArgs *args, int64_t, int64_t, void *) {
        auto *x = static_cast<const float *>(args->buffers[0]);
        for (int64_t i = 0; i < 2 * args->dims[0]; ++i)
          static_cast<float *>(args->buffers[1])[i] =
              static_cast<float>(10 * (i / args->dims[0]) + i % args->dims[0]);
        *static_cast<int64_t *>(args->buffers[2]) = static_cast<int64_t>(x[0]);
      },
      {k});
  FlowPackage f;
  Expr m = f.symbol("N", 1, 8), c = f.readSymbol("C", 0, 8);
  uint32_t x = f.inputSlot("x", DType::f32, {m}, {-1}), y = f.slot(DType::f32, {2, -1}),
           filled = f.slot(DType::f32, {-1});
  PackageBuilder fill = fillSegment();
  fill.module.programs.pop_back(); // CUDA's
  f.call(0, f.segment(p), {x}, {y});
  f.size(0, y, 1, 1);
  f.call(0, f.segment(fill), {}, {filled}, {1});
  f.result("y", DType::f32, {f.constant(2), c}, y);
  f.result("filled", DType::f32, {c}, filled);
  FlowRun run(f.file());
  Floats in = {3, 0, 0, 0, 0};
  ASSERT_EQ(run.run({tensor(DLC_F32, {5}, in)}), DLC_OK) << dlc_last_error();
  EXPECT_EQ(run.dims(0), Integers({2, 3}));
  EXPECT_EQ(run.floats(0), Floats({0, 1, 2, 10, 11, 12}));
  EXPECT_EQ(run.floats(1), Floats({3, 3, 3}));
}

TEST(Flow, ContextsAreIndependent) {
  ModulePtr module = load(sampleFlow().file());
  auto work = [&](float base, bool &right) {
    FlowRun run(module.get(), options("cpu", 1));
    for (int i = 0; i < 50; ++i) {
      Floats x = {base, base};
      Integers trips = {3};
      std::vector<uint8_t> flag = {uint8_t(i % 2)};
      right &= run.run({tensor(DLC_F32, {2}, x), tensor(DLC_I64, {}, trips),
                        tensor(DLC_BOOL, {}, flag)}) == DLC_OK;
      right &= run.floats(0) ==
               (i % 2 ? Floats({8 * base, 8 * base}) : Floats({base, base, 2, 3, 4, 5}));
    }
  };
  bool first = true, second = true;
  std::thread other([&] { work(5, first); });
  work(7, second);
  other.join();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
}

TEST(Flow, EnqueuedRunsHaveArraysThatSuffice) {
  Sample sample;
  Floats x = {7, 7}, y(6), filled(3);
  Integers trips = {2};
  std::vector<uint8_t> flag = {0};
  dlc_tensor in[] = {tensor(DLC_F32, {2}, x), tensor(DLC_I64, {}, trips),
                     tensor(DLC_BOOL, {}, flag)};
  dlc_tensor out[] = {tensor(DLC_F32, {6}, y), tensor(DLC_F32, {0}, filled)};
  dlc_run *run = nullptr;
  ASSERT_EQ(dlc_context_enqueue(sample.context.get(), in, 3, out, 2, nullptr, &run), DLC_OK)
      << dlc_last_error();
  RunPtr handle(run);
  ASSERT_EQ(dlc_run_wait(run, -1), DLC_OK) << dlc_last_error();
  EXPECT_EQ(y, Floats({7, 7, 2, 3, 4, 5}));
  int rank;
  int64_t dims[DLC_MAX_RANK];
  ASSERT_EQ(dlc_run_output_dims(run, 1, &rank, dims), DLC_OK);
  EXPECT_EQ(dims[0], 2);
  out[0].data = nullptr;
  out[0].bytes = 0;
  EXPECT_EQ(dlc_context_enqueue(sample.context.get(), in, 3, out, 2, nullptr, nullptr), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "output 'y': its data pointer is null");
}

TEST(Flow, TheProfileHasAllCalls) {
  dlc_context_options chosen = options("cpu");
  chosen.profile = 1;
  FlowRun run(sumsFlow().file(), "cpu", chosen);
  ASSERT_EQ(runSums(run, 7, 0), DLC_OK) << dlc_last_error();
  const dlc_profile_entry *entries;
  size_t count;
  ASSERT_EQ(dlc_context_profile(run.context.get(), &entries, &count), DLC_OK);
  ASSERT_EQ(count, 7u);
  for (size_t i = 1; i < count; ++i)
    EXPECT_GE(entries[i].start_microseconds, entries[i - 1].start_microseconds);
  EXPECT_TRUE(std::string(dlc_context_device(run.context.get())).starts_with("cpu ("));
  double time;
  EXPECT_EQ(dlc_context_device_time(run.context.get(), &time), DLC_UNSUPPORTED);
}

TEST(Flow, StraightModelsKeepOutputsToo) {
  ModulePtr module = load(affinePackage().file());
  FlowRun run(module.get());
  Floats x = {1, 2, 3, 4};
  ASSERT_EQ(run.run({tensor(DLC_F32, {1, 4}, x)}), DLC_OK) << dlc_last_error();
  EXPECT_EQ(run.floats(0), Floats({3, 6, 9, 12}));
  EXPECT_EQ(run.dims(0), Integers({1, 4}));
  Floats y(4);
  dlc_tensor in = tensor(DLC_F32, {1, 4}, x), out = tensor(DLC_F32, {1, 4}, y);
  ASSERT_EQ(dlc_context_run(run.context.get(), &in, 1, &out, 1), DLC_OK);
  const void *data;
  size_t bytes;
  EXPECT_EQ(dlc_context_output_data(run.context.get(), 0, &data, &bytes), DLC_USAGE);
}

TEST(Flow, FlippedTablesDoNotCrash) {
  // Its segments only copy, so that what passes the verifier is run.
  FlowPackage f;
  Expr n = f.symbol("N", 0, 64);
  uint32_t x = f.inputSlot("x", DType::f32, {n}, {-1}),
           flag = f.inputSlot("flag", DType::boolean, {}, {}),
           trips = f.inputSlot("trips", DType::i64, {}, {});
  auto copying = [](DType dtype, bool hasDim) {
    PackageBuilder p;
    std::vector<Expr> dims;
    if (hasDim)
      dims = {p.symbol("N", 0, 64)};
    p.input("x", dtype, dims);
    p.output("y", dtype, dims);
    p.program(Target::cpu).cpu_images.clear();
    p.imageBytes.clear();
    p.copy(p.buffer(Storage::input, dtype, dims), p.buffer(Storage::output, dtype, dims));
    return p;
  };
  uint32_t copies = f.segment(copying(DType::f32, true)),
           copiesFlag = f.segment(copying(DType::boolean, false));
  uint32_t yes = f.block(), no = f.block(), body = f.block();
  uint32_t before = f.slot(DType::f32, {-1}), after = f.slot(DType::f32, {-1}),
           result = f.slot(DType::f32, {-1}), goesOn = f.slot(DType::boolean, {}),
           all = f.slot(DType::f32, {-1, -1}), y = f.slot(DType::f32, {-1}),
           step = f.slot(DType::i64, {});
  LoopStepT &loop = f.loop(yes, body);
  loop.trips = int32_t(trips);
  loop.step = int32_t(step);
  loop.initial = {x};
  loop.arguments = {before};
  loop.next = {after};
  loop.results = {result};
  loop.next_condition = int32_t(goesOn);
  loop.gathered = {after};
  loop.stacks = {all};
  f.call(body, copies, {before}, {after});
  f.call(body, copiesFlag, {flag}, {goesOn});
  IfStepT &branch = f.branch(0, flag, yes, no);
  branch.then_values = {result};
  branch.else_values = {x};
  branch.results = {y};
  uint32_t number = f.number();
  f.read(0, trips, number);
  f.result("y", DType::f32, {n}, y);
  const std::vector<uint8_t> file = f.file();
  dlc::schema::ModuleHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  size_t refused = 0, ran = 0;
  dlc_context_options chosen = options("cpu", 1);
  chosen.timeout_ms = 2;
  for (size_t bit = 0; bit < 8 * header.tableBytes; ++bit) {
    std::vector<uint8_t> damaged = file;
    damaged[dlc::schema::kTableOffset + bit / 8] ^= uint8_t(1 << bit % 8);
    rehash(damaged);
    dlc_module *raw = nullptr;
    if (dlc_module_load_memory(damaged.data(), damaged.size(), nullptr, &raw) != DLC_OK) {
      ++refused;
      continue;
    }
    ModulePtr module(raw);
    dlc_context *context = nullptr;
    if (dlc_context_create(raw, &chosen, &context) != DLC_OK)
      continue;
    ContextPtr owned(context);
    Floats values(64, 1);
    Integers three = {3};
    std::vector<uint8_t> yesFlag = {1};
    dlc_tensor in[] = {tensor(DLC_F32, {2}, values), tensor(DLC_BOOL, {}, yesFlag),
                       tensor(DLC_I64, {}, three)};
    dlc_tensor out = {};
    out.struct_size = sizeof(out);
    out.dtype = DLC_F32;
    ran += dlc_context_run(context, in, 3, &out, 1) == DLC_OK;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(ran, 0u);
}

TEST(Flow, MemoryThatRunsOut) {
  // What is said where the system gives no block of so many bytes.
  auto error = [](uint32_t bytes, const std::function<void()> &body) {
    return resultUnder({SYS_mmap, 1, bytes, ENOMEM}, [&] {
      body();
      return std::string(dlc_last_error());
    });
  };
  PackageBuilder copies;
  std::vector<Expr> dims = {copies.symbol("N", 1, 64)};
  copies.input("x", DType::f32, dims);
  copies.output("y", DType::f32, dims);
  copies.program(Target::cpu);
  copies.copy(copies.buffer(Storage::input, DType::f32, dims),
              copies.buffer(Storage::output, DType::f32, dims));
  std::vector<uint8_t> sample = sampleFlow().file(), straight = copies.file();
  EXPECT_EQ(error(262144,
                  [&] {
                    FlowRun run(sample);
                    Floats x = {1, 2};
                    Integers many = {65536};
                    std::vector<uint8_t> flag = {0};
                    EXPECT_EQ(run.run({tensor(DLC_F32, {2}, x), tensor(DLC_I64, {}, many),
                                       tensor(DLC_BOOL, {}, flag)}),
                              DLC_DEVICE);
                  }),
            "not enough memory: the tensors between the model's segments need 256.0 KiB");
  EXPECT_EQ(error(256,
                  [&] {
                    FlowRun run(straight);
                    Floats x(64);
                    EXPECT_EQ(run.run({tensor(DLC_F32, {64}, x)}), DLC_DEVICE);
                  }),
            "not enough memory: the outputs that the context keeps need 256 bytes");
}

#if defined(DLC_EMU_DRIVER_PATH)
class FlowCuda : public Cuda {};

TEST_F(FlowCuda, RunsOnTheGpu) {
  Sample sample("cuda");
  for (int again = 0; again < 3; ++again) {
    ASSERT_EQ(sample.run({7, 7}, 2, false), DLC_OK) << dlc_last_error();
    EXPECT_EQ(sample.floats(0), Floats({7, 7, 2, 3, 4, 5}));
    EXPECT_EQ(sample.floats(1), Floats({2, 2}));
    ASSERT_EQ(sample.run({1, 3}, 4, true), DLC_OK) << dlc_last_error();
    EXPECT_EQ(sample.floats(0), Floats({16, 48}));
  }
  EXPECT_EQ(sample.run({7, 7}, 70000, false), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "the model computed n = 70000; expected 0 to 65536");
  ASSERT_EQ(sample.run({1, 3}, 1, true), DLC_OK) << dlc_last_error();
  EXPECT_EQ(sample.floats(0), Floats({2, 6}));
}

TEST_F(FlowCuda, CountsStacksAndKeepsStates) {
  FlowRun run(sumsFlow().file(), "cuda");
  for (int64_t trips : {5, 0, 9}) {
    ASSERT_EQ(runSums(run, trips, 100), DLC_OK) << dlc_last_error();
    EXPECT_EQ(run.integers(0), Integers({100 + trips * (trips - 1) / 2}));
    EXPECT_EQ(run.dims(1), Integers({trips}));
  }
  FlowRun delayed(delay().file(), "cuda");
  Floats x = {1, 2};
  for (float expected : {0, 2, 2}) {
    ASSERT_EQ(delayed.run({tensor(DLC_F32, {2}, x)}), DLC_OK) << dlc_last_error();
    EXPECT_EQ(delayed.floats(0)[0], expected);
  }
}

TEST_F(FlowCuda, ProfilesTimesAndTimesOut) {
  dlc_context_options chosen = options("cuda");
  chosen.profile = 1;
  chosen.timeout_ms = 60000;
  FlowRun run(sumsFlow().file(), "cuda", chosen);
  ASSERT_EQ(runSums(run, 4, 0), DLC_OK) << dlc_last_error();
  const dlc_profile_entry *entries;
  size_t count;
  ASSERT_EQ(dlc_context_profile(run.context.get(), &entries, &count), DLC_OK);
  EXPECT_EQ(count, 4u);
  double time;
  EXPECT_EQ(dlc_context_device_time(run.context.get(), &time), DLC_OK) << dlc_last_error();
}

TEST_F(FlowCuda, FailuresOfTheDriverAreNamed) {
  const auto *driver = *dlc::cuda::Driver::open();
  using dlc::cuda::Driver, dlc::cuda::DevicePtr, dlc::cuda::Result, dlc::cuda::Stream;
  {
    FlowRun run(sumsFlow().file(), "cuda");
    Instead fault(
        driver, &Driver::memAlloc, +[](DevicePtr *, size_t) { return Result::OutOfMemory; });
    EXPECT_EQ(runSums(run, 3, 0), DLC_DEVICE);
    EXPECT_TRUE(
        lastErrorHas("not enough GPU memory: the tensors between the model's segments need 64 "
                     "bytes"));
  }
  FlowRun run(sumsFlow().file(), "cuda");
  {
    Instead fault(
        driver, &Driver::memcpyDtoDAsync,
        +[](DevicePtr, DevicePtr, size_t, Stream) { return Result::InvalidValue; });
    EXPECT_EQ(runSums(run, 3, 0), DLC_DEVICE);
    EXPECT_TRUE(lastErrorHas("cannot copy a tensor between the model's segments"));
  }
  EXPECT_EQ(runSums(run, 3, 0), DLC_OK) << dlc_last_error();
}

TEST_F(FlowCuda, AreNotEnqueued) {
  FlowRun run(sumsFlow().file(), "cuda");
  Integers one = {1};
  dlc_tensor in[] = {tensor(DLC_I64, {}, one), tensor(DLC_I64, {}, one)}, out[] = {in[0], in[1]};
  EXPECT_EQ(dlc_context_enqueue(run.context.get(), in, 2, out, 2, nullptr, nullptr),
            DLC_UNSUPPORTED);
  EXPECT_STREQ(dlc_last_error(), "the model decides its steps while it runs: use dlc_context_run");
  EXPECT_EQ(dlc_context_prepare(run.context.get(), in, 2), DLC_OK) << dlc_last_error();
}
#endif
