//===- FlowTest.cpp - Models with branches, loops and sizes that the data say -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/flow/FlowRun.h"

#include <chrono>
#include <cstdio>

using namespace dlc::test;
using dlc::schema::DType;
using dlc::schema::IfStepT;
using dlc::schema::LoopStepT;

TEST(Flow, OneBranchRuns) {
  // The segment of the other branch takes 4 elements alone.
  FlowPackage f;
  Expr n = f.symbol("N", 0, 64);
  uint32_t x = f.inputSlot("x", DType::f32, {n}, {-1}),
           flag = f.inputSlot("flag", DType::boolean, {}, {});
  PackageBuilder four = twiceSegment();
  four.module.symbols[0]->min = four.module.symbols[0]->max = 4;
  uint32_t twice = f.segment(twiceSegment()), fourOnly = f.segment(four);
  uint32_t yes = f.block(), no = f.block(), a = f.slot(DType::f32, {-1}),
           b = f.slot(DType::f32, {4}), c = f.slot(DType::f32, {-1}), y = f.slot(DType::f32, {-1});
  f.call(yes, twice, {x}, {a});
  f.call(no, fourOnly, {x}, {b});
  f.call(no, twice, {b}, {c});
  IfStepT &branch = f.branch(0, flag, yes, no);
  branch.then_values = {a};
  branch.else_values = {c};
  branch.results = {y};
  f.result("y", DType::f32, {n}, y);
  FlowRun run(f.file());
  Floats three = {1, 2, 3}, all = {1, 2, 3, 4};
  std::vector<uint8_t> flags = {1};
  auto call = [&](Floats &values) {
    return run.run(
        {tensor(DLC_F32, {int64_t(values.size())}, values), tensor(DLC_BOOL, {}, flags)});
  };
  ASSERT_EQ(call(three), DLC_OK) << dlc_last_error();
  EXPECT_EQ(run.floats(0), Floats({2, 4, 6}));
  flags[0] = 0;
  EXPECT_EQ(call(three), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(),
               "input 'x', dim 0: expected 4 to 4, got 3; 'x' is f32[4] with N in 4..4");
  ASSERT_EQ(call(all), DLC_OK) << dlc_last_error();
  EXPECT_EQ(run.floats(0), Floats({4, 8, 12, 16}));
}

TEST(Flow, LoopsCarryTensorsThatGrow) {
  Sample sample;
  for (int again = 0; again < 2; ++again) {
    ASSERT_EQ(sample.run({7, 7}, 2, false), DLC_OK) << dlc_last_error();
    EXPECT_EQ(sample.floats(0), Floats({7, 7, 2, 3, 4, 5}));
    EXPECT_EQ(sample.dims(0), Integers({6}));
    EXPECT_EQ(sample.floats(1), Floats({2, 2}));
    ASSERT_EQ(sample.run({9, 9, 9, 9, 9}, 0, false), DLC_OK) << dlc_last_error();
    EXPECT_EQ(sample.floats(0), Floats({9, 9, 9, 9, 9, 5}));
    EXPECT_EQ(sample.floats(1), Floats());
    EXPECT_EQ(sample.dims(1), Integers({0}));
    // No step: the result is the input.
    ASSERT_EQ(sample.run({1, 2, 3, 4, 5, 6, 7}, 1, false), DLC_OK) << dlc_last_error();
    sample.values.assign(7, 0);
    EXPECT_EQ(sample.floats(0), Floats({1, 2, 3, 4, 5, 6, 7}));
    ASSERT_EQ(sample.run({1, 3}, 4, true), DLC_OK) << dlc_last_error();
    EXPECT_EQ(sample.floats(0), Floats({16, 48}));
  }
}

TEST(Flow, DimsAreUnknownBeforeTheRun) {
  Sample sample;
  ASSERT_EQ(sample.run({7, 7}, 3, false), DLC_OK) << dlc_last_error();
  EXPECT_EQ(sample.dims(0), Integers({6}));
  dlc_tensor in[] = {tensor(DLC_F32, {2}, sample.values), tensor(DLC_I64, {}, sample.count),
                     tensor(DLC_BOOL, {}, sample.flag)};
  ASSERT_EQ(dlc_context_bind(sample.context.get(), in, 3), DLC_OK) << dlc_last_error();
  EXPECT_EQ(sample.dims(0), Integers({-1}));
  const void *data;
  size_t bytes;
  EXPECT_EQ(dlc_context_output_data(sample.context.get(), 0, &data, &bytes), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "the context does not keep output 0: hand dlc_context_run an "
                                 "output with data null and bytes 0");
  EXPECT_EQ(dlc_context_output_data(sample.context.get(), 2, &data, &bytes), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "there is no output 2; the module has 2");
  dlc_value_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(dlc_module_output(sample.module.get(), 0, &info), DLC_OK);
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_EQ(info.max_dims[0], 64);
  EXPECT_STREQ(info.dim_names[0], "m");
}

