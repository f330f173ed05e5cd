//===- PlanBuffers.cpp - Outputs get memory of their own; lifetimes are recorded ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/buffers/OverwrittenStates.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#define DEBUG_TYPE "plan-buffers"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_PLANBUFFERS
#include "passes/Passes.h.inc"

namespace {

class PlanBuffers : public impl::PlanBuffersBase<PlanBuffers> {
  void runOnOperation() override;

  void ownOutputs(dlx::ProgramOp program);
  void writeStates(dlx::ProgramOp program);
  LogicalResult recordLifetimes(dlx::ProgramOp program);
};

} // namespace

/// Returns the kernel that `op` launches, and null if `op` is not a launch.
static dlx::KernelOp kernelOf(Operation &op) {
  auto launch = dyn_cast<dlx::LaunchOp>(op);
  return launch
             ? SymbolTable::lookupNearestSymbolFrom<dlx::KernelOp>(launch, launch.getKernelAttr())
             : dlx::KernelOp();
}

/// The launch of a kernel that updates one of its inputs, which it does not read.
static bool isInPlace(Operation &op) {
  dlx::KernelOp kernel = kernelOf(op);
  return kernel && kernel.getInPlace();
}

namespace {
/// Parts of a buffer that have been written, each from an index to before another along one dim.
class WrittenParts {
public:
  void add(dlx::KernelOp kernel) {
    dlx::PartAttr part = *kernel.getPart();
    auto result = cast<RankedTensorType>(kernel.getResultTensors().front().getType());
    dim = part.getDim();
    extent = part.getExtent();
    isAny = true;
    AffineExpr end = dl::normalize(part.getFirst() + dl::getDims(result)[dim]);
    if (end == part.getFirst())
      return; // empty, and begins where another does
    ends[part.getFirst()] = end;
    ++count;
  }
  bool empty() const { return !isAny; }
  /// Each index of the buffer is in one of the parts, and in one alone.
  bool isWhole() const {
    if (empty())
      return true;
    AffineExpr at = dl::constantDim(0, extent.getContext());
    for (unsigned i = 0; i < count; ++i)
      if (!(at = ends.lookup(at)))
        return false;
    return at == extent;
  }
  /// All that the kernel reads of its input `argument` is in parts, of which each is one of these.
  bool holdReadsOf(BlockArgument argument) const {
    return llvm::all_of(argument.getUsers(), [&](Operation *user) {
      auto read = dyn_cast<dl::PartOp>(user);
      if (!read || static_cast<int64_t>(read.getDim()) != dim)
        return false;
      AffineExpr first = dl::normalize(read.getStart().getResult(0)),
                 length = read.getLength().getResult(0);
      return dl::isConstant(length, 0) || ends.lookup(first) == dl::normalize(first + length);
    });
  }

private:
  int64_t dim = 0;
  AffineExpr extent;
  llvm::DenseMap<AffineExpr, AffineExpr> ends; // of the parts, by their first indices
  unsigned count = 0;
  bool isAny = false; // an empty one too
};
} // namespace

/// Commands that run with each call, in contrast to those at load.
static bool isMainCommand(Operation &op) {
  if (auto launch = dyn_cast<dlx::LaunchOp>(op))
    return !launch.getInit();
  return isa<dlx::CopyOp>(op);
}

/// Makes `output`, a view of a buffer that a run allocates, a buffer of its own: the one that was
/// allocated becomes a view of it. Returns false where that is none, or where the model returns it.
static bool allocateViewed(OpOperand &output) {
  auto alloc = dlx::storage(output.get()).getDefiningOp<dlx::AllocOp>();
  if (!alloc || alloc.getPersistent() || alloc.getBuffer() == output.get() ||
      llvm::is_contained(output.getOwner()->getOperands(), alloc.getBuffer()))
    return false;
  OpBuilder builder(alloc);
  auto whole = dlx::AllocOp::create(builder, alloc.getLoc(), output.get().getType(),
                                    /*persistent=*/false);
  alloc.getBuffer().replaceAllUsesWith(
      dlx::ViewOp::create(builder, alloc.getLoc(), alloc.getBuffer().getType(), whole));
  alloc.erase();
  output.set(whole);
  return true;
}

void PlanBuffers::ownOutputs(dlx::ProgramOp program) {
  Operation &ret = program.getBodyBlock().back();
  OpBuilder builder(&ret);
  llvm::SmallPtrSet<Value, 8> taken;
  unsigned outputs = program.getOutputNames().size();
  for (OpOperand &output : ret.getOpOperands().take_front(outputs)) {
    auto alloc = output.get().getDefiningOp<dlx::AllocOp>();
    if (alloc && !alloc.getPersistent() && taken.insert(output.get()).second)
      continue;
    if (allocateViewed(output)) {
      taken.insert(output.get());
      continue;
    }
    auto copy =
        dlx::AllocOp::create(builder, ret.getLoc(), output.get().getType(), /*persistent=*/false);
    dlx::CopyOp::create(builder, ret.getLoc(), output.get(), copy);
    output.set(copy);
    taken.insert(copy);
    ++numCopies;
  }
}

