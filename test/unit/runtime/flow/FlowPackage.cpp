//===- FlowPackage.cpp - Small packages with flows, made by hand -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/flow/FlowPackage.h"

#include <algorithm>

using namespace dlc;
using namespace dlc::test;
using namespace dlc::schema;

static std::vector<Expr> dimsOf(const ValueT &value) {
  std::vector<Expr> dims;
  for (uint32_t row : value.dims)
    dims.push_back({row});
  return dims;
}

std::vector<Arg> OneKernel::arguments(const std::vector<Expr> &dims) {
  std::vector<Arg> args;
  uint32_t index = 0;
  for (const auto &value : module.inputs)
    args.push_back(
        PackageBuilder::buffer(buffer(Storage::input, value->dtype, dimsOf(*value), index++)));
  index = 0;
  for (const auto &value : module.outputs)
    args.push_back(
        PackageBuilder::buffer(buffer(Storage::output, value->dtype, dimsOf(*value), index++)));
  for (Expr expr : dims)
    args.push_back(dim(expr));
  return args;
}

OneKernel &OneKernel::onCpu(abi::CpuKernel function, const std::vector<Expr> &dims) {
  program(Target::cpu);
  std::vector<Arg> args = arguments(dims);
  launch(kernel("k", function), args, {constant(1)});
  return *this;
}

OneKernel &OneKernel::onCuda(const std::string &source, const std::vector<Expr> &dims) {
  program(Target::cuda);
  std::vector<Arg> args = arguments(dims);
  launch(cudaKernel("k", source, 32), args, {constant(1)});
  return *this;
}

Expr OneKernel::given(const std::string &name, int64_t min, int64_t max) {
  module.given.push_back(uint32_t(module.symbols.size()));
  return symbol(name, min, max);
}

FlowPackage::FlowPackage() {
  module.flow = std::make_unique<FlowT>();
  block();
}

uint32_t FlowPackage::inputSlot(const std::string &name, DType dtype, const std::vector<Expr> &dims,
                                const std::vector<int64_t> &slotDims) {
  input(name, dtype, dims);
  return slot(dtype, slotDims);
}

uint32_t FlowPackage::stateSlot(const std::string &name, DType dtype, const std::vector<Expr> &dims,
                                const std::vector<int64_t> &slotDims) {
  input(name, dtype, dims);
  module.states.push_back(std::move(module.inputs.back()));
  module.inputs.pop_back();
  return slot(dtype, slotDims);
}

uint32_t FlowPackage::slot(DType dtype, const std::vector<int64_t> &dims) {
  auto made = std::make_unique<SlotT>();
  made->dtype = dtype;
  made->dims = dims;
  flow().slots.push_back(std::move(made));
  return uint32_t(flow().slots.size()) - 1;
}

uint32_t FlowPackage::number() {
  flow().numbers = std::max(flow().numbers, uint32_t(module.symbols.size()));
  return flow().numbers++;
}

Expr FlowPackage::readSymbol(const std::string &name, int64_t min, int64_t max) {
  Expr made = symbol(name, min, max);
  module.symbols.back()->read = true;
  return made;
}

uint32_t FlowPackage::segment(const PackageBuilder &builder) {
  segments.push_back(builder);
  return uint32_t(segments.size()) - 1;
}

uint32_t FlowPackage::block() {
  flow().blocks.push_back(std::make_unique<BlockT>());
  return uint32_t(flow().blocks.size()) - 1;
}

void FlowPackage::result(const std::string &name, DType dtype, const std::vector<Expr> &dims,
                         uint32_t slot) {
  output(name, dtype, dims);
  flow().outputs.push_back(slot);
  flow().numbers = std::max(flow().numbers, uint32_t(module.symbols.size()));
}

template <class StepTable> StepTable &FlowPackage::add(uint32_t block, StepTable step) {
  auto entry = std::make_unique<StepEntryT>();
  entry->step.Set(std::move(step));
  auto *made = static_cast<StepTable *>(entry->step.value);
  flow().blocks[block]->steps.push_back(std::move(entry));
  return *made;
}

