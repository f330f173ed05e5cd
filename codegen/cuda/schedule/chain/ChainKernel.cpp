//===- ChainKernel.cpp - The code of a chain of kernels -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each stage runs as its own launch would, its blocks in turn by those of the chain. Memory that a
// stage writes another one reads, so that no parameter is without aliases.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/chain/ChainKernel.h"

#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "ir/dl/base/DLTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
class ChainBuilder {
public:
  ChainBuilder(dlx::KernelOp chain, gpu::GPUModuleOp module)
      : chain(chain), module(module), b(chain.getContext()), loc(chain.getLoc()),
        blocks(chain.getPlan()->number("blocks")) {}

  LogicalResult run();

private:
  /// A stage's kernel and its code.
  struct Stage {
    dlx::KernelOp kernel;
    gpu::GPUFuncOp code;
    SmallVector<int64_t, 3> grid;
    int64_t threads;
    bool meets;      ///< its threads wait for each other
    bool isTemplate; ///< which lets the blocks meet, once weights are on their way
  };

  /// As stage_meeting of dlc_chain.cuh: before the first stage the grids before this one end.
  int64_t meeting() const { return isFirst ? 0 : blocks == 1 ? 1 : 2; }

  LogicalResult find();
  void begin();
  void addStage(Stage &stage, unsigned firstArgument);
  void addBlock(Stage &stage, Value block, Value thread, const IRMapping &arguments);
  void callInChain(dlk::CallOp call, Value block);
  void meet();
  void finish();

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value div(Value lhs, int64_t rhs) { return b.createOrFold<arith::DivUIOp>(loc, lhs, index(rhs)); }
  Value mod(Value lhs, int64_t rhs) { return b.createOrFold<arith::RemUIOp>(loc, lhs, index(rhs)); }
  Value named(Value value, StringRef role) {
    if (Operation *op = value.getDefiningOp(); op && !isa<arith::ConstantOp>(op))
      op->setAttr("dlc.role", b.getStringAttr(role));
    return value;
  }

  dlx::KernelOp chain;
  gpu::GPUModuleOp module;
  OpBuilder b;
  Location loc;
  int64_t blocks;
  SmallVector<Stage> stages;
  gpu::GPUFuncOp function;
  Value block, thread;
  bool isFirst = true; ///< the stage that is being added
  int64_t dynamicShared = 0;
};
} // namespace

/// The template that dlc_chain.cuh has for stages.
static constexpr StringRef kTemplate = "contract_rows";

/// Whether code calls a template, whether one that no chain can call, and whether threads wait.
static std::tuple<bool, bool, bool> lookAt(gpu::GPUFuncOp code) {
  bool calls = false, callsOther = false, waits = false;
  code.walk([&](Operation *op) {
    auto call = dyn_cast<dlk::CallOp>(op);
    calls |= bool(call);
    callsOther |= call && call.getCallee() != kTemplate;
    waits |= isa<gpu::BarrierOp>(op);
  });
  return {calls, callsOther, waits};
}

LogicalResult ChainBuilder::find() {
  auto target = chain->getParentOfType<ModuleOp>();
  for (Attribute name : chain.getStagesAttr()) {
    auto kernel = target.lookupSymbol<dlx::KernelOp>(cast<FlatSymbolRefAttr>(name));
    auto code = module.lookupSymbol<gpu::GPUFuncOp>(*kernel.getEntry());
    auto [isTemplate, isOther, waits] = lookAt(code);
    Stage stage = {kernel, code, {}, kernel.getBlock()->front(), isTemplate || waits, isTemplate};
    for (AffineExpr extent : kernel.getGrid()->getResults())
      if (auto size = dl::asConstant(extent))
        stage.grid.push_back(*size);
    bool fits = stage.meets ? stage.threads == kThreads : kThreads % stage.threads == 0;
    // The template knows by a block's number along x alone whether it has anything to do.
    fits &=
        !isOther && stage.grid.size() == 3 && (!isTemplate || stage.grid[1] * stage.grid[2] == 1);
    if (!fits || kernel.getExchange() || kernel.getTensorMaps() || kernel.getPersistent() ||
        kernel.getCooperative())
      return chain.emitOpError("has the stage ")
             << name << ", whose code can be no part of a chain";
    dynamicShared = std::max(dynamicShared, *dl::asConstant(kernel.getScratch()->getResult(0)));
    stages.push_back(std::move(stage));
  }
  return success();
}

