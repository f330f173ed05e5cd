//===- ChainKernelTest.cpp - Several kernels in one launch --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chain gives the bits that the launches in its place give, under each policy, checked: whatever
// one stage writes, and the next one reads before the blocks have met, is a race.
//===------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cuda/print/CudaText.h"
#include "ir/dl/base/DLTypes.h"
#include "test/unit/codegen/cuda/CudaKernel.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dlc::test {

namespace {
class ChainKernelTest : public CheckedTest {
protected:
  /// Forms the chain of all launches of `program`, of so many blocks, and compiles it.
  void load(const std::string &program, int64_t blocks);
  /// Runs the launches one by one, then the chain, each from the same memory.
  void check();
  /// Runs the chain with `line` of its text replaced; the checker must say `phrase`.
  void plant(const std::string &line, const std::string &by, const std::string &phrase);

  std::string text;

private:
  struct Kernel {
    std::string text, entry;
    Dim grid, block;
    unsigned shared = 0;
  };
  Kernel kernelOf(dlx::KernelOp op);
  void allocate();
  Result run(const Kernel &kernel, ArrayRef<DevicePtr> arguments);
  SmallVector<DevicePtr> argumentsOf(dlx::LaunchOp launch);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallVector<dlx::LaunchOp> launches;
  Kernel chain;
  llvm::DenseMap<Value, DevicePtr> buffers;
  llvm::MapVector<Value, size_t> sizes; // floats, of what launches write
};
} // namespace

void ChainKernelTest::load(const std::string &program, int64_t blocks) {
  DialectRegistry registry;
  registry.insert<dl::DLDialect, dlx::DLXDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  module = parseSourceString<ModuleOp>("module {\nmodule @cuda {\n" + program + "}\n}\n", &context);
  ASSERT_TRUE(module);
  codegen::SelectSchedulesCudaPassOptions select;
  select.hopper = "never";
  select.chains = "always";
  PassManager selecting(&context);
  selecting.addPass(codegen::createSelectSchedulesCudaPass(select));
  ASSERT_TRUE(succeeded(selecting.run(*module)));
  dlx::KernelOp op;
  module->walk([&](dlx::KernelOp kernel) {
    if (kernel.getStages())
      op = kernel;
  });
  ASSERT_TRUE(op);
  op.setPlanAttr(dlx::PlanAttr::get(&context, "chain", 0, {{"blocks", blocks}}));
  PassManager building(&context);
  building.addPass(codegen::createBuildKernelsCudaPass());
  ASSERT_TRUE(succeeded(building.run(*module)));
  launches.clear();
  module->walk([&](dlx::LaunchOp launch) { launches.push_back(launch); });
  ASSERT_EQ(op.getStages()->size(), launches.size());
  chain = kernelOf(op);
  text = chain.text;
}

ChainKernelTest::Kernel ChainKernelTest::kernelOf(dlx::KernelOp op) {
  Kernel kernel;
  kernel.entry = op.getEntry()->str();
  module->walk([&](gpu::GPUFuncOp code) {
    if (code.getName() == kernel.entry)
      kernel.text = codegen::printKernel(code)->text;
  });
  auto extent = [](AffineMap map, unsigned i) {
    return unsigned(*dl::asConstant(map.getResult(i)));
  };
  kernel.grid = {extent(*op.getGrid(), 0), extent(*op.getGrid(), 1), extent(*op.getGrid(), 2)};
  kernel.block.x = unsigned(op.getBlock()->front());
  kernel.shared = extent(*op.getScratch(), 0);
  return kernel;
}

/// Fills what the program reads, and makes room for what it writes.
void ChainKernelTest::allocate() {
  std::mt19937 engine{7};
  std::uniform_real_distribution<float> real(-1.0F, 1.0F);
  buffers.clear();
  sizes.clear();
  auto add = [&](Value value, bool isFilled) {
    auto type = cast<dlx::BufferType>(value.getType()).getTensor();
    std::vector<float> floats(type.getNumElements(), std::nanf(""));
    for (float &element : floats)
      element = isFilled ? real(engine) : element;
    buffers[value] = upload(floats);
    if (!isFilled)
      sizes[value] = floats.size();
  };
  dlx::ProgramOp program = launches.front()->getParentOfType<dlx::ProgramOp>();
  for (BlockArgument argument : program.getBodyBlock().getArguments())
    add(argument, true);
  for (Operation &op : program.getBodyBlock())
    if (isa<dlx::WeightOp, dlx::AllocOp>(op))
      add(op.getResult(0), isa<dlx::WeightOp>(op));
}

