//===- FuseReaders.cpp - A value and what a map makes of it, by one kernel ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"
#include "passes/Passes.h"
#include "passes/fuse/LaunchMerger.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#define DEBUG_TYPE "fuse-readers"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FUSEREADERS
#include "passes/Passes.h.inc"

/// Bodies that a kernel's text may have, one for each way from a result to an op, and buffers that it may name.
static constexpr int64_t kMostBodies = 96;
static constexpr size_t kMostInputs = 32;

namespace {

class FuseReaders : public impl::FuseReadersBase<FuseReaders> {
  void runOnOperation() override;
  bool fuse(LaunchMerger &merger, dlx::LaunchOp reader);
};

} // namespace

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }
static RankedTensorType tensorOf(Value buffer) {
  return cast<dlx::BufferType>(buffer.getType()).getTensor();
}

/// All reads of `values`, arguments of a map's body, and of what becomes of them are made at the reader's own index.
static bool readsAtOwnIndex(Block &body, ArrayRef<BlockArgument> values) {
  llvm::SmallPtrSet<Value, 16> derived;
  derived.insert(values.begin(), values.end());
  for (Operation &op : body.without_terminator()) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    if (!loops)
      return false;
    LoopNest nest = loops.getLoopNest();
    for (const Access &access : nest.results) {
      Value operand = op.getOperand(access.operand);
      if (!derived.contains(operand))
        continue;
      if (access.checked || access.isComputed() || dl::getDims(typeOf(operand)) != nest.parallel)
        return false;
      for (auto [position, index] : llvm::enumerate(access.map.getResults()))
        if (index != getAffineDimExpr(position, op.getContext()))
          return false;
      derived.insert(op.getResult(0));
    }
  }
  return derived.contains(body.getTerminator()->getOperand(0));
}

/// Bodies of maps behind and beside the op with stages: an op's once for each way from a result to it.
static int64_t countBodies(Block &body) {
  llvm::DenseMap<Operation *, int64_t> ways;
  int64_t bodies = 0;
  for (Operation &op : llvm::reverse(body)) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    // The value of an op with stages is known, its terms are printed once.
    bool isOnce = !loops || !loops.getLoopNest().isMap();
    int64_t own = isOnce ? 1 : ways.lookup(&op);
    bodies += own;
    for (Value operand : op.getOperands())
      if (Operation *by = operand.getDefiningOp())
        ways[by] = std::min(ways.lookup(by) + own, 2 * kMostBodies);
  }
  return bodies;
}

/// The op with stages, if there is one, is a product whose dims belong to one factor each or are plain indices of the first: the
/// schedules of others store one result.
static bool mayStoreSeveral(Block &body) {
  for (auto op : body.getOps<LoopNestOpInterface>()) {
    LoopNest nest = op.getLoopNest();
    if (nest.isMap())
      continue;
    if (!nest.isProduct || nest.terms.size() != 2)
      return false;
    AffineMap first = nest.terms[0].map, second = nest.terms[1].map;
    for (unsigned dim = 0; dim < nest.parallel.size(); ++dim)
      if (first.isFunctionOfDim(dim) && second.isFunctionOfDim(dim) &&
          !llvm::is_contained(first.getResults(), getAffineDimExpr(dim, op->getContext())))
        return false;
  }
  return true;
}

/// The user asked for a kernel of its own.
static bool isKeptOut(Block &body) {
  return llvm::any_of(body, [](Operation &op) { return op.hasAttr("dl.no_fuse"); });
}

/// Where one launch can stand for both: before what else reads `value`, behind what `reader` reads; null where there is no such
/// place.
static dlx::LaunchOp placeFor(dlx::LaunchOp writer, dlx::LaunchOp reader, Value value) {
  if (llvm::all_of(value.getUsers(), [&](Operation *user) {
        return user == writer || user == reader || reader->isBeforeInBlock(user);
      }))
    return reader;
  bool isThere = llvm::all_of(reader.getInputs(), [&](Value input) {
    Operation *op = input.getDefiningOp();
    if (input == value || !op || isa<dlx::WeightOp>(op))
      return !op || input == value || op->isBeforeInBlock(writer);
    // A view stands where it is made, which says nothing of when its buffer is written.
    dlx::LaunchOp by = LaunchMerger::writerOf(input);
    return by && by->isBeforeInBlock(writer);
  });
  return isThere ? writer : dlx::LaunchOp();
}

bool FuseReaders::fuse(LaunchMerger &merger, dlx::LaunchOp reader) {
  dlx::KernelOp map = merger.kernelOf(reader);
  if (reader.getInit() || map.getKind() != dlx::KernelKind::map || isKeptOut(map.getBodyBlock()))
    return false;
  RankedTensorType after = tensorOf(reader.getOutputs().front());
  for (Value value : llvm::SetVector<Value>(reader.getInputs().begin(), reader.getInputs().end())) {
    dlx::LaunchOp writer = LaunchMerger::writerOf(value);
    if (!writer || writer.getInit() || writer.getOutputs().size() != 1)
      continue;
    dlx::KernelOp kernel = merger.kernelOf(writer);
    Block &body = kernel.getBodyBlock();
    if ((kernel.getKind() != dlx::KernelKind::map &&
         kernel.getKind() != dlx::KernelKind::contraction) ||
        isKeptOut(body) || !mayStoreSeveral(body))
      continue;
    SmallVector<Value> inputs, kept;
    if (llvm::any_of(value.getUsers(),
                     [&](Operation *user) { return user != writer && user != reader; }))
      kept.push_back(value);
    RankedTensorType before = tensorOf(value);
    if (dl::getDims(before) != dl::getDims(after) ||
        (!kept.empty() && dl::getLayout(before) != dl::getLayout(after)))
      continue;
    SmallVector<BlockArgument> arguments;
    for (auto [input, argument] : llvm::zip(reader.getInputs(), map.getBodyBlock().getArguments()))
      if (input == value)
        arguments.push_back(argument);
    dlx::LaunchOp place = placeFor(writer, reader, value);
    if (!place || !readsAtOwnIndex(map.getBodyBlock(), arguments))
      continue;

    dlx::LaunchOp launches[] = {writer, reader};
    std::string name = (LaunchMerger::withoutNumber(writer.getKernel()) + "_" +
                        LaunchMerger::withoutNumber(reader.getKernel()))
                           .str();
    dlx::KernelOp both = merger.merged(launches, name, kernel.getKind(), inputs, kept);
    if (inputs.size() > kMostInputs || countBodies(both.getBodyBlock()) > kMostBodies) {
      both.erase();
      continue;
    }
    merger.replace(launches, both, inputs, place, kept);
    ++numFused;
    return true;
  }
  return false;
}

void FuseReaders::runOnOperation() {
  // Of the targets, the one whose schedules have such kernels.
  if (getOperation().getName() != "cuda")
    return;
  LaunchMerger merger(getOperation());
  merger.fuseEach([&](dlx::LaunchOp launch) { return fuse(merger, launch); });
}

} // namespace dlc
