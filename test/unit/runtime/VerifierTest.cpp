//===- VerifierTest.cpp - Each fault of a well-formed table is found and named ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

using namespace dlc::test;
using namespace dlc::schema;

namespace {

const char *const kMalformed = "malformed module (compile the model again): ";

struct Fault {
  const char *name;
  void (*plant)(PackageBuilder &);
  const char *message; ///< what follows kMalformed
};

LaunchT &launchOf(PackageBuilder &package, size_t command) {
  return *package.module.programs[0]->main[command]->command.AsLaunch();
}
BufferT &bufferOf(PackageBuilder &package, size_t index) {
  return *package.module.programs[0]->buffers[index];
}
KernelT &kernelOf(PackageBuilder &package, size_t index) {
  return *package.module.programs[0]->kernels[index];
}

// The package: buffers 0 x (input), 1 bias (weight), 2 h (arena, 0..1), 3 y (output); kernels 0, 1.
const Fault kFaults[] = {
    {"NoProgram", [](PackageBuilder &p) { p.module.programs.clear(); },
     "module: it holds no program"},
    {"TwoPrograms",
     [](PackageBuilder &p) {
       p.module.programs.push_back(std::make_unique<ProgramT>(*p.module.programs[0]));
     },
     "program 1: a second one for the same target"},
    {"EmptyName", [](PackageBuilder &p) { p.module.inputs[0]->name = ""; },
     "input 0: expected a name of 1 to 16777216 bytes"},
    {"ControlCharacter", [](PackageBuilder &p) { p.module.inputs[0]->name = "x\x1b[31m"; },
     "input 0: the name 'x\\x1b[31m' has control characters or is no UTF-8"},
    {"BadUtf8", [](PackageBuilder &p) { p.module.weights[0]->name = "w\xc0\xaf"; },
     "weight 0: the name 'w\\xc0\\xaf' has control characters or is no UTF-8"},
    {"LongName", [](PackageBuilder &p) { p.module.model.assign((1 << 24) + 1, 'm'); },
     "model: expected a name of 1 to 16777216 bytes"},
    {"DuplicateInput",
     [](PackageBuilder &p) {
       p.module.inputs.push_back(std::make_unique<ValueT>(*p.module.inputs[0]));
     },
     "input 1: the name 'x' occurs twice"},
    {"SymbolRange", [](PackageBuilder &p) { p.module.symbols[0]->max = -1; },
     "symbol 'N': expected a range of non-negative values, got 0..-1"},
    {"NegativeSymbol", [](PackageBuilder &p) { p.module.symbols[0]->min = -1; },
     "symbol 'N': expected a range of non-negative values, got -1..64"},
    {"SymbolStep", [](PackageBuilder &p) { p.module.symbols[0]->step = 0; },
     "symbol 'N': expected a step of 1 or more and an offset of 0 or more, got 0 and 0"},
    {"SymbolOffset", [](PackageBuilder &p) { p.module.symbols[0]->offset = -1; },
     "symbol 'N': expected a step of 1 or more and an offset of 0 or more, got 1 and -1"},
    {"DerivedLater",
     [](PackageBuilder &p) {
       p.module.symbols[0]->is_derived = true;
       p.module.symbols[0]->derived = 1000;
     },
     "expression 1 names symbol 0, which is derived from expression 1000; expected an earlier "
     "integer"},
    {"DerivedInput",
     [](PackageBuilder &p) {
       Expr five = p.constant(5), low = p.apply(ExprOp::min, five, five);
       Expr symbol = p.symbol("few", 1, 9);
       p.module.symbols.back()->is_derived = true;
       p.module.symbols.back()->derived = low.row;
       p.module.inputs[0]->dims[0] = symbol.row;
     },
     "input 'x': dim 0 depends on a derived symbol"},
    {"DerivedAndCounted",
     [](PackageBuilder &p) {
       p.symbol("few", 1, 9);
       p.module.symbols.back()->is_derived = p.module.symbols.back()->counted = true;
     },
     "symbol 'few': it is derived and counted; expected one of these"},
    {"DefinitionMissing",
     [](PackageBuilder &p) {
       p.symbol("few", 1, 9);
       p.module.expressions.pop_back(); // its row
       p.module.symbols.back()->is_derived = true;
       p.module.symbols.back()->derived = 1000;
     },
     "symbol 'few': its definition is expression 1000; there are 14"},
    {"DefinitionOfLater",
     [](PackageBuilder &p) {
       p.symbol("few", 1, 9);
       p.module.expressions.pop_back(); // its row
       SymbolT &few = *p.module.symbols.back();
       few.is_derived = true;
       few.derived = p.symbol("other", 1, 9).row;
     },
     "symbol 'few': its definition names symbol 2; expected earlier ones that are not counted"},
    {"DefinitionAsSize",
     [](PackageBuilder &p) {
       Expr five = p.constant(5), low = p.apply(ExprOp::min, five, five);
       p.apply(ExprOp::add, low, five);
     },
     "expression 16 names a step in the definition of a derived symbol; expected a size"},
    {"DefinitionOfReals",
     [](PackageBuilder &p) {
       Expr five = p.constant(5);
       p.apply(ExprOp::floor, five, five);
     },
     "expression 15 has an operand that is an integer; expected real numbers"},
    {"DefinitionOfIntegers",
     [](PackageBuilder &p) {
       Expr five = p.constant(5), real = p.apply(ExprOp::real, five, five);
       p.apply(ExprOp::min, real, five);
     },
     "expression 16 has an operand that is a real number; expected integers"},
    {"CountedMost",
     [](PackageBuilder &p) {
       p.module.symbols[0]->counted = true;
       p.module.symbols[0]->most = 1000;
     },
     "symbol 'N': its most names expression 1000; there are 14"},
    {"CountedRange",
     [](PackageBuilder &p) {
       p.module.symbols[0]->counted = true;
       p.module.symbols[0]->most = p.constant(65).row;
     },
     "symbol 'N': expected a range from 0 that holds its most, 65, got 0..64"},
    {"CountedByItself",
     [](PackageBuilder &p) {
       p.module.symbols[0]->counted = true;
       p.module.symbols[0]->most = p.module.inputs[0]->dims[0];
     },
     "symbol 'N': expected a range from 0 that holds its most, N, got 0..64"},
    {"CountOfOtherType",
     [](PackageBuilder &p) {
       p.module.symbols[0]->counted = true;
       p.module.symbols[0]->most = p.constant(64).row;
     },
     "output 'y': expected a count, which is i64 without dims"},
    {"CountMissing",
     [](PackageBuilder &p) {
       p.module.symbols[0]->counted = true;
       p.module.symbols[0]->most = p.constant(64).row;
       p.module.outputs.clear();
     },
     "outputs: expected a count for each of 1 counted symbols, got 0"},
    {"CountedInput",
     [](PackageBuilder &p) {
       p.module.symbols[0]->counted = true;
       p.module.symbols[0]->most = p.constant(64).row;
       p.output("count", DType::i64, {});
     },
     "input 'x': dim 0 depends on a counted symbol"},
    {"SymbolIndex",
     [](PackageBuilder &p) { p.module.expressions.push_back({ExprOp::symbol, 0, 0, 1}); },
     "expression 14 names symbol 1; there are 1"},
    {"ExpressionOrder",
     [](PackageBuilder &p) {
       uint32_t self = p.module.expressions.size();
       p.module.expressions.push_back({ExprOp::add, self, 0, 0});
     },
     "expression 14 names expression 14; expected an earlier one"},
    {"ExpressionOp",
     [](PackageBuilder &p) { p.module.expressions.push_back({static_cast<ExprOp>(99), 0, 0, 0}); },
     "expression 14: unknown operation 99"},
    {"Overflow",
     [](PackageBuilder &p) {
       p.product({p.constant(int64_t(1) << 32), p.constant(int64_t(1) << 32)});
     },
     "expression 16 overflows 64 bits for some values of the symbols: narrow their ranges"},
    {"OverflowForSomeValues",
     [](PackageBuilder &p) {
       Expr n = p.symbol("M", 1, int64_t(1) << 40);
       p.product({n, n});
     },
     "expression 15 overflows 64 bits for some values of the symbols: narrow their ranges"},
    {"DivisionByZero",
     [](PackageBuilder &p) { p.apply(ExprOp::floordiv, p.constant(1), p.symbol("M", 0, 4)); },
     "expression 16 divides by what may be 0; expected a positive divisor"},
    {"ValueType", [](PackageBuilder &p) { p.module.inputs[0]->dtype = static_cast<DType>(23); },
     "input 'x': unknown element type 23"},
    {"ValueRank", [](PackageBuilder &p) { p.module.inputs[0]->dims.assign(9, 0); },
     "input 'x': expected at most 8 dims, got 9"},
    {"ValueDim", [](PackageBuilder &p) { p.module.inputs[0]->dims[0] = 1000; },
     "input 'x': dim 0 names expression 1000; there are 14"},
    {"NegativeDim", [](PackageBuilder &p) { p.module.inputs[0]->dims[0] = p.constant(-3).row; },
     "input 'x': dim 0 is always negative"},
    {"NeedDim",
     [](PackageBuilder &p) {
       p.module.needs.push_back(std::make_unique<NeedT>());
       p.module.needs.back()->dim = 1000;
     },
     "need 0: it names expression 1000; there are 14"},
    {"CacheStep",
     [](PackageBuilder &p) {
       p.module.cache = std::make_unique<CacheT>();
       p.module.cache->step = 1000;
     },
     "cache: it names expression 1000; there are 14"},
    {"NegativeCacheStep",
     [](PackageBuilder &p) {
       p.module.cache = std::make_unique<CacheT>();
       p.module.cache->capacity = 8;
       p.module.cache->step = p.constant(-5).row;
     },
     "cache: what a run adds to it is always negative"},
    {"CacheCapacity",
     [](PackageBuilder &p) {
       p.module.cache = std::make_unique<CacheT>();
       p.module.cache->step = p.constant(1).row;
     },
     "cache: it holds 0 positions; expected 1 or more"},
    {"WeightName", [](PackageBuilder &p) { p.module.weights[0]->name = ""; },
     "weight 0: expected a name of 1 to 16777216 bytes"},
    {"WeightType", [](PackageBuilder &p) { p.module.weights[0]->dtype = static_cast<DType>(77); },
     "weight 'bias': unknown element type 77"},
    {"WeightRank", [](PackageBuilder &p) { p.module.weights[0]->dims.assign(9, 1); },
     "weight 'bias': expected at most 8 dims, got 9"},
    {"Precision", [](PackageBuilder &p) { p.module.precision = DType::i32; },
     "precision: it is none of f32, f16 and bf16"},
    {"WeightWithoutData", [](PackageBuilder &p) { p.module.weights[0]->data.reset(); },
     "weight 'bias': it has no segment"},
    {"WeightBytes", [](PackageBuilder &p) { p.module.weights[0]->dims = {5}; },
     "weight 'bias': its dims need 20 bytes, its segment has 16"},
    {"WeightOverflow",
     [](PackageBuilder &p) { p.module.weights[0]->dims = {uint64_t(1) << 32, uint64_t(1) << 32}; },
     "weight 'bias': its size overflows 64 bits"},
    {"SegmentUnaligned",
     [](PackageBuilder &p) { *p.module.weights[0]->data = Segment(130, 16, 0, 0); },
     "weight 'bias': offset 130 is no multiple of 64"},
    {"BufferType", [](PackageBuilder &p) { bufferOf(p, 2).dtype = static_cast<DType>(99); },
     "program 0 (cpu), buffer 2: unknown element type 99"},
    {"BufferRank", [](PackageBuilder &p) { bufferOf(p, 2).dims.assign(9, 0); },
     "program 0 (cpu), buffer 2: expected at most 8 dims, got 9"},
    {"BufferDim", [](PackageBuilder &p) { bufferOf(p, 2).dims[1] = 1000; },
     "program 0 (cpu), buffer 2: a dim names expression 1000; there are 14"},
    {"NegativeBufferDim", [](PackageBuilder &p) { bufferOf(p, 2).dims[1] = p.constant(-3).row; },
     "program 0 (cpu), buffer 2: a dim is always negative"},
    {"BufferSize", [](PackageBuilder &p) { bufferOf(p, 2).bytes = 1000; },
     "program 0 (cpu), buffer 2: its size names expression 1000; there are 14"},
    {"OrderLength", [](PackageBuilder &p) { bufferOf(p, 2).order = {0}; },
     "program 0 (cpu), buffer 2: expected an order of 2 dims, got 1"},
    {"OrderNoPermutation", [](PackageBuilder &p) { bufferOf(p, 2).order = {1, 1}; },
     "program 0 (cpu), buffer 2: its order is no permutation of its dims"},
    {"OrderOutOfRange", [](PackageBuilder &p) { bufferOf(p, 2).order = {0, 2}; },
     "program 0 (cpu), buffer 2: its order is no permutation of its dims"},
    {"TileDim", [](PackageBuilder &p) { bufferOf(p, 2).tile_dim = 2; },
     "program 0 (cpu), buffer 2: it tiles dim 2 of 2"},
    {"TileZero", [](PackageBuilder &p) { bufferOf(p, 2).tile = 0; },
     "program 0 (cpu), buffer 2: expected tiles of 1 to 65536 elements, got 0"},
    {"Storage", [](PackageBuilder &p) { bufferOf(p, 2).storage = static_cast<Storage>(8); },
     "program 0 (cpu), buffer 2: unknown storage 8"},
    {"StateIndex", [](PackageBuilder &p) { bufferOf(p, 2).storage = Storage::state; },
     "program 0 (cpu), buffer 2: it names state 0; there are 0"},
    {"ExchangeOnCpu", [](PackageBuilder &p) { bufferOf(p, 2).storage = Storage::exchange; },
     "program 0 (cpu), buffer 2: memory for blocks of a GPU is in a program for the CPU"},
    {"SecondInputBuffer",
     [](PackageBuilder &p) {
       p.module.programs[0]->buffers.push_back(std::make_unique<BufferT>(bufferOf(p, 0)));
     },
     "program 0 (cpu), buffer 4: a second buffer for input 'x'"},
    {"SecondOutputBuffer",
     [](PackageBuilder &p) {
       p.module.programs[0]->buffers.push_back(std::make_unique<BufferT>(bufferOf(p, 3)));
     },
     "program 0 (cpu), buffer 4: a second buffer for output 'y'"},
    {"InputIndex", [](PackageBuilder &p) { bufferOf(p, 0).index = 1; },
     "program 0 (cpu), buffer 0: it names input 1; there are 1"},
    {"OutputIndex", [](PackageBuilder &p) { bufferOf(p, 3).index = 1; },
     "program 0 (cpu), buffer 3: it names output 1; there are 1"},
    {"OutputType", [](PackageBuilder &p) { bufferOf(p, 3).dtype = DType::i32; },
     "program 0 (cpu), buffer 3: its type or layout differs from that of output 'y'"},
    {"InputType", [](PackageBuilder &p) { bufferOf(p, 0).dtype = DType::f64; },
     "program 0 (cpu), buffer 0: its type or layout differs from that of input 'x'"},
    {"InputLayout", [](PackageBuilder &p) { bufferOf(p, 0).order = {1, 0}; },
     "program 0 (cpu), buffer 0: its type or layout differs from that of input 'x'"},
    {"NoOutput", [](PackageBuilder &p) { bufferOf(p, 3).storage = Storage::arena; },
     "program 0 (cpu): no buffer is output 'y'"},
    {"WeightIndex", [](PackageBuilder &p) { bufferOf(p, 1).index = 7; },
     "program 0 (cpu), buffer 1: it names weight 7; there are 1"},
    {"WeightShape", [](PackageBuilder &p) { bufferOf(p, 1).dims[0] = p.constant(3).row; },
     "program 0 (cpu), buffer 1: its type or layout differs from that of weight 'bias'"},
    {"WeightSize", [](PackageBuilder &p) { bufferOf(p, 1).bytes = p.constant(20).row; },
     "program 0 (cpu), buffer 1: its size differs from that of its weight"},
    {"Lifetime", [](PackageBuilder &p) { bufferOf(p, 2).last_use = 2; },
     "program 0 (cpu), buffer 2: lifetime 0..2 lies outside the 2 commands"},
    {"LifetimeReversed", [](PackageBuilder &p) { bufferOf(p, 2).first_use = 2; },
     "program 0 (cpu), buffer 2: lifetime 2..1 lies outside the 2 commands"},
    {"UseAfterLife", [](PackageBuilder &p) { bufferOf(p, 2).last_use = 0; },
     "program 0 (cpu), command 1: argument 0 uses buffer 2 outside its lifetime 0..0"},
    {"PersistentSymbolic", [](PackageBuilder &p) { bufferOf(p, 2).storage = Storage::persistent; },
     "program 0 (cpu), buffer 2: a persistent buffer needs a constant size"},
    {"ViewOfLater",
     [](PackageBuilder &p) { bufferOf(p, 2).storage = Storage::view, bufferOf(p, 2).index = 2; },
     "program 0 (cpu), buffer 2: a view of buffer 2; expected an earlier one"},
    {"KernelIndex", [](PackageBuilder &p) { launchOf(p, 0).kernel = 2; },
     "program 0 (cpu), command 0: it names kernel 2; there are 2"},
    {"EdgeWriter",
     [](PackageBuilder &p) {
       launchOf(p, 1).edges.push_back(std::make_unique<EdgeT>());
       launchOf(p, 1).edges.back()->writer = 2;
     },
     "program 0 (cpu), command 1: edge 0 names argument 0 and kernel 2; there are 4 and 2"},
    {"EdgeInput",
     [](PackageBuilder &p) {
       launchOf(p, 1).edges.push_back(std::make_unique<EdgeT>());
       launchOf(p, 1).edges.back()->input = 9;
     },
     "program 0 (cpu), command 1: edge 0 names argument 9 and kernel 0; there are 4 and 2"},
    {"ArgBuffer", [](PackageBuilder &p) { launchOf(p, 0).args[1] = Arg(ArgKind::buffer, 9); },
     "program 0 (cpu), command 0: argument 1 names buffer 9; there are 4"},
    {"ArgDim", [](PackageBuilder &p) { launchOf(p, 1).args[3] = Arg(ArgKind::dim, 900); },
     "program 0 (cpu), command 1: argument 3 names expression 900; there are 14"},
    {"ArgKind", [](PackageBuilder &p) { launchOf(p, 1).args[3] = Arg(static_cast<ArgKind>(2), 0); },
     "program 0 (cpu), command 1: argument 3 is of unknown kind 2"},
    {"VariantForGpu",
     [](PackageBuilder &p) {
       auto variant = std::make_unique<VariantT>();
       variant->launch = std::make_unique<LaunchT>(launchOf(p, 0));
       variant->gpu = 90;
       launchOf(p, 0).variants.push_back(std::move(variant));
     },
     "program 0 (cpu), command 0, variant 0: it is for a GPU, and the program is not"},
    {"GridAxes",
     [](PackageBuilder &p) {
       launchOf(p, 0).grid.push_back(0);
       launchOf(p, 0).grid.push_back(0);
     },
     "program 0 (cpu), command 0: expected a grid of 1 or 2 axes, got 3"},
    {"GridIndex", [](PackageBuilder &p) { launchOf(p, 0).grid[0] = 900; },
     "program 0 (cpu), command 0: its grid names expression 900; there are 14"},
    {"Scratch",
     [](PackageBuilder &p) { launchOf(p, 0).scratch_bytes = p.constant(int64_t(1) << 40).row; },
     "program 0 (cpu), command 0: more than 4 GiB of scratch for a thread"},
    {"BufferLine", [](PackageBuilder &p) { bufferOf(p, 2).line = "model.dl:3\n"; },
     "program 0 (cpu), buffer 2: its source line or a layer is no clean text"},
    {"BufferLayer", [](PackageBuilder &p) { bufferOf(p, 2).layers = {"fc", "\xff"}; },
     "program 0 (cpu), buffer 2: its source line or a layer is no clean text"},
    {"KernelName", [](PackageBuilder &p) { p.module.programs[0]->kernels[0]->name = "a\nb"; },
     "program 0 (cpu), kernel 0: its name or kind is empty or no clean text"},
    {"KernelKind", [](PackageBuilder &p) { kernelOf(p, 1).kind = "ma\x7fp"; },
     "program 0 (cpu), kernel 1: its name or kind is empty or no clean text"},
    {"KernelLine", [](PackageBuilder &p) { kernelOf(p, 1).lines = {"model.dl:3:7", "\xff"}; },
     "program 0 (cpu), kernel 1: a source line, layer or op is no clean text"},
    {"KernelLayer", [](PackageBuilder &p) { kernelOf(p, 1).layers = {"fc\n"}; },
     "program 0 (cpu), kernel 1: a source line, layer or op is no clean text"},
    {"KernelOp", [](PackageBuilder &p) { kernelOf(p, 1).ops = {"relu", "\x7f"}; },
     "program 0 (cpu), kernel 1: a source line, layer or op is no clean text"},
    {"KernelTraffic", [](PackageBuilder &p) { kernelOf(p, 1).bytes = p.constant(-1).row; },
     "program 0 (cpu), kernel 1: its number of bytes is always negative"},
    {"KernelFlops", [](PackageBuilder &p) { p.module.programs[0]->kernels[0]->flops = 900; },
     "program 0 (cpu), kernel 0: its number of operations names expression 900; there are 14"},
    {"EntryOutside",
     [](PackageBuilder &p) { p.module.programs[0]->kernels[0]->cpu[0] = CpuEntry(0, 24); },
     "program 0 (cpu), kernel 0: its entry 0 lies outside image 0"},
    {"EntryImage",
     [](PackageBuilder &p) { p.module.programs[0]->kernels[0]->cpu[0] = CpuEntry(1, 0); },
     "program 0 (cpu), kernel 0: its entry 0 lies outside image 0"},
    {"NoEntry", [](PackageBuilder &p) { p.module.programs[0]->kernels[0]->cpu.clear(); },
     "program 0 (cpu), kernel 0: expected one entry for each of 1 images, got 0"},
    {"NoImage", [](PackageBuilder &p) { p.module.programs[0]->cpu_images.clear(); },
     "program 0 (cpu): it has kernels and no code image"},
    {"NoCode", [](PackageBuilder &p) { p.module.programs[0]->cpu_images[0]->code.reset(); },
     "program 0 (cpu), image 0: it has no code"},
    {"ImageName", [](PackageBuilder &p) { p.module.programs[0]->cpu_images[0]->isa = "avx\n"; },
     "program 0 (cpu), image 0: its instruction set's name is no clean text"},
    {"Import",
     [](PackageBuilder &p) {
       auto import = std::make_unique<ImportT>();
       import->name = "system";
       p.module.programs[0]->cpu_images[0]->imports.push_back(std::move(import));
     },
     "program 0 (cpu), image 0: it imports 'system'; only memcpy and memset are given"},
    {"ImportSlot",
     [](PackageBuilder &p) {
       auto import = std::make_unique<ImportT>();
       import->name = "memcpy";
       import->slot = 24;
       p.module.programs[0]->cpu_images[0]->imports.push_back(std::move(import));
     },
     "program 0 (cpu), image 0: the slot of its import 'memcpy' lies outside it"},
    {"CopySource", [](PackageBuilder &p) { p.copy(4, 3); },
     "program 0 (cpu), command 2: its source names buffer 4; there are 4"},
    {"CopyIndex",
     [](PackageBuilder &p) {
       p.copy(0, 9);
       bufferOf(p, 2).last_use = 1;
     },
     "program 0 (cpu), command 2: its target names buffer 9; there are 4"},
    {"CopyToInput", [](PackageBuilder &p) { p.copy(3, 0); },
     "program 0 (cpu), command 2: it writes to a buffer that is only read"},
    {"CopyToWeight", [](PackageBuilder &p) { p.copy(1, 1); },
     "program 0 (cpu), command 2: it writes to a buffer that is only read"},
    {"InitUsesInput",
     [](PackageBuilder &p) {
       p.launch(0, {PackageBuilder::buffer(0)}, {p.constant(1)}, {0}, true);
     },
     "program 0 (cpu), init command 0: argument 0: the init program may use weights and persistent "
     "buffers only"},
    {"InitPassesSymbol",
     [](PackageBuilder &p) { p.launch(0, {PackageBuilder::dim({1})}, {p.constant(1)}, {0}, true); },
     "program 0 (cpu), init command 0: argument 0 depends on the inputs' shapes; the init program "
     "runs before they are known"},
    {"InitScratchOfSymbol", [](PackageBuilder &p) { p.launch(0, {}, {p.constant(1)}, {1}, true); },
     "program 0 (cpu), init command 0: its scratch depends on the inputs' shapes; the init program "
     "runs before they are known"},
    {"InitUsesSymbol",
     [](PackageBuilder &p) { p.launch(0, {PackageBuilder::buffer(1)}, {{1}}, {0}, true); },
     "program 0 (cpu), init command 0: its grid depends on the inputs' shapes; the init program "
     "runs before they are known"},
    {"UnknownTarget",
     [](PackageBuilder &p) { p.module.programs[0]->target = static_cast<Target>(5); },
     "program 0: unknown target 5"},
};

class VerifierTest : public testing::TestWithParam<Fault> {};

} // namespace

TEST_P(VerifierTest, IsRefusedByName) {
  PackageBuilder package = affinePackage();
  GetParam().plant(package);
  load(package.file(), DLC_INCOMPATIBLE);
  EXPECT_EQ(dlc_last_error(), std::string(kMalformed) + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Faults, VerifierTest, testing::ValuesIn(kFaults),
                         [](const auto &info) { return std::string(info.param.name); });
