//===- CudaVerifierTest.cpp - Each fault of a CUDA program is found and named -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

using namespace dlc::test;
using namespace dlc::schema;

namespace {

/// Gives the launch a variant that does the same.
void addVariant(LaunchT &launch) {
  auto variant = std::make_unique<VariantT>();
  variant->launch = std::make_unique<LaunchT>(launch);
  variant->launch->variants.clear();
  launch.variants.push_back(std::move(variant));
}

/// A chain of launches like `launch`, which have no arguments.
void addChain(LaunchT &launch, uint32_t launches) {
  auto chain = std::make_unique<ChainT>();
  chain->launch = std::make_unique<LaunchT>(launch);
  chain->launches = launches;
  launch.chains.push_back(std::move(chain));
}

struct Fault {
  const char *name;
  void (*plant)(PackageBuilder &, ProgramT &);
  const char *message; ///< what follows "malformed module (compile the model again): "
};

// The package: one kernel of 128 threads, one launch of one block; expression 1 is the constant 1.
const Fault kFaults[] = {
    {"BlockX", [](PackageBuilder &, ProgramT &p) { p.kernels[0]->block = {2048}; },
     "program 0 (cuda), kernel 0: block axis 0 has 2048 threads; expected 1 to 1024"},
    {"BlockZ", [](PackageBuilder &, ProgramT &p) { p.kernels[0]->block = {1, 1, 65}; },
     "program 0 (cuda), kernel 0: block axis 2 has 65 threads; expected 1 to 64"},
    {"Block", [](PackageBuilder &, ProgramT &p) { p.kernels[0]->block = {1024, 2}; },
     "program 0 (cuda), kernel 0: a block of 2048 threads; expected at most 1024"},
    {"EmptyBlock", [](PackageBuilder &, ProgramT &p) { p.kernels[0]->block = {0}; },
     "program 0 (cuda), kernel 0: block axis 0 has 0 threads; expected 1 to 1024"},
    {"NoBlock", [](PackageBuilder &, ProgramT &p) { p.kernels[0]->block.clear(); },
     "program 0 (cuda), kernel 0: expected a block of 1 to 3 axes, got 0"},
    {"StaticShared",
     [](PackageBuilder &, ProgramT &p) { p.kernels[0]->static_shared_bytes = 1 << 21; },
     "program 0 (cuda), kernel 0: 2097152 bytes of shared memory; expected at most 1048576"},
    {"SourceIndex", [](PackageBuilder &, ProgramT &p) { p.kernels[0]->cuda_source = 3; },
     "program 0 (cuda), kernel 0: it names source 3; there are 1"},
    {"HeaderIndex", [](PackageBuilder &, ProgramT &p) { p.cuda_sources[0]->headers = {0}; },
     "program 0 (cuda), source 0: it names header 0; there are 0"},
    {"SourceText", [](PackageBuilder &, ProgramT &p) { p.cuda_sources[0]->text.push_back('\0'); },
     "program 0 (cuda), source 0: its text has a NUL byte"},
    {"HeaderName",
     [](PackageBuilder &package, ProgramT &) {
       for (const char *text : {"", "int x;"}) {
         auto header = std::make_unique<CudaHeaderT>();
         header->name = "dlc_device.cuh";
         header->text = text;
         package.module.cuda_headers.push_back(std::move(header));
       }
     },
     "device header 1: the name 'dlc_device.cuh' occurs twice"},
    {"HeaderText",
     [](PackageBuilder &package, ProgramT &) {
       auto header = std::make_unique<CudaHeaderT>();
       header->name = "dlc_device.cuh";
       header->text.push_back('\0');
       package.module.cuda_headers.push_back(std::move(header));
     },
     "device header 0: its text has a NUL byte"},
    {"CubinCode",
     [](PackageBuilder &package, ProgramT &) { package.cubin(0, 90, CubinVariant::plain, ""); },
     "program 0 (cuda), source 0, cubin 0: it has no code"},
    {"CubinArchitecture",
     [](PackageBuilder &package, ProgramT &) { package.cubin(0, 7, CubinVariant::plain, "code"); },
     "program 0 (cuda), source 0, cubin 0: it is for an unknown architecture"},
    {"CubinProducer",
     [](PackageBuilder &package, ProgramT &p) {
       package.cubin(0, 90, CubinVariant::plain, "code");
       p.cuda_sources[0]->cubins[0]->producer = "\x01";
     },
     "program 0 (cuda), source 0, cubin 0: its producer is no clean text"},
    {"SmallExchange",
     [](PackageBuilder &package, ProgramT &) {
       package.buffer(Storage::exchange, DType::f32, {package.constant(1023)});
     },
     "program 0 (cuda), buffer 0: memory that blocks exchange has at least 4096 bytes"},
    {"GridAxes",
     [](PackageBuilder &, ProgramT &p) { p.main[0]->command.AsLaunch()->grid.assign(4, 0); },
     "program 0 (cuda), command 0: expected a grid of 1 to 3 axes, got 4"},
    {"NegativeGrid",
     [](PackageBuilder &package, ProgramT &p) {
       p.main[0]->command.AsLaunch()->grid = {package.constant(-2).row};
     },
     "program 0 (cuda), command 0: its grid is always negative"},
    {"SymbolicShared",
     [](PackageBuilder &package, ProgramT &p) {
       p.main[0]->command.AsLaunch()->scratch_bytes = package.symbol("N", 1, 2).row;
     },
     "program 0 (cuda), command 0: dynamic shared memory must be constant and at most 1 MiB"},
    {"DynamicShared",
     [](PackageBuilder &package, ProgramT &p) {
       p.main[0]->command.AsLaunch()->scratch_bytes = package.constant(1 << 21).row;
     },
     "program 0 (cuda), command 0: dynamic shared memory must be constant and at most 1 MiB"},
    {"KeptWithoutPersistence",
     [](PackageBuilder &, ProgramT &p) { p.main[0]->command.AsLaunch()->kept.emplace_back(8, 16); },
     "program 0 (cuda), command 0: only a persistent launch on GPUs, of as many blocks under all "
     "shapes, keeps columns in shared memory"},
    {"KeptBySymbolicGrid",
     [](PackageBuilder &package, ProgramT &p) {
       LaunchT &launch = *p.main[0]->command.AsLaunch();
       launch.persistent = true;
       launch.kept.emplace_back(8, 16);
       launch.grid = {package.symbol("N", 1, 2).row};
     },
     "program 0 (cuda), command 0: only a persistent launch on GPUs, of as many blocks under all "
     "shapes, keeps columns in shared memory"},
    {"KeptColumns",
     [](PackageBuilder &, ProgramT &p) {
       LaunchT &launch = *p.main[0]->command.AsLaunch();
       launch.persistent = true;
       launch.kept.emplace_back(8, 24);
     },
     "program 0 (cuda), command 0: it keeps 8 columns of 24 bytes; expected at least one, of a "
     "multiple of 16 bytes"},
    {"TensorMap",
     [](PackageBuilder &, ProgramT &p) {
       auto map = std::make_unique<TensorMapT>();
       map->box_columns = 64;
       map->box_rows = 64;
       p.main[0]->command.AsLaunch()->maps.push_back(std::move(map));
     },
     "program 0 (cuda), command 0: tensor map 0 describes no buffer of f16, bf16, f32, i8, u8 "
     "or f8e4m3fn in boxes of 128 bytes by 1 to 256 rows"},
    {"VariantOfVariant",
     [](PackageBuilder &, ProgramT &p) {
       LaunchT &launch = *p.main[0]->command.AsLaunch();
       addVariant(launch);
       addVariant(*launch.variants[0]->launch);
     },
     "program 0 (cuda), command 0, variant 0: only launches of a run have variants, which have "
     "none "
     "themselves"},
    {"ChainOfOne",
     [](PackageBuilder &, ProgramT &p) { addChain(*p.main[0]->command.AsLaunch(), 1); },
     "program 0 (cuda), command 0, chain 0: it takes the place of 1 launches; there are 1"},
    {"ChainBeyondTheEnd",
     [](PackageBuilder &, ProgramT &p) { addChain(*p.main[0]->command.AsLaunch(), 2); },
     "program 0 (cuda), command 0, chain 0: it takes the place of 2 launches; there are 1"},
    {"ArgumentsOfChain",
     [](PackageBuilder &, ProgramT &p) {
       p.main.push_back(std::make_unique<CommandEntryT>(*p.main[0]));
       addChain(*p.main[0]->command.AsLaunch(), 2);
       p.main[0]->command.AsLaunch()->chains[0]->launch->args.emplace_back(ArgKind::buffer, 7);
     },
     "program 0 (cuda), command 0, chain 0: it has 1 arguments; the launches have 0"},
    {"ArgumentOfChain",
     [](PackageBuilder &package, ProgramT &p) {
       p.main[0]->command.AsLaunch()->args.emplace_back(ArgKind::dim, package.constant(1).row);
       p.main.push_back(std::make_unique<CommandEntryT>(*p.main[0]));
       addChain(*p.main[0]->command.AsLaunch(), 2);
       auto &args = p.main[0]->command.AsLaunch()->chains[0]->launch->args;
       args.emplace_back(ArgKind::dim, package.constant(2).row);
     },
     "program 0 (cuda), command 0, chain 0: argument 1 is not that of the launch in its place"},
    {"ChainOfACopy",
     [](PackageBuilder &, ProgramT &p) {
       p.main.push_back(std::make_unique<CommandEntryT>());
       p.main[1]->command.Set(CopyT());
       addChain(*p.main[0]->command.AsLaunch(), 2);
     },
     "program 0 (cuda), command 0, chain 0: command 1, in its place, is no launch"},
    {"KernelOfChain",
     [](PackageBuilder &, ProgramT &p) {
       p.main.push_back(std::make_unique<CommandEntryT>(*p.main[0]));
       addChain(*p.main[0]->command.AsLaunch(), 2);
       p.main[0]->command.AsLaunch()->chains[0]->launch->kernel = 99;
     },
     "program 0 (cuda), command 0, chain 0: it names kernel 99; there are 1"},
    {"ChainOfVariants",
     [](PackageBuilder &, ProgramT &p) {
       addChain(*p.main[0]->command.AsLaunch(), 2);
       addVariant(*p.main[0]->command.AsLaunch()->chains[0]->launch);
     },
     "program 0 (cuda), command 0, chain 0: only launches of a run on GPUs have chains, which are "
     "plain"},
    {"SymbolicChain",
     [](PackageBuilder &package, ProgramT &p) {
       p.main.push_back(std::make_unique<CommandEntryT>(*p.main[0]));
       addChain(*p.main[0]->command.AsLaunch(), 2);
       p.main[0]->command.AsLaunch()->chains[0]->launch->grid = {package.symbol("N", 1, 2).row};
     },
     "program 0 (cuda), command 0, chain 0: a chain has as many blocks, one or more, under all "
     "shapes"},
    {"EmptyChain",
     [](PackageBuilder &package, ProgramT &p) {
       p.main.push_back(std::make_unique<CommandEntryT>(*p.main[0]));
       addChain(*p.main[0]->command.AsLaunch(), 2);
       p.main[0]->command.AsLaunch()->chains[0]->launch->grid = {package.constant(0).row};
     },
     "program 0 (cuda), command 0, chain 0: a chain has as many blocks, one or more, under all "
     "shapes"},
    {"CooperativeChain",
     [](PackageBuilder &, ProgramT &p) {
       p.main.push_back(std::make_unique<CommandEntryT>(*p.main[0]));
       addChain(*p.main[0]->command.AsLaunch(), 2);
       p.kernels[0]->cooperative = true;
     },
     "program 0 (cuda), command 0, chain 0: its kernel is cooperative, and no chain is"},
    {"PersistentChain",
     [](PackageBuilder &, ProgramT &p) {
       p.main.push_back(std::make_unique<CommandEntryT>(*p.main[0]));
       addChain(*p.main[0]->command.AsLaunch(), 2);
       p.main[0]->command.AsLaunch()->chains[0]->launch->persistent = true;
     },
     "program 0 (cuda), command 0, chain 0: only launches of a run on GPUs have chains, which are "
     "plain"},
    {"ChainOfVariant",
     [](PackageBuilder &, ProgramT &p) {
       LaunchT &launch = *p.main[0]->command.AsLaunch();
       addVariant(launch);
       addChain(*launch.variants[0]->launch, 2);
     },
     "program 0 (cuda), command 0, variant 0: only launches of a run have variants, which have "
     "none "
     "themselves"},
    {"LimitsOfVariant",
     [](PackageBuilder &, ProgramT &p) {
       LaunchT &launch = *p.main[0]->command.AsLaunch();
       addVariant(launch);
       launch.variants[0]->limits.emplace_back(0, 8, 7);
     },
     "program 0 (cuda), command 0, variant 0: limit 0 names no expression, or no value is within "
     "it"},
    {"LimitsOfCall",
     [](PackageBuilder &, ProgramT &p) {
       LaunchT &launch = *p.main[0]->command.AsLaunch();
       launch.product = std::make_unique<ProductT>();
       launch.product->calls.push_back(std::make_unique<ProductCallT>());
       launch.product->calls[0]->limits.emplace_back(1000000, 1, 2);
     },
     "program 0 (cuda), command 0: limit 0 names no expression, or no value is within it"},
    {"GridOfVariant",
     [](PackageBuilder &, ProgramT &p) {
       LaunchT &launch = *p.main[0]->command.AsLaunch();
       addVariant(launch);
       launch.variants[0]->launch->grid.assign(4, 0);
     },
     "program 0 (cuda), command 0, variant 0: expected a grid of 1 to 3 axes, got 4"},
};

class CudaVerifierTest : public testing::TestWithParam<Fault> {};

} // namespace

TEST_P(CudaVerifierTest, IsRefusedByName) {
  PackageBuilder package;
  package.program(Target::cuda);
  package.cudaKernel("k", "extern \"C\" __global__ void k() {}", 128);
  package.launch(0, {}, {package.constant(1)}, package.constant(0));
  GetParam().plant(package, *package.module.programs[0]);
  load(package.file(), DLC_INCOMPATIBLE);
  EXPECT_EQ(dlc_last_error(),
            std::string("malformed module (compile the model again): ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Faults, CudaVerifierTest, testing::ValuesIn(kFaults),
                         [](const auto &info) { return std::string(info.param.name); });
