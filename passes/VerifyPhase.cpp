//===- VerifyPhase.cpp - What must be gone and what must be there after a phase -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/analysis/view/ViewLayout.h"
#include "ir/dl/DLOps.h"
#include "ir/interfaces/ScheduleOracle.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "verify-phase"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_VERIFYPHASE
#include "passes/Passes.h.inc"

namespace {

class VerifyPhase : public impl::VerifyPhaseBase<VerifyPhase> {
public:
  using VerifyPhaseBase::VerifyPhaseBase;

private:
  void runOnOperation() override;
};

} // namespace

static bool isRowMajor(Type type) {
  return dl::getLayout(cast<RankedTensorType>(type)).isRowMajor();
}

//===- Phases of the graph --------------------------------------------------------------------===//

/// One function of dl ops, nothing else; row-major where it meets the outside.
static LogicalResult verifyGraph(ModuleOp module) {
  func::FuncOp found;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function || found)
      return op.emitError("expected one function and nothing beside it in the module");
    found = function;
  }
  if (!found || found.isExternal())
    return module.emitError("expected the model as one function with a body");
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  if (!llvm::all_of(found.getArgumentTypes(), isTensor) ||
      !llvm::all_of(found.getResultTypes(), isTensor))
    return found.emitError("expected tensors as inputs and outputs, got ")
           << found.getFunctionType();
  if (!llvm::all_of(found.getArgumentTypes(), isRowMajor) ||
      !llvm::all_of(found.getResultTypes(), isRowMajor))
    return found.emitError("expected row-major inputs and outputs, got ")
           << found.getFunctionType();
  for (Operation &op : found.front())
    if (!isa_and_nonnull<dl::DLDialect>(op.getDialect()) && !isa<func::ReturnOp>(op))
      return op.emitOpError("is no op of the language");
  return success();
}

