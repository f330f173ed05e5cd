//===- VerifierTest.cpp - Each fault of a well-formed table is found and named ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

using namespace dlc::test;
using namespace dlc::schema;

namespace {

struct Fault {
  const char *name;
  void (*plant)(PackageBuilder &);
  const char *message;
};

LaunchT &launchOf(PackageBuilder &package, size_t command) {
  return *package.module.programs[0]->main[command]->command.AsLaunch();
}
BufferT &bufferOf(PackageBuilder &package, size_t index) {
  return *package.module.programs[0]->buffers[index];
}

// The package: buffers 0 x (input), 1 bias (weight), 2 h (arena, 0..1), 3 y (output); kernels 0, 1.
const Fault kFaults[] = {
    {"NoProgram", [](PackageBuilder &p) { p.module.programs.clear(); }, "it holds no program"},
    {"TwoPrograms",
     [](PackageBuilder &p) {
       p.module.programs.push_back(std::make_unique<ProgramT>(*p.module.programs[0]));
     },
     "a second one for the same target"},
    {"EmptyName", [](PackageBuilder &p) { p.module.inputs[0]->name = ""; },
     "input 0: expected a name"},
    {"ControlCharacter", [](PackageBuilder &p) { p.module.inputs[0]->name = "x\x1b[31m"; },
     "'x\\x1b[31m'"},
    {"BadUtf8", [](PackageBuilder &p) { p.module.weights[0]->name = "w\xc0\xaf"; }, "is no UTF-8"},
    {"LongName", [](PackageBuilder &p) { p.module.model.assign(5000, 'm'); },
     "expected a name of 1 to 4096 bytes"},
    {"DuplicateInput",
     [](PackageBuilder &p) {
       p.module.inputs.push_back(std::make_unique<ValueT>(*p.module.inputs[0]));
     },
     "the name 'x' occurs twice"},
    {"SymbolRange", [](PackageBuilder &p) { p.module.symbols[0]->max = -1; },
     "symbol 'N': expected a range"},
    {"NegativeSymbol", [](PackageBuilder &p) { p.module.symbols[0]->min = -1; },
     "symbol 'N': expected a range"},
    {"SymbolIndex",
     [](PackageBuilder &p) { p.module.expressions.push_back({ExprOp::symbol, 0, 0, 1}); },
     "names symbol 1; there are 1"},
    {"ExpressionOrder",
     [](PackageBuilder &p) {
       uint32_t self = p.module.expressions.size();
       p.module.expressions.push_back({ExprOp::add, self, 0, 0});
     },
     "expected an earlier one"},
    {"ExpressionOp",
     [](PackageBuilder &p) { p.module.expressions.push_back({static_cast<ExprOp>(9), 0, 0, 0}); },
     "unknown operation 9"},
    {"Overflow",
     [](PackageBuilder &p) {
       p.product({p.constant(int64_t(1) << 32), p.constant(int64_t(1) << 32)});
     },
     "overflows 64 bits"},
    {"OverflowForSomeValues",
     [](PackageBuilder &p) {
       Expr n = p.symbol("M", 1, int64_t(1) << 40);
       p.product({n, n});
     },
     "overflows 64 bits for some values"},
    {"DivisionByZero",
     [](PackageBuilder &p) { p.apply(ExprOp::floordiv, p.constant(1), p.symbol("M", 0, 4)); },
     "divides by what may be 0"},
    {"ValueType", [](PackageBuilder &p) { p.module.inputs[0]->dtype = static_cast<DType>(10); },
     "unknown element type 10"},
    {"ValueRank", [](PackageBuilder &p) { p.module.inputs[0]->dims.assign(9, 0); },
     "expected at most 8 dims, got 9"},
    {"ValueDim", [](PackageBuilder &p) { p.module.inputs[0]->dims[0] = 1000; },
     "dim 0 names expression 1000"},
    {"NegativeDim", [](PackageBuilder &p) { p.module.inputs[0]->dims[0] = p.constant(-3).row; },
     "dim 0 is always negative"},
    {"WeightBytes", [](PackageBuilder &p) { p.module.weights[0]->dims = {5}; },
     "its dims need 20 bytes, its segment has 16"},
    {"WeightOverflow",
     [](PackageBuilder &p) { p.module.weights[0]->dims = {uint64_t(1) << 32, uint64_t(1) << 32}; },
     "overflows 64 bits"},
    {"WeightNoSegment",
     [](PackageBuilder &p) { *p.module.weights[0]->data = Segment(1 << 20, 16, 0, 0); },
     "lie outside the file's segments"},
    {"SegmentInTable",
     [](PackageBuilder &p) { *p.module.weights[0]->data = Segment(128, 16, 0, 0); },
     "lie outside the file's segments"},
    {"SegmentUnaligned",
     [](PackageBuilder &p) { *p.module.weights[0]->data = Segment(130, 16, 0, 0); },
     "is no multiple of 64"},
    {"SegmentWraps",
     [](PackageBuilder &p) { *p.module.weights[0]->data = Segment(~uint64_t(63), 16, 0, 0); },
     "lie outside the file's segments"},
    {"BufferType", [](PackageBuilder &p) { bufferOf(p, 2).dtype = static_cast<DType>(99); },
     "buffer 2: unknown element type"},
    {"BufferRank", [](PackageBuilder &p) { bufferOf(p, 2).dims.assign(9, 0); },
     "expected at most 8 dims"},
    {"BufferSize", [](PackageBuilder &p) { bufferOf(p, 2).bytes = 1000; },
     "its size names expression 1000"},
    {"OrderLength", [](PackageBuilder &p) { bufferOf(p, 2).order = {0}; },
     "expected an order of 2 dims, got 1"},
    {"OrderNoPermutation", [](PackageBuilder &p) { bufferOf(p, 2).order = {1, 1}; },
     "no permutation"},
    {"OrderOutOfRange", [](PackageBuilder &p) { bufferOf(p, 2).order = {0, 2}; }, "no permutation"},
    {"TileDim", [](PackageBuilder &p) { bufferOf(p, 2).tile_dim = 2; }, "it tiles dim 2 of 2"},
    {"TileZero", [](PackageBuilder &p) { bufferOf(p, 2).tile = 0; },
     "expected tiles of 1 to 65536"},
    {"Storage", [](PackageBuilder &p) { bufferOf(p, 2).storage = static_cast<Storage>(6); },
     "unknown storage 6"},
    {"InputIndex", [](PackageBuilder &p) { bufferOf(p, 0).index = 1; },
     "it names input 1; there are 1"},
    {"InputType", [](PackageBuilder &p) { bufferOf(p, 0).dtype = DType::f64; },
     "differs from that of input 'x'"},
    {"InputLayout", [](PackageBuilder &p) { bufferOf(p, 0).order = {1, 0}; },
     "differs from that of input 'x'"},
    {"NoOutput", [](PackageBuilder &p) { bufferOf(p, 3).storage = Storage::arena; },
     "no buffer is output 'y'"},
    {"WeightIndex", [](PackageBuilder &p) { bufferOf(p, 1).index = 7; },
     "it names weight 7; there are 1"},
    {"WeightShape", [](PackageBuilder &p) { bufferOf(p, 1).dims[0] = p.constant(3).row; },
     "differs from that of weight 'bias'"},
    {"Lifetime", [](PackageBuilder &p) { bufferOf(p, 2).last_use = 2; },
     "lifetime 0..2 lies outside the 2 commands"},
    {"LifetimeReversed", [](PackageBuilder &p) { bufferOf(p, 2).first_use = 2; },
     "lifetime 2..1 lies outside"},
    {"UseAfterLife", [](PackageBuilder &p) { bufferOf(p, 2).last_use = 0; },
     "command 1: argument 0 uses buffer 2 outside its lifetime 0..0"},
    {"PersistentSymbolic", [](PackageBuilder &p) { bufferOf(p, 2).storage = Storage::persistent; },
     "needs a constant size"},
    {"ViewOfLater",
     [](PackageBuilder &p) { bufferOf(p, 2).storage = Storage::view, bufferOf(p, 2).index = 2; },
     "a view of buffer 2; expected an earlier one"},
    {"KernelIndex", [](PackageBuilder &p) { launchOf(p, 0).kernel = 2; },
     "it names kernel 2; there are 2"},
    {"ArgBuffer", [](PackageBuilder &p) { launchOf(p, 0).args[1] = Arg(ArgKind::buffer, 9); },
     "argument 1 names buffer 9; there are 4"},
    {"ArgDim", [](PackageBuilder &p) { launchOf(p, 1).args[3] = Arg(ArgKind::dim, 900); },
     "argument 3 names expression 900"},
    {"ArgKind", [](PackageBuilder &p) { launchOf(p, 1).args[3] = Arg(static_cast<ArgKind>(2), 0); },
     "of unknown kind 2"},
    {"GridAxes", [](PackageBuilder &p) { launchOf(p, 0).grid.push_back(0); },
     "expected a grid of 1 axis, got 2"},
    {"GridIndex", [](PackageBuilder &p) { launchOf(p, 0).grid[0] = 900; },
     "its grid names expression 900"},
    {"Scratch",
     [](PackageBuilder &p) { launchOf(p, 0).scratch_bytes = p.constant(int64_t(1) << 40).row; },
     "4 GiB of scratch"},
    {"KernelName", [](PackageBuilder &p) { p.module.programs[0]->kernels[0]->name = "a\nb"; },
     "no clean text"},
    {"KernelFlops", [](PackageBuilder &p) { p.module.programs[0]->kernels[0]->flops = 900; },
     "operations names expression 900"},
    {"EntryOutside",
     [](PackageBuilder &p) { p.module.programs[0]->kernels[0]->cpu[0] = CpuEntry(0, 24); },
     "its entry 0 lies outside image 0"},
    {"EntryImage",
     [](PackageBuilder &p) { p.module.programs[0]->kernels[0]->cpu[0] = CpuEntry(1, 0); },
     "its entry 0 lies outside image 0"},
    {"NoEntry", [](PackageBuilder &p) { p.module.programs[0]->kernels[0]->cpu.clear(); },
     "expected one entry for each of 1 images, got 0"},
    {"NoImage", [](PackageBuilder &p) { p.module.programs[0]->cpu_images.clear(); },
     "it has kernels and no code image"},
    {"Import",
     [](PackageBuilder &p) {
       auto import = std::make_unique<ImportT>();
       import->name = "system";
       p.module.programs[0]->cpu_images[0]->imports.push_back(std::move(import));
     },
     "it imports 'system'; only memcpy and memset are given"},
    {"ImportSlot",
     [](PackageBuilder &p) {
       auto import = std::make_unique<ImportT>();
       import->name = "memcpy";
       import->slot = 24;
       p.module.programs[0]->cpu_images[0]->imports.push_back(std::move(import));
     },
     "the slot of its import 'memcpy' lies outside it"},
    {"CopyIndex",
     [](PackageBuilder &p) {
       p.copy(0, 9);
       bufferOf(p, 2).last_use = 1;
     },
     "its target names buffer 9"},
    {"CopyToInput", [](PackageBuilder &p) { p.copy(3, 0); },
     "it writes to a buffer that is only read"},
    {"CopyToWeight", [](PackageBuilder &p) { p.copy(1, 1); },
     "it writes to a buffer that is only read"},
    {"InitUsesInput",
     [](PackageBuilder &p) {
       p.launch(0, {PackageBuilder::buffer(0)}, {p.constant(1)}, {0}, true);
     },
     "the init program may use weights and persistent buffers only"},
    {"InitUsesSymbol",
     [](PackageBuilder &p) { p.launch(0, {PackageBuilder::buffer(1)}, {{1}}, {0}, true); },
     "depends on the inputs' shapes"},
    {"UnknownTarget",
     [](PackageBuilder &p) { p.module.programs[0]->target = static_cast<Target>(5); },
     "unknown target 5"},
};

class VerifierTest : public testing::TestWithParam<Fault> {};

} // namespace