/// Other states get their new values when everything else is done. One that becomes the old value
/// of another (as when two are exchanged) is copied out before the first is written.
void PlanBuffers::writeStates(dlx::ProgramOp program) {
  Operation &ret = program.getBodyBlock().back();
  unsigned outputs = program.getOutputNames().size();
  OpBuilder builder(&ret);
  SmallVector<std::pair<Value, Value>> writes;
  auto states = program.getStates();
  for (auto [state, value] : llvm::zip(states, ret.getOperands().drop_front(outputs)))
    if (state != value)
      writes.push_back({value, state});
  for (auto &[value, state] : writes)
    if (llvm::is_contained(states, dlx::storage(value))) {
      auto old = dlx::AllocOp::create(builder, ret.getLoc(), value.getType(), /*persistent=*/false);
      dlx::CopyOp::create(builder, ret.getLoc(), value, old);
      value = old;
    }
  for (auto [value, state] : writes)
    dlx::CopyOp::create(builder, ret.getLoc(), value, state);
  numCopies += writes.size();
  ret.eraseOperands(outputs, ret.getNumOperands() - outputs);
}

LogicalResult PlanBuffers::recordLifetimes(dlx::ProgramOp program) {
  struct Lifetime {
    int64_t first, last;
    WrittenParts parts = {};
    bool isRead = false;
  };
  llvm::DenseMap<Value, Lifetime> lifetimes;
  int64_t position = 0;
  for (Operation &op : program.getBodyBlock()) {
    if (!isMainCommand(op))
      continue;
    // `input` is the kernel's own name for a buffer that it reads.
    auto touch = [&](Value buffer, bool writes, BlockArgument input = {}) -> LogicalResult {
      Value owner = dlx::storage(buffer);
      auto alloc = owner.getDefiningOp<dlx::AllocOp>();
      if (!alloc || alloc.getPersistent())
        return success();
      auto [entry, isNew] = lifetimes.try_emplace(owner, Lifetime{position, position});
      Lifetime &lifetime = entry->second;
      if (isNew && !writes)
        return op.emitOpError("reads a buffer that nothing has written");
      dlx::KernelOp kernel = kernelOf(op);
      bool isPart = writes && kernel && kernel.getPart();
      if (!isNew && writes && !(isPart && !lifetime.parts.empty() && !lifetime.isRead))
        return op.emitOpError(
            "writes a buffer that holds a value already; the plan has one writer for each");
      bool readsParts = input && !lifetime.parts.empty() && lifetime.parts.holdReadsOf(input);
      if (!writes && !readsParts && !lifetime.parts.isWhole())
        return op.emitOpError("reads a buffer of which parts are not written, or written twice");
      if (isPart)
        lifetime.parts.add(kernel);
      lifetime.isRead |= !writes && !readsParts;
      lifetime.last = position;
      return success();
    };
    auto overlaps = [&](ValueRange sources, ValueRange targets) {
      return llvm::any_of(targets, [&](Value target) {
        Value written = dlx::storage(target);
        auto launch = dyn_cast<dlx::LaunchOp>(op);
        return llvm::any_of(sources,
                            [&](Value source) { return dlx::storage(source) == written; }) &&
               !(launch && written == target && llvm::is_contained(program.getStates(), written) &&
                 mayOverwrite(launch, written));
      });
    };
    ValueRange sources, targets;
    if (auto launch = dyn_cast<dlx::LaunchOp>(op)) {
      sources = launch.getInputs();
      targets = launch.getOutputs();
    } else {
      sources = op.getOperands().take_front();
      targets = op.getOperands().drop_front();
    }
    if (overlaps(sources, targets) && !isInPlace(op))
      return op.emitOpError("writes a buffer that it reads");
    dlx::KernelOp kernel = kernelOf(op);
    for (auto [number, source] : llvm::enumerate(sources))
      if (failed(touch(source, /*writes=*/false,
                       kernel ? kernel.getBodyBlock().getArgument(number) : BlockArgument())))
        return failure();
    for (Value target : targets)
      if (failed(touch(target, /*writes=*/true)))
        return failure();
    ++position;
  }
  // The caller reads the outputs after the last command.
  for (Value output : program.getBodyBlock().back().getOperands()) {
    auto found = lifetimes.find(output);
    if (found == lifetimes.end())
      return program.emitOpError("returns a buffer that nothing writes");
    if (!found->second.parts.isWhole())
      return program.emitOpError(
          "returns a buffer of which parts are not written, or written twice");
    found->second.last = position - 1;
  }

  Builder builder(&getContext());
  for (auto alloc : llvm::make_early_inc_range(program.getBodyBlock().getOps<dlx::AllocOp>())) {
    if (alloc.getPersistent())
      continue;
    auto found = lifetimes.find(alloc.getBuffer());
    if (found == lifetimes.end()) {
      if (!alloc->use_empty())
        return alloc.emitOpError("is used by no command");
      alloc.erase();
      continue;
    }
    alloc->setAttr("first_use", builder.getI64IntegerAttr(found->second.first));
    alloc->setAttr("last_use", builder.getI64IntegerAttr(found->second.last));
  }
  return success();
}

void PlanBuffers::runOnOperation() {
  WalkResult result = getOperation().walk([&](dlx::ProgramOp program) -> WalkResult {
    ownOutputs(program);
    numOverwritten += overwriteStates(program);
    writeStates(program);
    return recordLifetimes(program);
  });
  if (result.wasInterrupted())
    signalPassFailure();
}

} // namespace dlc