SmallVector<DevicePtr> ChainKernelTest::argumentsOf(dlx::LaunchOp launch) {
  SmallVector<DevicePtr> arguments;
  for (Value operand : launch->getOperands())
    arguments.push_back(buffers.at(dlx::storage(operand)));
  return arguments;
}

Result ChainKernelTest::run(const Kernel &kernel, ArrayRef<DevicePtr> arguments) {
  Function function = compile(kernel.text, kernel.entry);
  EXPECT_TRUE(function) << kernel.text;
  if (kernel.grid.x > 8)
    EXPECT_EQ(api.funcSetAttribute(function, FunctionAttribute::NonPortableClusterSizeAllowed, 1),
              Result::Success);
  SmallVector<DevicePtr> values(arguments);
  SmallVector<void *> parameters;
  for (DevicePtr &value : values)
    parameters.push_back(&value);
  Result result =
      api.launchKernel(function, kernel.grid.x, kernel.grid.y, kernel.grid.z, kernel.block.x, 1, 1,
                       kernel.shared, nullptr, parameters.data(), nullptr);
  return result == Result::Success ? api.ctxSynchronize() : result;
}

void ChainKernelTest::check() {
  llvm::MapVector<Value, std::vector<float>> expected;
  SmallVector<DevicePtr> all;
  allocate();
  for (dlx::LaunchOp launch : launches) {
    auto kernel =
        launch->getParentOfType<ModuleOp>().lookupSymbol<dlx::KernelOp>(launch.getKernel());
    ASSERT_EQ(run(kernelOf(kernel), argumentsOf(launch)), Result::Success) << report();
  }
  for (auto [value, size] : sizes)
    expected[value] = download<float>(buffers[value], size);
  allocate();
  for (dlx::LaunchOp launch : launches)
    all.append(argumentsOf(launch));
  ASSERT_EQ(run(chain, all), Result::Success) << report() << text;
  for (auto &[value, floats] : expected) {
    std::vector<float> actual = download<float>(buffers[value], floats.size());
    for (float element : floats)
      ASSERT_FALSE(std::isnan(element));
    for (size_t i = 0; i < floats.size(); ++i)
      ASSERT_EQ(actual[i], floats[i]) << "element " << i << " of " << floats.size() << text;
  }
}

void ChainKernelTest::plant(const std::string &line, const std::string &by,
                            const std::string &phrase) {
  Kernel broken = chain;
  size_t at = broken.text.find(line);
  ASSERT_NE(at, std::string::npos) << broken.text;
  broken.text.replace(at, line.size(), by);
  allocate();
  SmallVector<DevicePtr> all;
  for (dlx::LaunchOp launch : launches)
    all.append(argumentsOf(launch));
  EXPECT_NE(run(broken, all), Result::Success) << broken.text;
  EXPECT_NE(report().find(phrase), std::string::npos) << report();
}

