//===- FusionPlan.cpp - Which ops share a kernel, and in which order kernels run ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/fuse/FusionPlan.h"

#include "ir/analysis/view/ViewLayout.h"

using namespace mlir;

namespace dlc {

llvm::SetVector<Value> PlannedFusion::inputs() const {
  llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, ops);
  llvm::SetVector<Value> inputs;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        inputs.insert(operand);
  return inputs;
}

FusionPlan::FusionPlan(Block &block, ArrayRef<FusionGroup> groups) {
  llvm::DenseMap<Operation *, const FusionGroup *> kernels; // by the last op
  llvm::DenseSet<Operation *> inner;
  for (const FusionGroup &group : groups) {
    kernels[group.ops.back()] = &group;
    inner.insert_range(ArrayRef(group.ops).drop_back());
  }
  for (Operation &op : block) {
    if (inner.contains(&op))
      continue; // in the group of a later op
    const FusionGroup *kernel = kernels.lookup(&op);
    PlannedFusion &group = storage.emplace_back();
    if (kernel)
      static_cast<FusionGroup &>(group) = *kernel;
    else
      group.ops = {&op};
    group.isKernel = kernel != nullptr;
    llvm::append_range(group.results, op.getResults());
    for (Operation *member : group.ops)
      owners[member] = &group;
    order.push_back(&group);
  }
  number(0, order.size());
}

void FusionPlan::number(size_t begin, size_t end) {
  for (size_t position = begin; position < end; ++position)
    order[position]->position = position;
}

bool FusionPlan::isReadByOthers(Value value, ArrayRef<PlannedFusion *> groups) const {
  return llvm::any_of(value.getUsers(),
                      [&](Operation *user) { return !llvm::is_contained(groups, groupOf(user)); });
}

bool FusionPlan::writesPart(const PlannedFusion &group) const {
  return llvm::any_of(group.results.front().getUsers(),
                      [&](Operation *user) { return groupOf(user)->inPlace; });
}

bool FusionPlan::readsPart(const PlannedFusion &group) const {
  return llvm::any_of(group.inputs(), [&](Value input) {
    PlannedFusion *producer = groupOf(input);
    return producer && producer->isKernel && !producer->inPlace &&
           llvm::is_contained(producer->results, input) && producer->results.size() == 1 &&
           writesPart(*producer);
  });
}

bool FusionPlan::isViewOfPlan(Operation *op) const {
  return keepsBytes(op) && !groupOf(op)->isKernel;
}

SmallVector<Operation *> FusionPlan::readersOf(Value state) const {
  SmallVector<Operation *> readers;
  for (Operation *user : state.getUsers()) {
    if (isViewOfPlan(user))
      llvm::append_range(readers, readersOf(user->getResult(0)));
    else
      readers.push_back(user);
  }
  return readers;
}

/// Groups that come before `group`: those that compute what it reads, and those that read the state
/// that it writes.
void FusionPlan::forEachPredecessor(const PlannedFusion &group,
                                    function_ref<void(PlannedFusion &)> visit) const {
  auto call = [&](PlannedFusion *other) {
    if (other && other != &group)
      visit(*other);
  };
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      call(groupOf(operand));
  if (group.updated)
    for (Operation *reader : readersOf(group.updated))
      call(groupOf(reader));
}

/// Some group between `group` and `end` in the order comes after `group` for a reason.
bool FusionPlan::hasSuccessorBefore(const PlannedFusion &group, const PlannedFusion &end) const {
  auto isBetween = [&](PlannedFusion *other) {
    return other && other != &group && other->position < end.position;
  };
  for (Operation *op : group.ops) {
    for (Operation *user : op->getUsers())
      if (isBetween(groupOf(user)))
        return true;
    for (Value operand : op->getOperands()) {
      while (operand.getDefiningOp() && isViewOfPlan(operand.getDefiningOp()))
        operand = operand.getDefiningOp()->getOperand(0);
      if (isBetween(updates.lookup(operand)))
        return true;
    }
  }
  return false;
}