void ChainBuilder::begin() {
  SmallVector<Type> types;
  for (Stage &stage : stages)
    llvm::append_range(types, stage.code.getArgumentTypes());
  b.setInsertionPointToEnd(module.getBody());
  function = gpu::GPUFuncOp::create(b, loc, ("dlc_" + chain.getSymName()).str(),
                                    b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  std::string head = "chain of " + std::to_string(stages.size()) + " kernels";
  SmallVector<Attribute> comment = {b.getStringAttr(head)};
  unsigned position = 0;
  int64_t indexBits = 32;
  for (Stage &stage : stages) {
    if (auto lines = stage.code->getAttrOfType<ArrayAttr>("dlc.comment"))
      llvm::append_range(comment, lines);
    if (auto bits = stage.code->getAttrOfType<IntegerAttr>("dlc.index_bits"))
      indexBits = std::max(indexBits, bits.getInt());
    for (unsigned i = 0; i < stage.code.getNumArguments(); ++i, ++position)
      if (Attribute role = stage.code.getArgAttr(i, "dlc.role"))
        function.setArgAttr(position, "dlc.role", role);
  }
  function->setAttr("dlc.comment", b.getArrayAttr(comment));
  function->setAttr("dlc.index_bits", b.getI32IntegerAttr(indexBits));
  if (blocks > 1)
    function->setAttr("dlc.cluster", b.getI32IntegerAttr(blocks));
  b.setInsertionPointToStart(&function.getBody().front());
  if (stages.front().isTemplate)
    function->setAttr("dlc.begins", b.getUnitAttr());
  block = blocks > 1 ? named(gpu::BlockIdOp::create(b, loc, gpu::Dimension::x), "rank") : index(0);
  thread = named(gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x), "thread");
}

/// Calls the template of chains: it takes the block's number along x, and lets the blocks meet in
/// the first turn of each.
void ChainBuilder::callInChain(dlk::CallOp call, Value block) {
  call.setCallee(call.getCallee().str() + "_in_chain");
  call.setHeader("dlc_chain.cuh");
  NamedAttrList config(call.getConfig());
  config.set("meeting", b.getI64IntegerAttr(meeting()));
  call.setConfigAttr(config.getDictionary(b.getContext()));
  OpBuilder before(call);
  Value isFirstTurn =
      block == this->block
          ? arith::ConstantIntOp::create(before, loc, 1, 1).getResult()
          : arith::CmpIOp::create(before, loc, arith::CmpIPredicate::eq, block, this->block)
                .getResult();
  call.getValuesMutable().slice(0, 0).append(ValueRange{block, isFirstTurn});
}

/// One block of a stage's grid by `thread` of those that are its threads.
void ChainBuilder::addBlock(Stage &stage, Value block, Value thread, const IRMapping &arguments) {
  IRMapping mapping = arguments;
  Value ids[] = {block, index(0), index(0)};
  if (stage.grid[1] * stage.grid[2] > 1) {
    Value rest = div(block, stage.grid[0]);
    ids[0] = mod(block, stage.grid[0]);
    ids[1] = mod(rest, stage.grid[1]);
    ids[2] = div(rest, stage.grid[1]);
  }
  SmallVector<Operation *> cloned;
  for (Operation &op : stage.code.getBody().front().without_terminator())
    cloned.push_back(b.clone(op, mapping));
  for (Operation *op : cloned)
    op->walk([&](Operation *inner) {
      if (auto id = dyn_cast<gpu::BlockIdOp>(inner))
        id.replaceAllUsesWith(ids[static_cast<unsigned>(id.getDimension())]);
      else if (auto id = dyn_cast<gpu::ThreadIdOp>(inner))
        id.replaceAllUsesWith(thread);
      else if (auto call = dyn_cast<dlk::CallOp>(inner))
        callInChain(call, block);
      if (isa<gpu::BlockIdOp, gpu::ThreadIdOp>(inner))
        inner->erase();
    });
  // The next user of the block's shared memory may begin before the blocks meet.
  if (stage.meets)
    gpu::BarrierOp::create(b, loc);
}