TEST_P(VerifierTest, IsRefusedByName) {
  PackageBuilder package = affinePackage();
  GetParam().plant(package);
  load(package.file(), DLC_INCOMPATIBLE);
  EXPECT_TRUE(lastErrorHas(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Faults, VerifierTest, testing::ValuesIn(kFaults),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Verifier, CudaLaunchLimits) {
  auto refused = [](const char *message, auto plant) {
    PackageBuilder package;
    package.program(Target::cuda);
    package.cudaKernel("k", "extern \"C\" __global__ void k() {}", 128);
    package.launch(0, {}, {package.constant(1)}, package.constant(0));
    plant(package, *package.module.programs[0]);
    load(package.file(), DLC_INCOMPATIBLE);
    EXPECT_TRUE(lastErrorHas(message));
  };
  refused("block axis 0 has 2048 threads",
          [](auto &, ProgramT &p) { p.kernels[0]->block = {2048}; });
  refused("block axis 2 has 65 threads",
          [](auto &, ProgramT &p) { p.kernels[0]->block = {1, 1, 65}; });
  refused("a block of 2048 threads", [](auto &, ProgramT &p) { p.kernels[0]->block = {1024, 2}; });
  refused("block axis 0 has 0 threads", [](auto &, ProgramT &p) { p.kernels[0]->block = {0}; });
  refused("expected a block of 1 to 3 axes",
          [](auto &, ProgramT &p) { p.kernels[0]->block.clear(); });
  refused("it names source 3", [](auto &, ProgramT &p) { p.kernels[0]->cuda_source = 3; });
  refused("it names header 0; there are 0",
          [](auto &, ProgramT &p) { p.cuda_sources[0]->headers = {0}; });
  refused("its text has a NUL byte",
          [](auto &, ProgramT &p) { p.cuda_sources[0]->text.push_back('\0'); });
  refused("expected a grid of 1 to 3 axes, got 4",
          [](auto &, ProgramT &p) { p.main[0]->command.AsLaunch()->grid.assign(4, 0); });
  refused("dynamic shared memory must be constant", [](PackageBuilder &package, ProgramT &p) {
    p.main[0]->command.AsLaunch()->scratch_bytes = package.symbol("N", 1, 2).row;
  });
}

TEST(Verifier, TwoWeightsMayShareASegment) {
  PackageBuilder package = affinePackage();
  package.weight("tied", {1, 2, 3, 4}, {4});
  std::vector<uint8_t> file = package.file();
  const Module *table = GetModule(file.data() + kTableOffset);
  Segment first = *table->weights()->Get(0)->data(), second = *table->weights()->Get(1)->data();
  EXPECT_NE(first.offset(), second.offset());
  load(file);
  // Both at the place of the last one: the same table, as only numbers in it change.
  *const_cast<Segment *>(table->weights()->Get(0)->data()) = second;
  rehash(file);
  load(file, DLC_INCOMPATIBLE); // the old place is now a hole with bytes in it
  EXPECT_TRUE(lastErrorHas("are not zero"));
  std::fill_n(file.begin() + first.offset(), first.bytes(), uint8_t(0));
  load(file);
  // Half over each other is an overlap.
  Segment shifted(first.offset(), 128, 0, 0);
  *const_cast<Segment *>(table->weights()->Get(0)->data()) = shifted;
  rehash(file);
  load(file, DLC_INCOMPATIBLE);
}
