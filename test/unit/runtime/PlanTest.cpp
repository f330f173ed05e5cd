//===- PlanTest.cpp - Programs that contradict themselves under bound shapes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/package/Plan.h"
#include "test/unit/runtime/PackageBuilder.h"

#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::test;
using schema::DType;
using schema::ExprOp;
using schema::Storage;
using schema::Target;

namespace {

/// Plans the one program of `package` for N = `n`, or its init program.
std::string errorOfPlan(PackageBuilder &package, int64_t n, rt::Phase phase = rt::Phase::main) {
  std::vector<uint8_t> file = package.file();
  rt::Expected<std::shared_ptr<rt::Module>> module =
      rt::Module::loadMemory(file.data(), file.size(), true);
  if (module.failed())
    return "refused at load: " + module.status().message();
  std::vector<int64_t> values;
  const rt::Expressions &expressions = (*module)->expressions();
  expressions.evaluate({n}, expressions.size(), values);
  rt::Expected<rt::Plan> plan = rt::planProgram(*(*module)->table().programs()->Get(0), values,
                                                phase, rt::Interface::callerMemory);
  return plan.failed() ? plan.status().message() : "";
}

/// A program over f32[N], N in 1..2^40, that tests add to.
struct Planned : PackageBuilder {
  explicit Planned(Target target) {
    n = symbol("N", 1, int64_t(1) << 40);
    few = apply(ExprOp::add, n, constant(-4));
    input("x", DType::f32, {n});
    program(target);
    if (target == Target::cuda)
      cudaKernel("k", "extern \"C\" __global__ void k() {}", 128);
    else
      kernel("k", [](const dlc::abi::CpuArgs *, int64_t, int64_t, void *) {});
    x = buffer(Storage::input, DType::f32, {n});
  }
  using PackageBuilder::buffer;

  void expect(int64_t n, const std::string &message, rt::Phase phase = rt::Phase::main) {
    EXPECT_EQ(errorOfPlan(*this, n, phase), message);
  }
  void malformed(int64_t n, const std::string &message, rt::Phase phase = rt::Phase::main) {
    expect(n, "malformed module (compile the model again): " + message, phase);
  }

  Expr n, few; ///< N and N - 4
  uint32_t x;
};

} // namespace

TEST(Plan, AViewOfMoreThanThereIs) {
  Planned program(Target::cpu);
  program.buffer(Storage::view, DType::f32, {program.constant(10)}, program.x);
  program.expect(10, "");
  program.malformed(9, "buffer 1 views 40 bytes of a buffer of 36");
}

TEST(Plan, SizesThatDoNotFitTheDims) {
  Planned larger(Target::cpu);
  larger.module.programs[0]->buffers[0]->bytes = larger.constant(64).row;
  larger.expect(16, "");
  larger.malformed(15, "buffer 0: its size, 64 bytes, does not fit its dims");
  Planned negative(Target::cpu);
  negative.buffer(Storage::arena, DType::f32, {negative.few});
  negative.expect(4, "");
  negative.malformed(1, "buffer 1: its size, -12 bytes, does not fit its dims");
}

TEST(Plan, InitCommandsReadNoBuffersWhoseDimsVary) {
  // A view of persistent memory with N elements, which are not known yet.
  Planned program(Target::cpu);
  uint32_t whole = program.buffer(Storage::persistent, DType::f32, {program.constant(16)}),
           part = program.buffer(Storage::view, DType::f32, {program.few}, whole);
  program.launch(0, {Planned::buffer(whole)}, {program.constant(1)}, {0}, true);
  program.expect(1, "", rt::Phase::init);
  program.launch(0, {Planned::buffer(part)}, {program.constant(1)}, {0}, true);
  program.malformed(1, "command 1: buffer 2: its size does not fit its dims", rt::Phase::init);
}

TEST(Plan, SizesThatOverflow) {
  Planned persistent(Target::cpu);
  Expr quarter = persistent.constant(int64_t(1) << 60); // 2^62 bytes
  persistent.buffer(Storage::persistent, DType::f32, {quarter});
  persistent.expect(1, "", rt::Phase::init);
  persistent.buffer(Storage::persistent, DType::f32, {quarter});
  persistent.malformed(1, "the size of the persistent buffers overflows 64 bits", rt::Phase::init);
  Planned states(Target::cpu);
  Expr much = states.product({states.n, states.constant(1 << 20)});
  for (uint32_t i = 0; i < 2; ++i) {
    auto state = std::make_unique<dlc::schema::ValueT>();
    state->name = "s" + std::to_string(i);
    state->dtype = DType::f32;
    state->dims = {much.row};
    states.module.states.push_back(std::move(state));
    states.buffer(Storage::state, DType::f32, {much}, i);
  }
  states.expect(1, "");
  states.expect(int64_t(1) << 40,
                "the size of the states overflows 64 bits: give the model smaller inputs");
  Planned arena(Target::cpu);
  Expr many = arena.product({arena.n, arena.constant(1 << 20)});
  arena.buffer(Storage::arena, DType::f32, {many});
  arena.buffer(Storage::arena, DType::f32, {many});
  arena.expect(1, "");
  arena.expect(int64_t(1) << 40,
               "the size of the buffers overflows 64 bits: give the model smaller inputs");
}