/// The blocks of a stage, as many at a time as the chain has room for.
void ChainBuilder::addStage(Stage &stage, unsigned firstArgument) {
  IRMapping arguments;
  for (BlockArgument argument : stage.code.getArguments().take_front(stage.code.getNumArguments()))
    arguments.map(argument, function.getArgument(firstArgument + argument.getArgNumber()));
  for (auto [position, shared] : llvm::enumerate(stage.code.getWorkgroupAttributions())) {
    arguments.map(shared, function.addWorkgroupAttribution(shared.getType(), loc));
    if (Attribute role = stage.code.getWorkgroupAttributionAttr(position, "dlc.role"))
      function.setWorkgroupAttributionAttr(function.getNumWorkgroupAttributions() - 1, "dlc.role",
                                           role);
  }
  if (!isFirst && !stage.isTemplate)
    meet();
  int64_t total = stage.grid[0] * stage.grid[1] * stage.grid[2],
          sideBySide = stage.meets ? 1 : kThreads / stage.threads, atOnce = blocks * sideBySide;
  Value own = thread, first = block;
  if (sideBySide > 1) {
    own = named(mod(thread, stage.threads), "own");
    Value all = b.createOrFold<arith::MulIOp>(loc, block, index(sideBySide));
    first = b.createOrFold<arith::AddIOp>(loc, all, div(thread, stage.threads));
  }
  named(first, "block");
  if (total == atOnce || (stage.isTemplate && total < atOnce))
    return addBlock(stage, first, own, arguments);
  OpBuilder::InsertionGuard guard(b);
  if (total < atOnce) {
    Value isOne = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, first, index(total));
    auto branch = scf::IfOp::create(b, loc, isOne);
    b.setInsertionPointToStart(branch.thenBlock());
    return addBlock(stage, first, own, arguments);
  }
  auto loop = scf::ForOp::create(b, loc, first, index(total), index(atOnce));
  loop->setAttr("dlc.roles", b.getStrArrayAttr({"block"}));
  loop->setAttr("dlc.unroll", b.getI32IntegerAttr(1));
  b.setInsertionPointToStart(loop.getBody());
  addBlock(stage, loop.getInductionVar(), own, arguments);
}

/// All threads of the chain wait; what each wrote is seen by all.
void ChainBuilder::meet() {
  auto barrier = gpu::BarrierOp::create(b, loc);
  if (blocks > 1)
    barrier->setAttr("dlc.cluster", b.getUnitAttr());
}

void ChainBuilder::finish() {
  gpu::ReturnOp::create(b, loc);
  auto constant = [&](int64_t value) { return dl::constantDim(value, chain.getContext()); };
  function->setAttr("known_block_size",
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(kThreads), 1, 1}));
  chain.setEntry(function.getName());
  SmallVector<AffineExpr> dims;
  for (Stage &stage : stages)
    llvm::append_range(dims, stage.kernel.getDims()->getResults());
  chain.setDimsAttr(AffineMapAttr::get(dl::dimsMap(dims, chain.getContext())));
  chain.setGridAttr(AffineMapAttr::get(
      dl::dimsMap({constant(blocks), constant(1), constant(1)}, chain.getContext())));
  chain.setBlockAttr(b.getDenseI64ArrayAttr({kThreads, 1, 1}));
  chain.setScratchAttr(
      AffineMapAttr::get(dl::dimsMap({constant(dynamicShared)}, chain.getContext())));
}

LogicalResult ChainBuilder::run() {
  if (failed(find()))
    return failure();
  begin();
  unsigned argument = 0;
  for (Stage &stage : stages) {
    addStage(stage, argument);
    argument += stage.code.getNumArguments();
    isFirst = false;
  }
  finish();
  return success();
}

LogicalResult buildChain(dlx::KernelOp chain, gpu::GPUModuleOp module) {
  return ChainBuilder(chain, module).run();
}

} // namespace dlc::codegen
