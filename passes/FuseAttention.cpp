//===- FuseAttention.cpp - Attention as one kernel -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/Attention.h"
#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "fuse-attention"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FUSEATTENTION
#include "passes/Passes.h.inc"

namespace {

class FuseAttention : public impl::FuseAttentionBase<FuseAttention> {
  void runOnOperation() override;

  dlx::KernelOp kernelOf(dlx::LaunchOp launch) {
    return symbols->lookup<dlx::KernelOp>(launch.getKernel());
  }
  bool fuse(dlx::LaunchOp sum);
  dlx::KernelOp build(ArrayRef<dlx::LaunchOp> launches, SmallVectorImpl<Value> &inputs);
  dlx::KernelOp shared(dlx::KernelOp kernel);
  void dropUnused();

  std::optional<SymbolTable> symbols;
  SmallVector<dlx::KernelOp> formed;
};

} // namespace

/// The launch that writes `buffer`, an alloc; null where none does.
static dlx::LaunchOp writerOf(Value buffer) {
  if (!buffer.getDefiningOp<dlx::AllocOp>())
    return {};
  for (Operation *user : buffer.getUsers())
    if (auto launch = dyn_cast<dlx::LaunchOp>(user);
        launch && llvm::is_contained(launch.getOutputs(), buffer))
      return launch;
  return {};
}

/// The launch that writes what `reader` and nothing else reads; null where there is more to it.
static dlx::LaunchOp onlyFor(Value buffer, dlx::LaunchOp reader) {
  dlx::LaunchOp writer = writerOf(buffer);
  bool suits = writer && !writer.getInit() && writer.getOutputs().size() == 1 &&
               llvm::all_of(buffer.getUsers(),
                            [&](Operation *user) { return user == writer || user == reader; });
  return suits ? writer : dlx::LaunchOp();
}

/// The kernel's only op, null where it has others or is another.
template <typename Op> static Op onlyOp(dlx::KernelOp kernel) {
  Block &block = kernel.getBodyBlock();
  if (!llvm::hasNItems(block, 2))
    return {};
  return dyn_cast<Op>(block.front());
}

/// One body of those of `launches`, each of which reads what the one before it writes. A causal mask that some other kernel
/// makes is made here: it is cheaper to compute than to load, and the schedule sees what it hides.
dlx::KernelOp FuseAttention::build(ArrayRef<dlx::LaunchOp> launches,
                                   SmallVectorImpl<Value> &inputs) {
  OpBuilder builder(&getContext());
  SmallVector<Location> lines;
  for (dlx::LaunchOp launch : launches)
    lines.push_back(kernelOf(launch).getLoc());
  auto kernel =
      dlx::KernelOp::create(builder, FusedLoc::get(&getContext(), lines), "attention", "attention",
                            StringAttr(), AffineMapAttr(), AffineMapAttr(), DenseI64ArrayAttr(),
                            AffineMapAttr(), AffineMapAttr(), DenseI64ArrayAttr());
  Block &block = kernel.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&block);
  llvm::DenseMap<Value, Value> known; // buffers as values of the body
  for (dlx::LaunchOp launch : launches) {
    Block &body = kernelOf(launch).getBodyBlock();
    IRMapping mapping;
    for (auto [buffer, argument] : llvm::zip(launch.getInputs(), body.getArguments())) {
      Value &value = known[buffer];
      if (dlx::LaunchOp writer = value ? dlx::LaunchOp() : writerOf(buffer))
        if (auto mask = onlyOp<dl::CausalMaskOp>(kernelOf(writer)))
          value = builder.clone(*mask)->getResult(0);
      if (!value) {
        value = block.addArgument(argument.getType(), argument.getLoc());
        inputs.push_back(buffer);
      }
      mapping.map(argument, value);
    }
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    known[launch.getOutputs().front()] =
        mapping.lookup(kernelOf(launch).getResultTensors().front());
  }
  dlx::LaunchOp last = launches.back();
  dl::YieldOp::create(builder, kernel.getLoc(), known[last.getOutputs().front()]);
  return kernel;
}