TEST(Flow, ReadNumbersOutsideTheirRangesAreRefused) {
  Sample sample;
  EXPECT_EQ(sample.run({7, 7}, 70000, false), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "the model computed n = 70000; expected 0 to 65536");
  EXPECT_EQ(sample.run({7, 7}, -1, false), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "the model computed n = -1; expected 0 to 65536");
  ASSERT_EQ(sample.run({7, 7}, 1, false), DLC_OK) << dlc_last_error();
  EXPECT_EQ(sample.floats(1), Floats({1}));
}

TEST(Flow, LoopsCountAndStack) {
  FlowRun run(sumsFlow().file());
  ASSERT_EQ(runSums(run, 5, 100), DLC_OK) << dlc_last_error();
  EXPECT_EQ(run.integers(0), Integers({110}));
  EXPECT_EQ(run.integers(1), Integers({100, 101, 103, 106, 110}));
  for (int64_t none : {0, -3}) {
    ASSERT_EQ(runSums(run, none, 8), DLC_OK) << dlc_last_error();
    EXPECT_EQ(run.integers(0), Integers({8}));
    EXPECT_EQ(run.dims(1), Integers({0}));
  }
  ASSERT_EQ(runSums(run, 1000, 0), DLC_OK) << dlc_last_error();
  EXPECT_EQ(run.integers(1)[999], 999 * 500);
}

TEST(Flow, StacksOfOpenLoopsGrow) {
  // As `sums`, but the loop ends by a condition, of the tensor that a second loop of segments
  // makes.
  FlowPackage f;
  Expr n = f.symbol("N", 0, 64), t = f.readSymbol("T", 0, 64);
  uint32_t x = f.inputSlot("x", DType::f32, {n}, {-1});
  uint32_t append = f.segment(appendSegment()), isShort = f.segment(isShortSegment());
  uint32_t body = f.block(), before = f.slot(DType::f32, {-1}), after = f.slot(DType::f32, {-1}),
           goesOn = f.slot(DType::boolean, {}), last = f.slot(DType::f32, {-1}),
           all = f.slot(DType::boolean, {-1});
  LoopStepT &loop = f.loop(0, body);
  loop.initial = {x};
  loop.arguments = {before};
  loop.next = {after};
  loop.results = {last};
  loop.next_condition = int32_t(goesOn);
  loop.gathered = {goesOn};
  loop.stacks = {all};
  f.call(body, append, {before}, {after});
  f.call(body, isShort, {after}, {goesOn});
  f.result("all", DType::boolean, {t}, all);
  FlowRun run(f.file());
  Floats none;
  ASSERT_EQ(run.run({tensor(DLC_F32, {0}, none)}), DLC_OK) << dlc_last_error();
  EXPECT_EQ(run.bytes(0), std::string("\1\1\1\1\1\0", 6));
}

TEST(Flow, StacksOfNoStepHaveTheDimsOfOne) {
  // x [N], doubled `trips` times; the stack is [T, N] without a step, too. A dim that the steps
  // would say (M) is its least.
  for (bool isKnown : {true, false}) {
    FlowPackage f;
    Expr n = f.symbol("N", 0, 64), t = f.readSymbol("T", 0, 64), m = f.readSymbol("M", 2, 64);
    uint32_t x = f.inputSlot("x", DType::f32, {n}, {-1}),
             trips = f.inputSlot("trips", DType::i64, {}, {});
    uint32_t twice = f.segment(twiceSegment()), body = f.block();
    uint32_t before = f.slot(DType::f32, {-1}), after = f.slot(DType::f32, {-1}),
             last = f.slot(DType::f32, {-1}), all = f.slot(DType::f32, {-1, -1});
    LoopStepT &loop = f.loop(0, body);
    loop.trips = int32_t(trips);
    loop.initial = {x};
    loop.arguments = {before};
    loop.next = {after};
    loop.results = {last};
    loop.gathered = {after};
    loop.stacks = {all};
    loop.empty_dims = {(isKnown ? n : m).row};
    f.call(body, twice, {before}, {after});
    f.result("all", DType::f32, {t, isKnown ? n : m}, all);
    FlowRun run(f.file());
    Floats three = {1, 2, 3};
    Integers none = {0}, two = {2};
    ASSERT_EQ(run.run({tensor(DLC_F32, {3}, three), tensor(DLC_I64, {}, none)}), DLC_OK)
        << dlc_last_error();
    EXPECT_EQ(run.dims(0), Integers({0, isKnown ? 3 : 2}));
    ASSERT_EQ(run.run({tensor(DLC_F32, {3}, three), tensor(DLC_I64, {}, two)}), DLC_OK)
        << dlc_last_error();
    EXPECT_EQ(run.dims(0), Integers({2, 3}));
    EXPECT_EQ(run.floats(0), Floats({2, 4, 6, 4, 8, 12}));
  }
}

