//===- FusionLegality.h - Which ops may share a kernel, and why others may not ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of the fuse phase. They read what ops declare (LoopNest.h) and name no op but
// dl.attention, which has the loops of several, so that a new op fuses by itself.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_FUSIONLEGALITY_H
#define DLC_IR_ANALYSIS_FUSIONLEGALITY_H

#include "ir/dl/DLOps.h"
#include "ir/interfaces/LoopNest.h"
#include "ir/interfaces/ScheduleOracle.h"

#include <optional>

namespace dlc {

/// Ops that shall be one kernel: the last one's result is the kernel's. At most one has stages or
/// is an attention: the root.
struct FusionGroup {
  llvm::SmallVector<mlir::Operation *> ops; // in program order
  mlir::Operation *root = nullptr;
  /// Nothing in it depends on an argument of the function: it runs once at load.
  bool weightOnly = false;
  /// The op takes in nothing and is taken in by nothing: a recurrence.
  bool isAlone = false;
  /// It makes numbers of weights in few bits, for one reader (ir/analysis/UnpackedWeights.h).
  bool unpacks = false;
  /// It is a dl.cat alone, and no kernel: those that compute its tensors write them where they lie
  /// in its result.
  bool inPlace = false;
  /// Bodies of ops in the kernel's code. Each op has one, and one more wherever its value is read
  /// at an index of its own.
  int64_t bodies = 1;

  /// Counts the bodies of `producer`, whose value the kernel's code computes in so many places.
  void addBodies(const FusionGroup &producer, int64_t places) {
    bodies += places * producer.bodies;
  }
};

/// The op is a kernel of its own.
bool standsAlone(mlir::Operation *op);

/// The op is computed by a kernel, so that it belongs into a fusion; dl.weight and views do not.
bool isFusible(mlir::Operation *op);
/// A dl.reshape whose result has the bytes of its operand (ir/analysis/view/ViewLayout.h), as
/// always between row-major layouts.
bool isView(mlir::Operation *op);
/// The value whose elements `value` is, through views.
mlir::Value pastViews(mlir::Value value);
/// The op copies elements to more places than they have: cheaper to repeat in each reader than to
/// store.
bool isRepetition(mlir::Operation *op);

/// The op gives elements of its one operand at affine indices, unchanged: a slice, a permutation.
bool onlyMoves(mlir::Operation *op);

/// Which values depend on weights and numbers alone. It remembers what it has found, so that asking
/// about all values of a function takes time in proportion to its ops.
class WeightDependence {
public:
  bool dependsOnWeightsAlone(mlir::Value value);
  /// To be called before `op` is erased, since another may come to lie where it was.
  void forget(mlir::Operation *op) { known.erase(op); }

private:
  llvm::DenseMap<mlir::Operation *, bool> known;
};

/// In how many places the code of `reader`, which has the loops `nest`, computes `value`: reads at
/// the same index share one.
int64_t placesRead(mlir::Operation *reader, const LoopNest &nest, mlir::Value value);

/// Why `op`, which stands alone, is a kernel of its own.
dl::NotFused whyAlone(mlir::Operation *op);
/// Why the code of `consumer`, which computes the value of `producer` in so many `places`, would be
/// too long with it, or have too many inputs; nullopt where it would not.
std::optional<dl::NotFused> whyTooLarge(const FusionGroup &producer, const FusionGroup &consumer,
                                        int64_t places);
/// The same of two groups whose kernel has `bodies` bodies.
std::optional<dl::NotFused> whyTooLargeTogether(const FusionGroup &first, const FusionGroup &second,
                                                int64_t bodies);
/// Why `producer`, whose value `value` is, cannot be part of the fusion `consumer` that ends in
/// `reader`; nullopt where it can. `reader`, which has the loops `nest`, reads `value`.
std::optional<dl::NotFused> whyNotFuse(const FusionGroup &producer, mlir::Value value,
                                       const FusionGroup &consumer, LoopNestOpInterface reader,
                                       const LoopNest &nest, const ScheduleOracle &oracle);
/// The same where an attention reads `value`: its body may do so in several places.
std::optional<dl::NotFused> whyNotFuse(const FusionGroup &producer, mlir::Value value,
                                       const FusionGroup &consumer, dl::AttentionOp reader,
                                       const ScheduleOracle &oracle);

/// Why `reader`, which ends the fusion `consumer` and has the loops `nest`, cannot compute `value`
/// by a copy of `producer`, a map, that is its own; nullopt where it can.
std::optional<dl::NotFused> whyNotCompute(const FusionGroup &producer, mlir::Value value,
                                          const FusionGroup &consumer, LoopNestOpInterface reader,
                                          const LoopNest &nest, const ScheduleOracle &oracle);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_FUSIONLEGALITY_H