/// Ops and arguments in the order in which the result asks for them: what computes the same looks the same.
static void sortBody(Block &block, SmallVectorImpl<Value> &inputs) {
  SmallVector<Operation *> ops;
  SmallVector<unsigned> order;
  llvm::SmallPtrSet<void *, 16> visited;
  std::function<void(Value)> visit = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!visited.insert(op ? static_cast<void *>(op) : value.getAsOpaquePointer()).second)
      return;
    if (!op)
      return order.push_back(cast<BlockArgument>(value).getArgNumber());
    llvm::for_each(op->getOperands(), visit);
    ops.push_back(op);
  };
  llvm::for_each(block.getTerminator()->getOperands(), visit);
  for (Operation *op : ops)
    op->moveBefore(block.getTerminator());
  SmallVector<Value> before = llvm::to_vector(inputs);
  inputs.clear();
  unsigned count = block.getNumArguments();
  for (unsigned position : order) {
    BlockArgument old = block.getArgument(position);
    old.replaceAllUsesWith(block.addArgument(old.getType(), old.getLoc()));
    inputs.push_back(before[position]);
  }
  block.eraseArguments(0, count);
}

/// An earlier kernel that computes the same, else `kernel` under a name of its own.
dlx::KernelOp FuseAttention::shared(dlx::KernelOp kernel) {
  for (dlx::KernelOp earlier : formed) {
    if (!OperationEquivalence::isRegionEquivalentTo(&earlier.getBody(), &kernel.getBody(),
                                                    OperationEquivalence::IgnoreLocations))
      continue;
    for (auto [ours, theirs] : llvm::zip(earlier.getBodyBlock(), kernel.getBodyBlock()))
      ours.setLoc(FusedLoc::get(&getContext(), {ours.getLoc(), theirs.getLoc()}));
    earlier->setLoc(FusedLoc::get(&getContext(), {earlier.getLoc(), kernel.getLoc()}));
    kernel.erase();
    return earlier;
  }
  symbols->insert(kernel);
  formed.push_back(kernel);
  return kernel;
}

bool FuseAttention::fuse(dlx::LaunchOp sum) {
  if (sum.getInit() || kernelOf(sum).getKind() != "contraction")
    return false;
  for (Value weights : sum.getInputs()) {
    dlx::LaunchOp softmax = onlyFor(weights, sum);
    if (!softmax || kernelOf(softmax).getKind() != "reduce")
      continue;
    for (Value scores : softmax.getInputs()) {
      dlx::LaunchOp product = onlyFor(scores, softmax);
      if (!product || kernelOf(product).getKind() != "contraction")
        continue;
      SmallVector<Value> inputs;
      dlx::KernelOp kernel = build({product, softmax, sum}, inputs);
      sortBody(kernel.getBodyBlock(), inputs);
      if (!findAttention(kernel.getBodyBlock())) {
        kernel.erase();
        continue;
      }
      OpBuilder builder(sum);
      Location lines =
          FusedLoc::get(&getContext(), {product.getLoc(), softmax.getLoc(), sum.getLoc()});
      dlx::LaunchOp::create(builder, lines, shared(kernel).getSymName(), inputs, sum.getOutputs(),
                            /*init=*/false);
      sum.erase();
      softmax.erase();
      product.erase();
      for (Value buffer : {weights, scores})
        buffer.getDefiningOp()->erase();
      ++numFused;
      return true;
    }
  }
  return false;
}

/// Masks that nothing reads any more, and kernels that nothing launches.
void FuseAttention::dropUnused() {
  SmallVector<dlx::LaunchOp> unread;
  getOperation().walk([&](dlx::LaunchOp launch) {
    if (onlyOp<dl::CausalMaskOp>(kernelOf(launch)) && launch.getOutputs().front().hasOneUse())
      unread.push_back(launch);
  });
  for (dlx::LaunchOp launch : unread) {
    Operation *alloc = launch.getOutputs().front().getDefiningOp();
    launch.erase();
    alloc->erase();
  }
  llvm::StringSet<> launched;
  getOperation().walk([&](dlx::LaunchOp launch) { launched.insert(launch.getKernel()); });
  for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<dlx::KernelOp>()))
    if (!launched.contains(kernel.getSymName()))
      symbols->erase(kernel);
}

void FuseAttention::runOnOperation() {
  // Of the targets, the one whose schedules have such a kernel.
  if (getOperation().getName() != "cuda")
    return;
  symbols.emplace(getOperation());
  formed.clear();
  bool changed = false;
  for (auto program : getOperation().getOps<dlx::ProgramOp>())
    // What goes with a launch stands before it.
    for (Operation &op : llvm::make_early_inc_range(program.getBodyBlock()))
      if (auto launch = dyn_cast<dlx::LaunchOp>(op))
        changed |= fuse(launch);
  if (changed)
    dropUnused();
}

} // namespace dlc