TEST(Flow, StackedTensorsHaveEqualDims) {
  FlowPackage f = sampleFlow();
  // The loop of the then block appends instead of doubling.
  f.flow().blocks[3]->steps[0]->step.AsCallStep()->segment = 1;
  FlowRun run(f.file());
  Floats x = {1, 2};
  Integers trips = {2};
  std::vector<uint8_t> flag = {1};
  EXPECT_EQ(
      run.run({tensor(DLC_F32, {2}, x), tensor(DLC_I64, {}, trips), tensor(DLC_BOOL, {}, flag)}),
      DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "step 1 of a loop gives [4], and the steps before it [3]; "
                                 "expected equal dims, as the loop stacks them");
}

TEST(Flow, LoopsInsideLoops) {
  // The sum over i < trips of the sums over j < i of j, and tensors that change places.
  FlowPackage f;
  uint32_t trips = f.inputSlot("trips", DType::i64, {}, {}),
           a = f.inputSlot("a", DType::i64, {}, {}), b = f.inputSlot("b", DType::i64, {}, {});
  auto scalar = [&] { return f.slot(DType::i64, {}); };
  uint32_t add = f.segment(addSegment()), outerBody = f.block(), innerBody = f.block();
  uint32_t i = scalar(), sum = scalar(), left = scalar(), right = scalar();
  LoopStepT &outer = f.loop(0, outerBody);
  outer.trips = int32_t(trips);
  outer.step = int32_t(i);
  outer.initial = {a, a, b};
  outer.arguments = {sum, left, right};
  uint32_t j = scalar(), innerSum = scalar(), innerNext = scalar(), innerTotal = scalar();
  LoopStepT &inner = f.loop(outerBody, innerBody);
  inner.trips = int32_t(i);
  inner.step = int32_t(j);
  inner.initial = {sum};
  inner.arguments = {innerSum};
  inner.next = {innerNext};
  inner.results = {innerTotal};
  f.call(innerBody, add, {innerSum, j}, {innerNext});
  LoopStepT &again = *f.flow().blocks[0]->steps[0]->step.AsLoopStep();
  again.next = {innerTotal, right, left};
  again.results = {scalar(), scalar(), scalar()};
  std::vector<uint32_t> results = again.results;
  for (size_t k = 0; k < 3; ++k)
    f.result(std::string(1, "stu"[k]), DType::i64, {}, results[k]);
  FlowRun run(f.file());
  Integers five = {5}, ten = {10}, twenty = {20};
  ASSERT_EQ(
      run.run({tensor(DLC_I64, {}, five), tensor(DLC_I64, {}, ten), tensor(DLC_I64, {}, twenty)}),
      DLC_OK)
      << dlc_last_error();
  EXPECT_EQ(run.integers(0), Integers({10 + 0 + 0 + 1 + 3 + 6}));
  EXPECT_EQ(run.integers(1), Integers({20})); // five changes
  EXPECT_EQ(run.integers(2), Integers({10}));
}

TEST(Flow, ReadNumbersFitIntoSixtyThreeBits) {
  FlowPackage f;
  uint32_t size = f.inputSlot("size", DType::u64, {}, {}), filled = f.slot(DType::f32, {-1});
  Expr n = f.readSymbol("n", 0, 65536);
  f.read(0, size, 0);
  f.call(0, f.segment(fillSegment()), {}, {filled}, {0});
  f.result("filled", DType::f32, {n}, filled);
  FlowRun run(f.file());
  std::vector<uint64_t> value = {~uint64_t(0)};
  auto call = [&] { return run.run({tensor(DLC_U64, {}, value)}); };
  EXPECT_EQ(call(), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(),
               "the model computed 18446744073709551615 for a size; expected 63 bits at most");
  value = {3};
  ASSERT_EQ(call(), DLC_OK) << dlc_last_error();
  EXPECT_EQ(run.floats(0), Floats({3, 3, 3}));
}

