//===- LaunchMerger.cpp - Several launches as one --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "passes/fuse/LaunchMerger.h"

#include "ir/dl/DLOps.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc {

dlx::LaunchOp LaunchMerger::writerOf(Value buffer) {
  if (!buffer.getDefiningOp<dlx::AllocOp>())
    return {};
  for (Operation *user : buffer.getUsers())
    if (auto launch = dyn_cast<dlx::LaunchOp>(user);
        launch && llvm::is_contained(launch.getOutputs(), buffer))
      return launch;
  return {};
}

dlx::LaunchOp LaunchMerger::onlyFor(Value buffer, dlx::LaunchOp reader) {
  dlx::LaunchOp writer = writerOf(buffer);
  bool suits = writer && !writer.getInit() && writer.getOutputs().size() == 1 &&
               llvm::all_of(buffer.getUsers(),
                            [&](Operation *user) { return user == writer || user == reader; });
  return suits ? writer : dlx::LaunchOp();
}

StringRef LaunchMerger::withoutNumber(StringRef name) {
  StringRef digits = name.drop_front(name.find_last_of('_') + 1);
  unsigned number;
  return digits.getAsInteger(10, number) ? name : name.drop_back(digits.size() + 1);
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

dlx::KernelOp LaunchMerger::merged(ArrayRef<dlx::LaunchOp> launches, StringRef name,
                                   dlx::KernelKind kind, SmallVectorImpl<Value> &inputs,
                                   ArrayRef<Value> kept) {
  MLIRContext *context = target.getContext();
  OpBuilder builder(context);
  SmallVector<Location> lines;
  for (dlx::LaunchOp launch : launches)
    lines.push_back(kernelOf(launch).getLoc());
  auto kernel = dlx::KernelOp::create(builder, FusedLoc::get(context, lines), name, kind);
  Block &block = kernel.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&block);
  llvm::DenseMap<Value, Value> known; // buffers as values of the body
  for (dlx::LaunchOp launch : launches) {
    Block &body = kernelOf(launch).getBodyBlock();
    IRMapping mapping;
    for (auto [buffer, argument] : llvm::zip(launch.getInputs(), body.getArguments())) {
      Value &value = known[buffer];
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
  SmallVector<Value> yielded = {known[last.getOutputs().front()]};
  for (Value buffer : kept)
    yielded.push_back(known[buffer]);
  dl::YieldOp::create(builder, kernel.getLoc(), yielded);
  sortBody(block, inputs);
  return kernel;
}

/// An earlier kernel that computes the same, else `kernel` under a name of its own.
dlx::KernelOp LaunchMerger::shared(dlx::KernelOp kernel) {
  if (dlx::KernelOp earlier = formed.find(kernel.getBody(), kernel.getLoc())) {
    kernel.erase();
    return earlier;
  }
  symbols.insert(kernel);
  formed.add(kernel);
  return kernel;
}

void LaunchMerger::replace(ArrayRef<dlx::LaunchOp> launches, dlx::KernelOp kernel,
                           ValueRange inputs, dlx::LaunchOp place, ArrayRef<Value> kept) {
  dlx::LaunchOp last = launches.back();
  OpBuilder builder(place);
  SmallVector<Location> lines;
  for (dlx::LaunchOp launch : launches)
    lines.push_back(launch.getLoc());
  SmallVector<Value> outputs(last.getOutputs());
  outputs.append(kept.begin(), kept.end());
  if (place != last)
    outputs.front().getDefiningOp()->moveBefore(place);
  dlx::LaunchOp::create(builder, FusedLoc::get(target.getContext(), lines),
                        shared(kernel).getSymName(), inputs, outputs, /*init=*/false);
  last.erase();
  for (dlx::LaunchOp launch : llvm::reverse(launches.drop_back())) {
    Value between = launch.getOutputs().front();
    launch.erase();
    if (!llvm::is_contained(kept, between))
      between.getDefiningOp()->erase();
  }
}

void LaunchMerger::fuseEach(llvm::function_ref<bool(dlx::LaunchOp)> fuse) {
  bool changed = false;
  for (auto program : target.getOps<dlx::ProgramOp>())
    for (Operation &op : llvm::make_early_inc_range(program.getBodyBlock()))
      if (auto launch = dyn_cast<dlx::LaunchOp>(op))
        changed |= fuse(launch);
  if (changed)
    dropUnused();
}

void LaunchMerger::dropUnused() {
  llvm::StringSet<> launched;
  target.walk([&](dlx::LaunchOp launch) { launched.insert(launch.getKernel()); });
  for (auto kernel : llvm::make_early_inc_range(target.getOps<dlx::KernelOp>()))
    if (!launched.contains(kernel.getSymName()))
      symbols.erase(kernel);
}

} // namespace dlc