/// Behind the outputs, and before states, stand the counts of counted symbols, whose largest values
/// are known before; no input depends on them.
static LogicalResult verifyCounts(ModuleOp module) {
  llvm::SmallBitVector counted = dl::countedSymbols(module);
  auto function = *module.getOps<func::FuncOp>().begin();
  unsigned counts = 0;
  bool isGood = true;
  for (auto [position, type] : llvm::enumerate(function.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (function.getResultAttr(position, "dl.count")) {
      ++counts;
      isGood &= tensor.getRank() == 0 && tensor.getElementType().isSignlessInteger(64);
    } else if (counts > 0) {
      isGood &= function.getResultAttr(position, "dl.state") != nullptr;
    }
  }
  if (!isGood || counts != counted.count())
    return function.emitError("expected a tensor<i64> with 'dl.count' for each counted symbol "
                              "after the outputs, got ")
           << function.getFunctionType();
  if (auto symbols = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    for (auto symbol : symbols.getAsRange<dl::SymbolAttr>())
      if (symbol.isCounted() && dl::mentions(symbol.getMost().getResult(0), counted))
        return module.emitError("expected no counted symbol in the most of '")
               << symbol.getName() << "'";
  for (Type type : function.getArgumentTypes())
    if (dl::mentions(dl::getDims(cast<RankedTensorType>(type)), counted))
      return function.emitError("expected inputs whose dims are known before the run, got ")
             << type;
  return success();
}

/// No pass has decided yet how anything runs.
static LogicalResult verifyLogical(ModuleOp module) {
  if (failed(verifyGraph(module)) || failed(verifyCounts(module)))
    return failure();
  WalkResult result = module.walk([](Operation *op) -> WalkResult {
    if (isa<dl::ConvertLayoutOp, dl::FusionOp>(op))
      return op->emitOpError("does not belong here before the layout phase"),
             WalkResult::interrupt();
    for (Type type : op->getResultTypes())
      if (!isRowMajor(type))
        return op->emitOpError("has a physical layout before the layout phase: ") << type,
               WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// What canonicalization rewrites is gone, and so is what nothing uses.
static LogicalResult verifySimple(ModuleOp module) {
  if (failed(verifyLogical(module)))
    return failure();
  WalkResult result = module.walk([](Operation *op) -> WalkResult {
    if (isa<DecomposableOpInterface>(op) && !isa<dl::AttentionOp>(op))
      return op->emitOpError("should have become other ops in the simplify phase"),
             WalkResult::interrupt();
    // Each of these has a simpler form that its record names.
    if (isa<dl::FlattenOp, dl::TransposeOp, dl::DropoutOp>(op))
      return op->emitOpError("should have become a simpler op in the simplify phase"),
             WalkResult::interrupt();
    if (isPure(op) && !op->hasTrait<OpTrait::IsTerminator>() && op->use_empty() &&
        !isa<ModuleOp>(op))
      return op->emitOpError("is used by nothing after the simplify phase"),
             WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult verifyLayouts(ModuleOp module) {
  if (failed(verifyGraph(module)))
    return failure();
  WalkResult result = module.walk([](Operation *op) -> WalkResult {
    if (isa<dl::FusionOp>(op))
      return op->emitOpError("does not belong here before the fuse phase"), WalkResult::interrupt();
    if (isa<DecomposableOpInterface>(op) && !isa<dl::AttentionOp>(op))
      return op->emitOpError("does not belong here after the simplify phase"),
             WalkResult::interrupt();
    if (auto convert = dyn_cast<dl::ConvertLayoutOp>(op)) {
      if (convert.getX().getType() == convert.getType())
        return op->emitOpError("converts nothing"), WalkResult::interrupt();
      if (convert.getX().getDefiningOp<dl::ConvertLayoutOp>())
        return op->emitOpError("converts a converted tensor; expected one convert for both"),
               WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===- Phases of each target ------------------------------------------------------------------===//

static LogicalResult verifyTargets(ModuleOp module,
                                   function_ref<LogicalResult(ModuleOp target)> check) {
  const ScheduleOracles *targets = ScheduleOracles::of(module.getContext());
  assert(targets && "whoever runs the phase compress has the code generators of targets");
  if (module.getBody()->empty())
    return module.emitError("expected a module for each target, ") << targets->modules();
  for (Operation &op : *module.getBody()) {
    auto target = dyn_cast<ModuleOp>(op);
    if (!target || !targets->find(target.getName().value_or("")))
      return op.emitError("expected ")
             << targets->modules() << ", as there are from the compress phase on";
    if (failed(check(target)))
      return failure();
  }
  return success();
}

/// All ops that read `state`, also through views, but for `update`, come before that.
static bool isReadBefore(Value state, dl::FusionOp update) {
  return llvm::all_of(state.getUsers(), [&](Operation *user) {
    return user == update || (keepsBytes(user) ? isReadBefore(user->getResult(0), update)
                                               : user->isBeforeInBlock(update));
  });
}

/// A buffer that is updated in place is a state, gets this value, and is not read any more.
static LogicalResult verifyInPlace(func::FuncOp function, dl::FusionOp update) {
  auto state = dyn_cast<BlockArgument>(update.getUpdatedInput());
  if (!state || !function.getArgAttr(state.getArgNumber(), "dl.state"))
    return update.emitOpError("is in place, but what it updates is no state");
  OperandRange returned = function.front().getTerminator()->getOperands();
  // States are the last arguments, their next values the last results.
  unsigned fromEnd = function.getNumArguments() - state.getArgNumber();
  if (fromEnd > returned.size() || returned[returned.size() - fromEnd] != update.getResult(0))
    return update.emitOpError("is in place, but its result is not the next value of the state");
  if (llvm::count(update.getInputs(), state) != 1 || !isReadBefore(state, update))
    return update.emitOpError("is in place, but the old value of the state is read after it");
  return success();
}

/// Each tensor of a concatenation outside of fusions is the one result of a fusion, and part of
/// nothing else, in the layout of the whole. Other fusions may read it there.
static LogicalResult verifyInPlace(dl::CatOp cat) {
  for (Value tensor : cat.getTensors()) {
    auto fusion = tensor.getDefiningOp<dl::FusionOp>();
    if (!fusion || fusion.getOutputs().size() != 1 || fusion.getInPlace() ||
        llvm::count(cat.getTensors(), tensor) != 1 ||
        !llvm::all_of(tensor.getUsers(),
                      [&](Operation *user) { return user == cat || isa<dl::FusionOp>(user); }))
      return cat.emitOpError("is outside a fusion, but joins ")
             << tensor.getType()
             << ", which is not the one result of a fusion that it and fusions alone read";
    auto layoutOf = [](Value value) {
      return dl::getLayout(cast<RankedTensorType>(value.getType()));
    };
    if (layoutOf(tensor) != layoutOf(cat.getY()) || layoutOf(tensor).isTiled())
      return cat.emitOpError("is outside a fusion, but joins ")
             << tensor.getType() << " to " << cat.getType()
             << "; expected one layout, without tiles";
  }
  return success();
}

static LogicalResult verifyFused(ModuleOp target) {
  if (failed(verifyGraph(target)))
    return failure();
  auto function = *target.getOps<func::FuncOp>().begin();
  for (Operation &op : function.front()) {
    if (auto cat = dyn_cast<dl::CatOp>(op)) {
      if (failed(verifyInPlace(cat)))
        return failure();
    } else if (!isa<dl::FusionOp, dl::WeightOp, func::ReturnOp>(op) && !keepsBytes(&op)) {
      return op.emitOpError("is outside a fusion after the fuse phase");
    }
    if (auto fusion = dyn_cast<dl::FusionOp>(op);
        fusion && fusion.getInPlace() && failed(verifyInPlace(function, fusion)))
      return failure();
  }
  return success();
}

static LogicalResult verifyPrograms(ModuleOp module,
                                    function_ref<LogicalResult(ModuleOp, dlx::ProgramOp)> check) {
  return verifyTargets(module, [&](ModuleOp target) -> LogicalResult {
    auto programs = llvm::to_vector(target.getOps<dlx::ProgramOp>());
    if (programs.size() != 1)
      return target.emitError("expected one program, got ") << programs.size();
    return check(target, programs.front());
  });
}

static LogicalResult verifyOutlined(ModuleOp target, dlx::ProgramOp program) {
  llvm::StringSet<> launched;
  for (auto launch : program.getBodyBlock().getOps<dlx::LaunchOp>()) {
    launched.insert(launch.getKernel());
    if (launch.getChain())
      launched.insert(launch.getChain()->getKernel().getValue());
  }
  for (auto kernel : target.getOps<dlx::KernelOp>())
    if (kernel.getVariants())
      for (auto variant : kernel.getVariants()->getAsRange<dlx::VariantAttr>())
        launched.insert(variant.getKernel().getValue());
  for (auto kernel : target.getOps<dlx::KernelOp>())
    if (!launched.contains(kernel.getSymName()))
      return kernel.emitOpError("is launched by nothing");
  return success();
}

static LogicalResult verifyScheduled(ModuleOp target, dlx::ProgramOp program) {
  if (failed(verifyOutlined(target, program)))
    return failure();
  // Found: verifyTargets has asked for it.
  bool hasThreadBlocks =
      ScheduleOracles::of(target.getContext())->find(*target.getName())->hasThreadBlocks();
  for (auto kernel : target.getOps<dlx::KernelOp>()) {
    if (!kernel.getEntry())
      return kernel.emitOpError("has no code after the schedule phase");
    if (hasThreadBlocks && !kernel.getBlock())
      return kernel.emitOpError("has no block size after the schedule phase");
  }
  return success();
}

static LogicalResult verifyPlanned(ModuleOp target, dlx::ProgramOp program) {
  if (failed(verifyScheduled(target, program)))
    return failure();
  llvm::SmallPtrSet<Value, 8> outputs;
  for (Value output : program.getBodyBlock().back().getOperands()) {
    auto alloc = output.getDefiningOp<dlx::AllocOp>();
    if (!alloc || alloc.getPersistent() || !outputs.insert(output).second)
      return program.emitOpError("returns a buffer that is not an alloc of its own");
  }
  for (auto alloc : program.getBodyBlock().getOps<dlx::AllocOp>()) {
    if (alloc.getPersistent())
      continue;
    auto first = alloc->getAttrOfType<IntegerAttr>("first_use"),
         last = alloc->getAttrOfType<IntegerAttr>("last_use");
    if (!first || !last || first.getInt() > last.getInt())
      return alloc.emitOpError("has no lifetime after the buffers phase");
  }
  return success();
}

void VerifyPhase::runOnOperation() {
  ModuleOp module = getOperation();
  LogicalResult result = failure();
  // The driver has nothing else verified: to do so after each pass took half of its time.
  if (failed(verify(module)))
    return signalPassFailure();
  if (phase == "import")
    result = verifyLogical(module);
  else if (phase == "simplify")
    result = verifySimple(module);
  else if (phase == "compress" || phase == "precision")
    result = verifyTargets(module, verifySimple);
  else if (phase == "layout")
    result = verifyTargets(module, verifyLayouts);
  else if (phase == "fuse")
    result = verifyTargets(module, verifyFused);
  else if (phase == "outline")
    result = verifyPrograms(module, verifyOutlined);
  else if (phase == "schedule")
    result = verifyPrograms(module, verifyScheduled);
  else if (phase == "buffers")
    result = verifyPrograms(module, verifyPlanned);
  else
    module.emitError("unknown phase '") << phase << "'";
  if (failed(result))
    signalPassFailure();
}

} // namespace dlc