TEST(Flow, GivenSymbolsAgreeWithDims) {
  // (x f32[n], n given) -> x, and n is what `trips` says.
  OneKernel p;
  Expr n = p.given("n", 0, 64);
  p.input("x", DType::f32, {n});
  p.output("y", DType::f32, {n});
  p.onCpu([](const dlc::abi::CpuArgs *, int64_t, int64_t, void *) {});
  FlowPackage f;
  Expr size = f.symbol("N", 0, 64);
  uint32_t x = f.inputSlot("x", DType::f32, {size}, {-1}),
           trips = f.inputSlot("trips", DType::i8, {}, {}), y = f.slot(DType::f32, {-1});
  f.number();
  uint32_t number = 1;
  f.flow().numbers = 2;
  f.read(0, trips, number);
  f.call(0, f.segment(p), {x}, {y}, {number});
  f.result("y", DType::f32, {size}, y);
  FlowRun run(f.file());
  Floats two = {1, 2};
  std::vector<int8_t> value = {3};
  auto call = [&] { return run.run({tensor(DLC_F32, {2}, two), tensor(DLC_I8, {}, value)}); };
  EXPECT_EQ(call(), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "input 'x', dim 0: expected 3, got 2: n = 3 by what the model "
                                 "computed; 'x' is f32[n] with n in 0..64");
  value = {-3};
  EXPECT_EQ(call(), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "the model computed n = -3; expected 0 to 64");
  value = {2};
  EXPECT_EQ(call(), DLC_OK) << dlc_last_error();
}

TEST(Flow, SizesThatOverflow) {
  FlowRun run(sumsFlow().file());
  EXPECT_EQ(runSums(run, int64_t(1) << 62, 0), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "the size of a tensor that the model computes overflows 64 bits");
  EXPECT_EQ(runSums(run, 1, 0), DLC_OK) << dlc_last_error();
}

namespace {

/// A loop without steps in its body; `trips` negative: endless.
FlowPackage emptyLoop() {
  FlowPackage f;
  uint32_t trips = f.inputSlot("trips", DType::i64, {}, {});
  f.segment(addSegment());
  f.loop(0, f.block()).trips = int32_t(trips);
  f.result("y", DType::i64, {}, trips);
  return f;
}

} // namespace

TEST(Flow, EndlessLoopsTimeOut) {
  FlowPackage f = emptyLoop();
  f.flow().blocks[0]->steps[0]->step.AsLoopStep()->trips = -1;
  dlc_context_options chosen = options("cpu");
  chosen.timeout_ms = 20;
  FlowRun run(f.file(), "cpu", chosen);
  Integers trips = {3};
  EXPECT_EQ(run.run({tensor(DLC_I64, {}, trips)}), DLC_DEVICE);
  EXPECT_STREQ(dlc_last_error(),
               "after 20 ms the model's steps are not done. Give it more time (--timeout, "
               "timeout_ms), or check the condition of its loops");
  FlowRun ends(emptyLoop().file(), "cpu", chosen);
  EXPECT_EQ(ends.run({tensor(DLC_I64, {}, trips)}), DLC_OK) << dlc_last_error();
}

TEST(Flow, StepsCostLittle) {
  // The figures are printed; the bounds are far above them, for machines that do other things, too.
  using Clock = std::chrono::steady_clock;
  auto microseconds = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  };
  auto fastest = [&](FlowRun &run, auto call) {
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
      Clock::time_point begin = Clock::now();
      EXPECT_EQ(call(run), DLC_OK) << dlc_last_error();
      best = std::min(best, microseconds(begin));
    }
    return best;
  };
  Integers thousand = {1000};
  FlowRun empty(emptyLoop().file());
  double loop =
      fastest(empty, [&](FlowRun &run) { return run.run({tensor(DLC_I64, {}, thousand)}); });
  FlowRun calls(sumsFlow().file());
  double called = fastest(calls, [&](FlowRun &run) { return runSums(run, 1000, 0); });
  FlowPackage reads = sumsFlow();
  reads.read(1, 3, reads.number()); // the sum of each step
  FlowRun reading(reads.file());
  double read = fastest(reading, [&](FlowRun &run) { return runSums(run, 1000, 0); });
  std::printf("1000 steps of an empty body: %.1f us; of a body that calls a segment and stacks its "
              "output: %.1f us; that also reads it: %.1f us\n",
              loop, called, read);
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  constexpr double kSlower = 4;
#else
  constexpr double kSlower = 1;
#endif
  EXPECT_LT(loop, 5000 * kSlower);
  EXPECT_LT(called, 50000 * kSlower);
  EXPECT_LT(read, 55000 * kSlower);
}