/// Returns true if a group in `open` depends on `earlier`. Only those after `earlier` in the order
/// can. What depends on it goes on doing so whatever is joined, and the next questions are often
/// about the same group.
bool FusionPlan::reaches(ArrayRef<PlannedFusion *> open, PlannedFusion &earlier) {
  if (open.empty())
    return false;
  if (std::exchange(known, &earlier) != &earlier)
    dependents.clear();
  ++visits;
  static constexpr size_t kNone = -1;
  SmallVector<std::pair<PlannedFusion *, size_t>> seen; // and by way of which one of these
  for (PlannedFusion *group : open)
    seen.push_back({group, kNone});
  for (size_t next = 0; next < seen.size(); ++next) {
    bool isFound = dependents.contains(seen[next].first);
    forEachPredecessor(*seen[next].first, [&](PlannedFusion &group) {
      isFound |= &group == &earlier;
      if (group.position > earlier.position && std::exchange(group.visit, visits) != visits)
        seen.push_back({&group, next});
    });
    if (!isFound)
      continue;
    for (size_t on = next; on != kNone; on = seen[on].second)
      dependents.insert(seen[on].first);
    return true;
  }
  return false;
}

bool FusionPlan::depends(PlannedFusion &later, PlannedFusion &earlier) {
  return reaches({&later}, earlier);
}

bool FusionPlan::dependsThroughOther(PlannedFusion &later, PlannedFusion &earlier) {
  SmallVector<PlannedFusion *> open;
  forEachPredecessor(later, [&](PlannedFusion &group) {
    if (group.position > earlier.position)
      open.push_back(&group);
  });
  return reaches(open, earlier);
}

/// Moves `group`, and those between `mark` and it that it depends on, to before `mark`. None of
/// them depends on `mark`, but that `group` itself may.
void FusionPlan::moveBefore(PlannedFusion &group, PlannedFusion &mark) {
  size_t begin = mark.position, end = group.position + 1;
  group.visit = ++visits;
  SmallVector<PlannedFusion *> open = {&group};
  while (!open.empty())
    forEachPredecessor(*open.pop_back_val(), [&](PlannedFusion &other) {
      if (other.position > begin && std::exchange(other.visit, visits) != visits)
        open.push_back(&other);
    });
  SmallVector<PlannedFusion *> rest;
  auto next = order.begin() + begin;
  for (PlannedFusion *other : llvm::to_vector(llvm::ArrayRef(order).slice(begin, end - begin)))
    if (other->visit == visits)
      *next++ = other;
    else
      rest.push_back(other);
  llvm::copy(rest, next);
  number(begin, end);
}

void FusionPlan::join(PlannedFusion &writer, PlannedFusion &reader, ArrayRef<Value> results) {
  assert(!writer.updated && !reader.updated && "an update in place has one result");
  // Both run where the reader does, unless some group waits for the writer before that.
  if (hasSuccessorBefore(writer, reader))
    moveBefore(reader, writer);
  for (Operation *op : writer.ops)
    owners[op] = &reader;
  reader.ops.insert(reader.ops.begin(), writer.ops.begin(), writer.ops.end());
  if (writer.root)
    reader.root = writer.root;
  reader.addBodies(writer, results.size());
  reader.results.assign(results.begin(), results.end());
  reader.isJoined = true;
  writer.ops.clear();
  writer.results.clear();
}

void FusionPlan::copyInto(const PlannedFusion &writer, OpOperand &read, IRMapping &copies) {
  auto reader = cast<LoopNestOpInterface>(read.getOwner());
  PlannedFusion &group = *groupOf(reader);
  OpBuilder builder(reader);
  SmallVector<Operation *> ops;
  for (Operation *op : writer.ops) {
    ops.push_back(builder.clone(*op, copies));
    owners[ops.back()] = &group;
  }
  group.addBodies(writer, placesRead(reader, reader.getLoopNest(), read.get()));
  group.ops.insert(group.ops.begin(), ops.begin(), ops.end());
  group.isJoined = true;
  read.set(copies.lookup(read.get()));
}

void FusionPlan::erase(PlannedFusion &group) {
  for (Operation *op : llvm::reverse(group.ops)) {
    owners.erase(op);
    op->erase();
  }
  group.ops.clear();
  group.results.clear();
}

void FusionPlan::updateInPlace(PlannedFusion &group, Value state) {
  for (Operation *op : readersOf(state))
    if (PlannedFusion *reader = groupOf(op); reader->position > group.position)
      moveBefore(*reader, group);
  group.updated = state;
  updates[state] = &group;
}

} // namespace dlc