/// Products of few rows, whose columns are more and fewer than the blocks take at once, a map,
/// reductions by a warp and by a block, a window.
constexpr const char *kProgram = R"(
dlx.program @p attributes {input_names = ["x", "z"], output_names = ["t"]} {
^bb0(%x: !dlx.buffer<tensor<1x80xf32>>, %z: !dlx.buffer<tensor<1x1x40x60xf32>>):
  %aw = dlx.weight "aw" : <tensor<100x80xf32>>
  %ab = dlx.weight "ab" : <tensor<100xf32>>
  %cw = dlx.weight "cw" : <tensor<304x100xf32>>
  %cb = dlx.weight "cb" : <tensor<304xf32>>
  %h = dlx.alloc : <tensor<1x100xf32>>
  dlx.launch @a(%x, %aw, %ab) -> (%h) : (!dlx.buffer<tensor<1x80xf32>>, !dlx.buffer<tensor<100x80xf32>>, !dlx.buffer<tensor<100xf32>>) -> (!dlx.buffer<tensor<1x100xf32>>)
  %l = dlx.alloc : <tensor<1x304xf32>>
  dlx.launch @c(%h, %cw, %cb) -> (%l) : (!dlx.buffer<tensor<1x100xf32>>, !dlx.buffer<tensor<304x100xf32>>, !dlx.buffer<tensor<304xf32>>) -> (!dlx.buffer<tensor<1x304xf32>>)
  %s = dlx.alloc : <tensor<1x304xf32>>
  dlx.launch @softmax(%l) -> (%s) : (!dlx.buffer<tensor<1x304xf32>>) -> (!dlx.buffer<tensor<1x304xf32>>)
  %o = dlx.alloc : <tensor<1x304xf32>>
  dlx.launch @double(%s) -> (%o) : (!dlx.buffer<tensor<1x304xf32>>) -> (!dlx.buffer<tensor<1x304xf32>>)
  %m = dlx.alloc : <tensor<f32>>
  dlx.launch @mean(%z) -> (%m) : (!dlx.buffer<tensor<1x1x40x60xf32>>) -> (!dlx.buffer<tensor<f32>>)
  %t = dlx.alloc : <tensor<1x1x40x60xf32>>
  dlx.launch @pool(%z, %m) -> (%t) : (!dlx.buffer<tensor<1x1x40x60xf32>>, !dlx.buffer<tensor<f32>>) -> (!dlx.buffer<tensor<1x1x40x60xf32>>)
  dlx.return %t : !dlx.buffer<tensor<1x1x40x60xf32>>
}
dlx.kernel @a attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<1x80xf32>, %w: tensor<100x80xf32>, %b: tensor<100xf32>):
  %0 = dl.linear %x, %w, %b : (tensor<1x80xf32>, tensor<100x80xf32>, tensor<100xf32>) -> tensor<1x100xf32>
  %1 = dl.relu %0 : (tensor<1x100xf32>) -> tensor<1x100xf32>
  dl.yield %1 : tensor<1x100xf32>
}
dlx.kernel @c attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<1x100xf32>, %w: tensor<304x100xf32>, %b: tensor<304xf32>):
  %0 = dl.linear %x, %w, %b : (tensor<1x100xf32>, tensor<304x100xf32>, tensor<304xf32>) -> tensor<1x304xf32>
  dl.yield %0 : tensor<1x304xf32>
}
dlx.kernel @softmax attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: tensor<1x304xf32>):
  %0 = dl.softmax %x {dim = -1 : i64} : (tensor<1x304xf32>) -> tensor<1x304xf32>
  dl.yield %0 : tensor<1x304xf32>
}
dlx.kernel @double attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<1x304xf32>):
  %0 = dl.add %x, %x : (tensor<1x304xf32>, tensor<1x304xf32>) -> tensor<1x304xf32>
  dl.yield %0 : tensor<1x304xf32>
}
dlx.kernel @mean attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: tensor<1x1x40x60xf32>):
  %0 = dl.mean %x : (tensor<1x1x40x60xf32>) -> tensor<f32>
  dl.yield %0 : tensor<f32>
}
dlx.kernel @pool attributes {kind = #dlx.kind<window>} {
^bb0(%x: tensor<1x1x40x60xf32>, %m: tensor<f32>):
  %0 = dl.max_pool2d %x {kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x1x40x60xf32>) -> tensor<1x1x40x60xf32>
  %1 = dl.broadcast %m : (tensor<f32>) -> tensor<1x1x40x60xf32>
  %2 = dl.sub %0, %1 : (tensor<1x1x40x60xf32>, tensor<1x1x40x60xf32>) -> tensor<1x1x40x60xf32>
  dl.yield %2 : tensor<1x1x40x60xf32>
}
)";

TEST_P(ChainKernelTest, OneBlock) {
  load(kProgram, 1);
  EXPECT_EQ(text.find("cluster"), std::string::npos) << text;
  check();
}

TEST_P(ChainKernelTest, Clusters) {
  for (int64_t blocks : {8, 16}) {
    load(kProgram, blocks);
    EXPECT_NE(text.find("DLC_KERNEL_CLUSTER(256, " + std::to_string(blocks) + ")"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("of_warp"), std::string::npos) << text; // a row by a block
    check();
  }
}

TEST_P(ChainKernelTest, BlocksDoNotMeet) {
  load(kProgram, 8);
  plant("  dlc::cluster_barrier();\n", "", "race: load");
}
TEST_P(ChainKernelTest, BlocksDoNotMeetInATemplate) {
  load(kProgram, 16);
  plant("meeting = 2", "meeting = 0", "race: ");
}
TEST_P(ChainKernelTest, ThreadsDoNotMeetInATemplate) {
  load(kProgram, 1);
  plant("    dlc::barrier();\n", "", "race: ");
}
TEST_P(ChainKernelTest, ThreadsDoNotMeet) {
  load(kProgram, 1);
  // The barrier after the products is of the block's shared memory, the one before the softmax of
  // what they gave.
  plant("  dlc::barrier();\n  dlc::barrier();\n", "", "race: ");
}

INSTANTIATE_TEST_SUITE_P(Policies, ChainKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
