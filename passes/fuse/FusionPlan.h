//===- FusionPlan.h - Which ops share a kernel, and in which order kernels run ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of form-fusions share this. Producers go into their consumers first; the plan is made
// of the groups that this leaves. Later steps join two of them where no path leads from one to the
// other through a third, and keep the plan in an order in which every group comes after what it
// reads.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_FUSE_FUSIONPLAN_H
#define DLC_PASSES_FUSE_FUSIONPLAN_H

#include "ir/analysis/FusionLegality.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

#include <deque>

namespace dlc {

/// Why ops that read other ops are not in one group with them: by the reader and the value.
using FusionEdges = llvm::DenseMap<std::pair<mlir::Operation *, mlir::Value>, dl::NotFused>;

/// A group of the plan. An op that no kernel computes (a weight, a view, a dl.cat whose tensors are
/// written in place, the return) is one by itself.
struct PlannedFusion : FusionGroup {
  bool isKernel = false;
  /// The values that the kernel stores, the result of the last op first.
  llvm::SmallVector<mlir::Value, 2> results;
  /// Ops and inputs are ordered as the results ask for them, so that joined groups that compute the
  /// same look the same.
  bool isJoined = false;
  /// Its ops reduce the same rows (ir/analysis/RowKernel.h), or make maps of these.
  bool isOfRows = false;
  /// The state that the group updates where it lies; everything else that reads the state comes
  /// before the group.
  mlir::Value updated;
  /// Why a state is copied and not updated where it lies.
  std::string whyCopied;

  /// Values that ops of the group read and others compute.
  llvm::SetVector<mlir::Value> inputs() const;

private:
  friend class FusionPlan;
  size_t position = 0; // in the plan's order
  unsigned visit = 0;  // the last search that has seen the group
};

class FusionPlan {
public:
  /// The ops of `block` in their order, those of kernels in `groups`, which are ordered by their
  /// last ops.
  FusionPlan(mlir::Block &block, llvm::ArrayRef<FusionGroup> groups);

  /// The groups so that each comes after those that it depends on. One that another has taken in
  /// has no ops.
  llvm::ArrayRef<PlannedFusion *> getOrder() const { return order; }
  /// The group that computes `value`; null for an argument.
  PlannedFusion *groupOf(mlir::Value value) const { return groupOf(value.getDefiningOp()); }
  PlannedFusion *groupOf(mlir::Operation *op) const { return owners.lookup(op); }
  /// Returns true if a group other than `groups` reads `value`, or the model returns it.
  bool isReadByOthers(mlir::Value value, llvm::ArrayRef<PlannedFusion *> groups) const;

  /// Returns true if the one result of `group` is written where it lies in a dl.cat, whose kernels
  /// neither store another nor read what else they may write there.
  bool writesPart(const PlannedFusion &group) const;
  /// Returns true if `group` reads a tensor that is written where it lies in a dl.cat.
  bool readsPart(const PlannedFusion &group) const;

  /// Returns true if `group` comes before `other` in the order.
  bool isBefore(const PlannedFusion &group, const PlannedFusion &other) const {
    return group.position < other.position;
  }
  /// Returns true if `later` depends on `earlier`, perhaps through others.
  bool depends(PlannedFusion &later, PlannedFusion &earlier);
  /// The same through a third group: the two cannot be one.
  bool dependsThroughOther(PlannedFusion &later, PlannedFusion &earlier);

  /// Makes one group of two, which stores `results`. `reader` does not depend on `writer` through
  /// others.
  void join(PlannedFusion &writer, PlannedFusion &reader, llvm::ArrayRef<mlir::Value> results);
  /// Gives the group that makes `read` a copy of `writer`, a map, whose one result it reads there,
  /// so that it computes the value itself. `copies` says of what each copy is one.
  void copyInto(const PlannedFusion &writer, mlir::OpOperand &read, mlir::IRMapping &copies);
  /// Erases `group`, whose results nothing reads any more, and its ops.
  void erase(PlannedFusion &group);
  /// Lets `group` write its result where `state` lies, after all others that read the state. None
  /// of these depends on the group.
  void updateInPlace(PlannedFusion &group, mlir::Value state);
  /// The ops that read `state`, an argument, also through views.
  llvm::SmallVector<mlir::Operation *> readersOf(mlir::Value state) const;

private:
  /// The op is outside of kernels, and its result is its operand under other dims.
  bool isViewOfPlan(mlir::Operation *op) const;
  void forEachPredecessor(const PlannedFusion &group,
                          llvm::function_ref<void(PlannedFusion &)> visit) const;
  bool hasSuccessorBefore(const PlannedFusion &group, const PlannedFusion &end) const;
  bool reaches(llvm::ArrayRef<PlannedFusion *> open, PlannedFusion &earlier);
  void moveBefore(PlannedFusion &group, PlannedFusion &mark);
  void number(size_t begin, size_t end);

  std::deque<PlannedFusion> storage;
  std::vector<PlannedFusion *> order;
  llvm::DenseMap<mlir::Operation *, PlannedFusion *> owners;
  llvm::DenseMap<mlir::Value, PlannedFusion *> updates; // by the state
  unsigned visits = 0;
  /// The group that was asked about last, and some that depend on it.
  PlannedFusion *known = nullptr;
  llvm::DenseSet<PlannedFusion *> dependents;
};

} // namespace dlc

#endif // DLC_PASSES_FUSE_FUSIONPLAN_H