void FlowPackage::call(uint32_t block, uint32_t segment, Indices inputs, Indices outputs,
                       Indices numbers) {
  CallStepT step;
  step.segment = segment;
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  step.numbers = std::move(numbers);
  add(block, std::move(step));
}

void FlowPackage::read(uint32_t block, uint32_t slot, uint32_t number, const std::string &what) {
  ReadStepT step;
  step.slot = slot;
  step.number = number;
  step.what = what;
  add(block, std::move(step));
}

void FlowPackage::size(uint32_t block, uint32_t slot, uint32_t dim, uint32_t number) {
  SizeStepT step;
  step.slot = slot;
  step.dim = dim;
  step.number = number;
  add(block, step);
}

IfStepT &FlowPackage::branch(uint32_t block, uint32_t condition, uint32_t thenBlock,
                             uint32_t elseBlock) {
  IfStepT step;
  step.condition = condition;
  step.then_block = thenBlock;
  step.else_block = elseBlock;
  return add(block, std::move(step));
}

LoopStepT &FlowPackage::loop(uint32_t block, uint32_t body) {
  LoopStepT step;
  step.body = body;
  return add(block, std::move(step));
}

//===- Segments -------------------------------------------------------------------------------===//

template <class T> static const T *in(const abi::CpuArgs *args, size_t index) {
  return static_cast<const T *>(args->buffers[index]);
}
template <class T> static T *out(const abi::CpuArgs *args, size_t index) {
  return static_cast<T *>(args->buffers[index]);
}

PackageBuilder dlc::test::twiceSegment() {
  OneKernel p;
  Expr n = p.symbol("N", 0, 64);
  p.input("x", DType::f32, {n});
  p.output("y", DType::f32, {n});
  return p
      .onCpu(
          [](const abi::CpuArgs *args, int64_t, int64_t, void *) {
            for (int64_t i = 0; i < args->dims[0]; ++i)
              out<float>(args, 1)[i] = 2 * in<float>(args, 0)[i];
          },
          {n})
      .onCuda(R"(
extern "C" __global__ void k(const float *x, float *y, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = 2 * x[i];
}
)",
              {n});
}

PackageBuilder dlc::test::appendSegment() {
  OneKernel p;
  Expr n = p.symbol("N", 0, 64), more = p.apply(ExprOp::add, n, p.constant(1));
  p.input("x", DType::f32, {n});
  p.output("y", DType::f32, {more});
  return p
      .onCpu(
          [](const abi::CpuArgs *args, int64_t, int64_t, void *) {
            int64_t n = args->dims[0];
            std::copy_n(in<float>(args, 0), n, out<float>(args, 1));
            out<float>(args, 1)[n] = static_cast<float>(n);
          },
          {n})
      .onCuda(R"(
extern "C" __global__ void k(const float *x, float *y, long long n) {
  for (long long i = threadIdx.x; i <= n; i += blockDim.x)
    y[i] = i < n ? x[i] : (float)n;
}
)",
              {n});
}

PackageBuilder dlc::test::isShortSegment() {
  OneKernel p;
  Expr n = p.symbol("N", 0, 64);
  p.input("x", DType::f32, {n});
  p.output("short", DType::boolean, {});
  return p
      .onCpu([](const abi::CpuArgs *args, int64_t, int64_t,
                void *) { *out<uint8_t>(args, 1) = args->dims[0] < 6; },
             {n})
      .onCuda(R"(
extern "C" __global__ void k(const float *x, unsigned char *y, long long n) {
  if (threadIdx.x == 0)
    *y = n < 6;
}
)",
              {n});
}

PackageBuilder dlc::test::fillSegment() {
  OneKernel p;
  Expr n = p.given("n", 0, 65536);
  p.output("y", DType::f32, {n});
  return p
      .onCpu(
          [](const abi::CpuArgs *args, int64_t, int64_t, void *) {
            std::fill_n(out<float>(args, 0), args->dims[0], static_cast<float>(args->dims[0]));
          },
          {n})
      .onCuda(R"(
extern "C" __global__ void k(float *y, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = (float)n;
}
)",
              {n});
}