TEST(Plan, TemporariesShareMemory) {
  Planned program(Target::cpu);
  dlc::test::Expr sixteen = program.constant(16);
  program.weight("w", std::vector<float>(16), {16});
  uint32_t w = program.buffer(Storage::weight, DType::f32, {sixteen});
  uint32_t again = program.buffer(Storage::weight, DType::f32, {sixteen}); // the same weight
  std::vector<uint32_t> made;
  for (int i = 0; i < 5; ++i)
    made.push_back(program.buffer(Storage::persistent, DType::f32, {sixteen}));
  uint32_t from = w;
  for (uint32_t to : made) { // each from the one before
    program.launch(0, {Planned::buffer(from), Planned::buffer(to)}, {sixteen}, {0}, true);
    from = to;
  }
  program.launch(0, {Planned::buffer(made.back()), Planned::buffer(program.x)}, {sixteen});
  std::vector<uint8_t> file = program.file();
  auto planned = [&](rt::Phase phase) {
    auto module = rt::Module::loadMemory(file.data(), file.size(), true).take();
    std::vector<int64_t> values;
    module->expressions().evaluate({1}, module->expressions().size(), values);
    return rt::planProgram(*module->table().programs()->Get(0), values, phase,
                           rt::Interface::callerMemory)
        .take();
  };
  rt::Plan init = planned(rt::Phase::init), main = planned(rt::Phase::main);
  EXPECT_EQ(init.persistentBytes, 64);
  EXPECT_EQ(main.persistentBytes, 64);
  EXPECT_EQ(init.temporaryBytes, 128); // a command reads one and writes the next
  EXPECT_EQ(main.temporaryBytes, 0);
  for (const rt::Plan *plan : {&init, &main})
    for (uint32_t i = 0; i < plan->buffers.size(); ++i)
      EXPECT_EQ(plan->buffers[i].isTemporary, i == w || i == again || (i >= made[0] && i < made[4]))
          << i;
  EXPECT_EQ(init.buffers[w].lastUse, 0u);
  EXPECT_EQ(init.buffers[made[0]].lastUse, 1u);
  EXPECT_EQ(init.buffers[made[4]].offset, main.buffers[made[4]].offset);
  // A main command that reads the weight by its other name keeps it.
  program.launch(0, {Planned::buffer(again)}, {sixteen});
  file = program.file();
  EXPECT_FALSE(planned(rt::Phase::init).buffers[w].isTemporary);
}

TEST(Plan, Grids) {
  Planned cpu(Target::cpu);
  cpu.launch(0, {}, {cpu.few});
  cpu.expect(int64_t(1) << 40, "");
  cpu.malformed(1, "command 0: its grid has -3 blocks on axis 0");
  Planned x(Target::cuda);
  x.launch(0, {}, {x.n});
  x.expect(INT32_MAX, "");
  x.expect(int64_t(1) << 31, "command 0: its grid has 2147483648 blocks on axis 0; a GPU takes at "
                             "most 2147483647: give the model smaller inputs");
  Planned y(Target::cuda);
  y.launch(0, {}, {y.constant(1), y.n});
  y.expect(65535, "");
  y.expect(65536, "command 0: its grid has 65536 blocks on axis 1; a GPU takes at most 65535: give "
                  "the model smaller inputs");
}

TEST(Plan, TensorMaps) {
  Planned program(Target::cuda);
  program.launch(0, {{schema::ArgKind::buffer, program.x}}, {program.constant(1)});
  auto map = std::make_unique<schema::TensorMapT>();
  map->columns = map->step = program.constant(32).row;
  map->rows = program.constant(2).row;
  map->box_columns = 32;
  map->box_rows = 64;
  program.module.programs[0]->main[0]->command.AsLaunch()->maps.push_back(std::move(map));
  program.expect(64, "");
  program.malformed(63, "command 0: tensor map 0 leaves its buffer");
}

TEST(Plan, NegativeScratch) {
  Planned program(Target::cpu);
  program.launch(0, {}, {program.constant(1)}, program.few);
  program.expect(4, "");
  program.malformed(2, "command 0: it asks for -2 bytes of scratch");
}
