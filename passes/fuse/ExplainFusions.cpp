//===- ExplainFusions.cpp - Why an op is not in the kernel of what it reads -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"
#include "passes/Passes.h"
#include "passes/fuse/LaunchMerger.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "explain-fusions"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_EXPLAINFUSIONS
#include "passes/Passes.h.inc"

namespace {

/// An op that is not in the kernel of an op that it reads. Equal ones differ in no field.
struct Apart {
  Location reader, producer;
  StringRef readerName, producerName;
  std::string why;

  bool operator==(const Apart &other) const = default;
};

class ExplainFusions : public impl::ExplainFusionsBase<ExplainFusions> {
  void runOnOperation() override;

  void explain(ModuleOp target);
  void compare(LaunchMerger &kernels, dlx::LaunchOp writer, dlx::LaunchOp reader, Value buffer,
               StringRef target);
  void note(Apart apart, StringRef target);

  SmallVector<std::pair<Apart, SmallVector<StringRef, 2>>> found; // with its targets
};

} // namespace

/// The places that `loc` was made from: those of a file, possibly named, and those of nodes.
static SmallVector<Location> placesOf(Location loc) {
  SmallVector<Location> places;
  loc->walk([&](Location part) {
    if (!isa<FileLineColLoc, NameLoc>(part))
      return WalkResult::advance();
    places.push_back(part);
    return WalkResult::skip();
  });
  return places;
}

/// The op's place in the model. An op of a kernel that several launches share has the places of all
/// of them.
static Location placeIn(dlx::LaunchOp launch, Operation *op) {
  SmallVector<Location> ours = placesOf(launch.getLoc()), all = placesOf(op->getLoc());
  for (Location place : all)
    if (llvm::is_contained(ours, place))
      return place;
  return all.empty() ? op->getLoc() : all.front();
}

/// The part of a kernel that computes `last`, of those ops that are `inside`.
static FusionGroup groupOf(Operation *last, const llvm::SmallPtrSetImpl<Operation *> &inside) {
  llvm::SetVector<Operation *> ops;
  ops.insert(last);
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands())
      if (Operation *by = operand.getDefiningOp(); by && inside.contains(by))
        ops.insert(by);
  FusionGroup group;
  group.ops.assign(ops.begin(), ops.end());
  llvm::sort(group.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::DenseMap<Operation *, int64_t> bodies; // that the code of the op and of what it reads needs
  for (Operation *op : group.ops) {
    group.isAlone |= standsAlone(op);
    bodies[op] = 1;
    if (isa<dl::AttentionOp>(op))
      group.root = op;
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    if (!loops)
      continue;
    LoopNest nest = loops.getLoopNest();
    if (!nest.isMap())
      group.root = op;
    for (Value operand : llvm::SetVector<Value>(op->operand_begin(), op->operand_end()))
      if (Operation *by = operand.getDefiningOp(); by && inside.contains(by))
        bodies[op] += bodiesRead(op, nest, operand) * bodies.lookup(by);
  }
  group.bodies = bodies.lookup(last);
  return group;
}

/// Puts the bodies of both launches into one block, where the rules of fusion can see them side by
/// side.
void ExplainFusions::compare(LaunchMerger &kernels, dlx::LaunchOp writer, dlx::LaunchOp reader,
                             Value buffer, StringRef target) {
  Block block;
  OpBuilder builder(&getContext());
  builder.setInsertionPointToEnd(&block);
  llvm::DenseMap<Value, Value> values; // of buffers
  llvm::SmallPtrSet<Operation *, 16> inside[2];
  llvm::DenseMap<Operation *, Operation *> originals;
  dlx::LaunchOp launches[2] = {writer, reader};
  for (unsigned side = 0; side < 2; ++side) {
    dlx::LaunchOp launch = launches[side];
    Block &body = kernels.kernelOf(launch).getBodyBlock();
    IRMapping mapping;
    for (auto [input, argument] : llvm::zip(launch.getInputs(), body.getArguments())) {
      Value &value = values[input];
      if (!value)
        value = block.addArgument(argument.getType(), argument.getLoc());
      mapping.map(argument, value);
    }
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      originals[copy] = &op;
      inside[side].insert(copy);
    }
    for (auto [output, result] :
         llvm::zip(launch.getOutputs(), body.getTerminator()->getOperands()))
      values[output] = mapping.lookup(result);
  }
  Value value = values[buffer];
  FusionGroup producer = groupOf(value.getDefiningOp(), inside[0]);
  producer.weightOnly = writer.getInit();
  producer.isStored = llvm::any_of(
      buffer.getUsers(), [&](Operation *user) { return user != writer && user != reader; });
  for (Operation *user : llvm::SetVector<Operation *>(value.user_begin(), value.user_end())) {
    if (!inside[1].contains(user))
      continue;
    FusionGroup consumer = groupOf(user, inside[1]);
    consumer.weightOnly = reader.getInit();
    std::string why;
    if (standsAlone(user)) {
      why = whyAlone(user);
    } else if (auto attention = dyn_cast<dl::AttentionOp>(user)) {
      why = whyNotFuse(producer, value, consumer, attention);
    } else {
      auto loops = cast<LoopNestOpInterface>(user);
      why = whyNotFuse(producer, value, consumer, loops, loops.getLoopNest());
    }
    if (why.empty())
      why = "each is part of a kernel already, and no rule joins the two";
    Operation *made = value.getDefiningOp();
    note({placeIn(reader, originals[user]), placeIn(writer, originals[made]),
          user->getName().stripDialect(), made->getName().stripDialect(), std::move(why)},
         target);
  }
}

/// A line of the model that runs several times gets one remark.
void ExplainFusions::note(Apart apart, StringRef target) {
  auto *known = llvm::find_if(found, [&](const auto &entry) { return entry.first == apart; });
  if (known == found.end())
    found.push_back({std::move(apart), {target}});
  else if (!llvm::is_contained(known->second, target))
    known->second.push_back(target);
}

void ExplainFusions::explain(ModuleOp target) {
  LaunchMerger kernels(target);
  for (auto program : target.getOps<dlx::ProgramOp>())
    for (auto reader : program.getBodyBlock().getOps<dlx::LaunchOp>())
      for (Value buffer :
           llvm::SetVector<Value>(reader.getInputs().begin(), reader.getInputs().end()))
        if (dlx::LaunchOp writer = LaunchMerger::writerOf(buffer))
          compare(kernels, writer, reader, buffer, *target.getName());
}

void ExplainFusions::runOnOperation() {
  found.clear();
  size_t targets = 0;
  for (auto target : getOperation().getOps<ModuleOp>()) {
    explain(target);
    ++targets;
  }
  for (const auto &[apart, where] : found) {
    InFlightDiagnostic remark = emitRemark(apart.reader, "'");
    remark << apart.readerName << "' is not fused with '" << apart.producerName << "'";
    if (where.size() < targets)
      remark << " on " << llvm::join(where, ", ");
    remark << ": " << apart.why;
    remark.attachNote(apart.producer) << "'" << apart.producerName << "' is here";
  }
  markAllAnalysesPreserved();
}

} // namespace dlc
