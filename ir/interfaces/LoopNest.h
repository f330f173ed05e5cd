//===- LoopNest.h - What an op computes, as loops over its result -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One description serves every consumer: fusion reads the access maps, both targets schedule the
// loops, the interpreter runs them, the cost model counts them.
//
//   for p in parallel:                       // the logical indices of the result
//     for each stage: acc[stage] = combine over r in reduction of term(stage, reads at (p, r),
//     acc[0..stage)) result[p] = result(reads at p, acc)
//
// An op without stages is a map. The result may be wider than the rows that a stage reduces
// (softmax): then the parallel dims that no term reads are `inner`, and the stages run once for
// each combination of the others.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_INTERFACES_LOOPNEST_H
#define DLC_IR_INTERFACES_LOOPNEST_H

#include "ir/dl/base/DLTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallBitVector.h"

namespace dlc {

/// How terms are folded into an accumulator. Max and min propagate NaN. argmax and argmin keep the
/// position (in the row-major order of the reduction dims) of the first largest (smallest) term,
/// the first NaN before all.
enum class Combiner { add, mul, max, min, argmax, argmin };

/// The accumulator is a position.
inline bool givesPosition(Combiner combiner) {
  return combiner == Combiner::argmax || combiner == Combiner::argmin;
}

/// A read of one operand at an affine function of the loop indices, or in some dims at indices that
/// the op computes.
struct Access {
  unsigned operand;
  /// (parallel dims..., reduction dims...)[module symbols] -> logical indices of the operand.
  /// Accesses made when the result is formed have the parallel dims alone.
  mlir::AffineMap map;
  /// Some index may fall outside the operand; such a read gives `fill`.
  bool checked = false;
  double fill = 0.0;
  /// Dims of the operand whose index LoopNestOpInterface::emitCoordinate computes, from loop
  /// indices and from what those accesses before this one read that have none such; `map` gives 0
  /// there. Empty: none. Not `checked` means that it never falls outside.
  llvm::SmallBitVector computed = {};
  /// Of computed indices it is known that no two results read one element: what is read may be
  /// formed there.
  bool readsOnce = false;

  bool isComputed() const { return computed.any(); }
};

struct LoopNest {
  dl::Dims parallel;                     // extents = dims of the result
  dl::Dims reduction;                    // extents
  llvm::SmallVector<Combiner, 2> stages; // empty: a map
  llvm::SmallVector<Access, 4> terms;    // read in every stage
  llvm::SmallVector<Access, 4> results;  // read when the result is formed
  /// Loops whose index the bodies read, parallel dims, then reduction dims (the latter may be left
  /// out where none is read); the others may be vectorised freely.
  llvm::SmallBitVector indexDims;
  /// The result's body reads its indices only through BodyContext::placeIn, so that vectors may
  /// move along the dims of indexDims, too.
  bool readsPlace = false;
  /// Reduction loops of which emitSpan says outside of which indices all terms are neutral, and
  /// what it reads to know: at the parallel indices, none computed or checked.
  llvm::SmallBitVector spanned;
  llvm::SmallVector<Access, 4> spanReads;
  /// How many indices of each reduction loop lie in its span, on average over the results: for the
  /// cost model, where it is known from dims. Empty: as many as the loop has.
  dl::Dims meanSpans;
  /// The term is the product of the two term accesses (in this order) and the only stage is add:
  /// what matrix multipliers compute.
  bool isProduct = false;

  bool isMap() const { return stages.empty(); }
  /// The reduction slides over an operand along some parallel dim: convolution and pooling.
  bool isWindow() const;
  unsigned numLoops() const { return parallel.size() + reduction.size(); }
  bool readsIndex(unsigned loop) const { return loop < indexDims.size() && indexDims.test(loop); }
  bool isSpanned(unsigned loop) const { return loop < spanned.size() && spanned.test(loop); }
  /// The number of channels in a group, where the nest is a product whose result has groups of
  /// channels along `dim`, as a grouped convolution has, the first term has groups of as many
  /// channels, and each sum runs over one of these groups. Otherwise 0.
  int64_t channelsOfGroup(unsigned dim) const;
  /// Some access has computed indices.
  bool hasComputed() const;
  /// Parallel dims that no term depends on: the row's own dims in a softmax. Empty for maps.
  llvm::SmallBitVector innerDims() const;
};

/// What a body may use beside the values that it gets: the place to build in, the loop indices, the
/// extents.
struct BodyContext {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// Index values of the parallel dims; null for a dim not in LoopNest::indexDims.
  llvm::ArrayRef<mlir::Value> parallel;
  /// The value of a dim (an expression over the module's symbols) as an index value.
  llvm::function_ref<mlir::Value(mlir::AffineExpr)> extent;
  /// The same for the reduction dims; empty where the result is formed.
  llvm::ArrayRef<mlir::Value> reduction = {};
  /// The row-major position of the result's element, for bodies with LoopNest::readsPlace: an
  /// index, or a vector with one index for each lane. Null if placeIn has to compute it from
  /// `parallel`.
  mlir::Value place = {};

  /// Returns the row-major position of the element in a result of these dims.
  mlir::Value placeIn(llvm::ArrayRef<mlir::AffineExpr> dims);
  /// A vector of equal lanes, for uniform values (of indices, of extents) that meet a vector.
  mlir::Value splat(mlir::Value scalar, mlir::VectorType type);
  /// The other way: the value that all lanes have. Of accesses on which computed indices depend,
  /// since vectors move along no dim that changes these.
  mlir::Value lane(mlir::Value value);
};

/// Indices from `begin` to before `end` of a loop, of type index; none where `end` is not above
/// `begin`.
struct Span {
  mlir::Value begin, end;
};

/// The type that values of `elementType` have while they are computed: f32 for narrower floats,
/// signless integers of 8 bits or more.
mlir::Type computeType(mlir::Type elementType);

/// (p0, ..., pn)[] -> (p0, ..., pn), the map of an elementwise access.
mlir::AffineMap identityAccess(unsigned rank, mlir::MLIRContext *context);
/// Nest of an op that reads each operand at the result's own index.
LoopNest elementwiseNest(mlir::Operation *op);

} // namespace dlc

#include "ir/interfaces/LoopNestInterface.h.inc"

#endif // DLC_IR_INTERFACES_LOOPNEST_H