PackageBuilder dlc::test::addSegment() {
  OneKernel p;
  p.input("a", DType::i64, {});
  p.input("b", DType::i64, {});
  p.output("sum", DType::i64, {});
  return p
      .onCpu([](const abi::CpuArgs *args, int64_t, int64_t, void *) {
        *out<int64_t>(args, 2) = *in<int64_t>(args, 0) + *in<int64_t>(args, 1);
      })
      .onCuda(R"(
extern "C" __global__ void k(const long long *a, const long long *b, long long *sum) {
  if (threadIdx.x == 0)
    *sum = *a + *b;
}
)");
}

FlowPackage dlc::test::sampleFlow() {
  FlowPackage f;
  Expr n = f.symbol("N", 0, 64), m = f.readSymbol("m", 0, 64);
  uint32_t x = f.inputSlot("x", DType::f32, {n}, {-1}),
           trips = f.inputSlot("trips", DType::i64, {}, {}),
           doubles = f.inputSlot("doubles", DType::boolean, {}, {});
  uint32_t twice = f.segment(twiceSegment()), append = f.segment(appendSegment()),
           isShort = f.segment(isShortSegment()), fill = f.segment(fillSegment());
  uint32_t thenBlock = f.block(), elseBlock = f.block(), forBody = f.block(), whileBody = f.block();
  auto tensor = [&] { return f.slot(DType::f32, {-1}); };

  uint32_t before = tensor(), after = tensor(), doubled = tensor(),
           all = f.slot(DType::f32, {-1, -1});
  LoopStepT &counted = f.loop(thenBlock, forBody);
  counted.trips = int32_t(trips);
  counted.initial = {x};
  counted.arguments = {before};
  counted.next = {after};
  counted.results = {doubled};
  counted.gathered = {after};
  counted.stacks = {all};
  f.call(forBody, twice, {before}, {after});

  uint32_t shorter = tensor(), longer = tensor(), grown = tensor(),
           starts = f.slot(DType::boolean, {}), goesOn = f.slot(DType::boolean, {});
  f.call(elseBlock, isShort, {x}, {starts});
  LoopStepT &open = f.loop(elseBlock, whileBody);
  open.condition = int32_t(starts);
  open.initial = {x};
  open.arguments = {shorter};
  open.next = {longer};
  open.results = {grown};
  open.next_condition = int32_t(goesOn);
  f.call(whileBody, append, {shorter}, {longer});
  f.call(whileBody, isShort, {longer}, {goesOn});

  uint32_t y = tensor(), filled = tensor();
  IfStepT &branch = f.branch(0, doubles, thenBlock, elseBlock);
  branch.then_values = {doubled};
  branch.else_values = {grown};
  branch.results = {y};
  f.size(0, y, 0, 1);
  uint32_t count = f.number();
  f.read(0, trips, count);
  f.call(0, fill, {}, {filled}, {count});
  f.result("y", DType::f32, {m}, y);
  f.result("filled", DType::f32, {m}, filled);
  return f;
}

FlowPackage dlc::test::sumsFlow() {
  FlowPackage f;
  Expr t = f.readSymbol("T", 0, 1000000);
  uint32_t trips = f.inputSlot("trips", DType::i64, {}, {}),
           start = f.inputSlot("start", DType::i64, {}, {});
  auto scalar = [&] { return f.slot(DType::i64, {}); };
  uint32_t add = f.segment(addSegment()), body = f.block();
  uint32_t sum = scalar(), next = scalar(), step = scalar(), total = scalar(),
           all = f.slot(DType::i64, {-1});
  LoopStepT &loop = f.loop(0, body);
  loop.trips = int32_t(trips);
  loop.step = int32_t(step);
  loop.initial = {start};
  loop.arguments = {sum};
  loop.next = {next};
  loop.results = {total};
  loop.gathered = {next};
  loop.stacks = {all};
  f.call(body, add, {sum, step}, {next});
  f.result("total", DType::i64, {}, total);
  f.result("all", DType::i64, {t}, all);
  return f;
}
