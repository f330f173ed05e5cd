//===- BodyEmitter.h - Emits what a kernel computes at an index ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule makes loops and places; this class fills them: it emits the value of any tensor of a
// kernel's body at given logical indices, with the maps before and after inlined. How an element
// comes from memory is the target's: it gives a Load. The same calls serve scalars and vectors:
// what Load returns decides.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_BODYEMITTER_H
#define DLC_CODEGEN_PLAN_BODYEMITTER_H

#include "codegen/plan/IndexMath.h"
#include "codegen/plan/KnownAt.h"
#include "ir/analysis/PooledProduct.h"
#include "ir/analysis/RowKernel.h"
#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"
#include "ir/interfaces/LoopNest.h"
#include "ir/scalar/Scalar.h"

#include <functional>

namespace dlc::codegen {

/// The type in memory of elements of a tensor: signless integers, bools as bytes.
mlir::Type storageType(mlir::Type elementType);
/// From storage to compute type and back, on scalars or vectors. Going back rounds once to nearest
/// even.
mlir::Value fromStorage(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                        mlir::Type elementType);
mlir::Value toStorage(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      mlir::Type elementType);

class BodyEmitter {
public:
  /// Reads kernel input `input` at `offset` (elements from the start of its buffer, over loop
  /// variables and symbols) in storage type: one element, or a vector along the loop variable that
  /// the target vectorises.
  using Load = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, unsigned input,
                                         mlir::AffineExpr offset)>;

  BodyEmitter(dlx::KernelOp kernel, IndexMath &math, Load load);
  /// Of a kernel with several ops with stages: the part that ends in `result`, which maps make of
  /// the result of `root`.
  BodyEmitter(dlx::KernelOp kernel, IndexMath &math, Load load, LoopNestOpInterface root,
              mlir::Value result)
      : kernel(kernel), math(math), load(std::move(load)), root(root), nest(root.getLoopNest()),
        results({result}), result(result) {}

  dlx::KernelOp getKernel() const { return kernel; }
  /// The op with stages, null for a map kernel, and its loops (of the result where there is none).
  /// A kernel of rows (ir/analysis/RowKernel.h) has several such ops: getRoot() is the last one,
  /// and getNest() has the loops of all. The root of a pooled product (ir/analysis/PooledProduct.h)
  /// is the product, and its parallel loops are those of the pool and its window.
  LoopNestOpInterface getRoot() const { return root; }
  const LoopNest &getNest() const { return nest; }
  /// The pool of a pooled product, and the elements of its window; null and 1 for all other
  /// kernels.
  LoopNestOpInterface getPool() const { return pooled ? pooled->pool : LoopNestOpInterface(); }
  int64_t getWindow() const { return pooled ? pooled->window : 1; }
  /// The tensors that the kernel writes: one, or several of equal dims and layout, some of them
  /// with one element for each row where the kernel reduces rows. Of a recurrence the first, which
  /// this class emits nothing for.
  llvm::ArrayRef<mlir::Value> getResults() const { return results; }
  /// The one of them that is stored now, by its number: what emitResult and emitMap give.
  void select(unsigned number) {
    selected = number;
    result = results[number];
  }
  unsigned selectedResult() const { return selected; }
  /// Returns true if the kernel reduces rows, and result `number` has one element for each.
  bool isOfRow(unsigned number) const { return rows && rows->results[number].isOfRow; }
  /// The parallel dims as the results lie in memory, outermost first.
  llvm::SmallVector<unsigned> memoryOrder() const;
  mlir::Value getResult() const { return result; }
  mlir::RankedTensorType getResultType() const {
    return llvm::cast<mlir::RankedTensorType>(result.getType());
  }
  /// Positions of the module symbols that the kernel's tensors name, ascending: what must be passed
  /// to it.
  llvm::SmallVector<unsigned> usedSymbols() const;

  /// Where the selected result at `indices`, those of the parallel loops, is stored, in elements
  /// from the start of its buffer, of which it may be a part.
  mlir::AffineExpr resultOffset(llvm::ArrayRef<mlir::AffineExpr> indices) const;
  /// The kernel updates its result in place: getResult is what it writes, which moves with a
  /// position that must be known (bindPlace) where resultOffset is built.
  bool isInPlace() const { return static_cast<bool>(update); }
  /// The kernel writes a part of a buffer: rows of its result need not follow one another there.
  bool storesPart() const { return isInPlace() || dlx::KernelOp(kernel).getPart(); }
  void bindPlace(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::AffineExpr> indices);

  /// Where the element of `tensor` at `indices` is stored, past ops that only move elements: an
  /// input of the kernel, whose indices `indices` become, or a tensor that is computed.
  mlir::Value storedAt(mlir::Value tensor, llvm::SmallVectorImpl<mlir::AffineExpr> &indices) const;
  /// The value, in compute type, of `tensor` at logical `indices`. Within one call of this and of
  /// those below, what several ops of the body read at one index is emitted once.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Value tensor,
                   llvm::ArrayRef<mlir::AffineExpr> indices);
  /// What the root's term access `access` reads at the loop indices (`parallel`, then `reduction`);
  /// no computed ones.
  mlir::Value emitTermRead(mlir::OpBuilder &builder, unsigned access,
                           llvm::ArrayRef<mlir::AffineExpr> loops);
  /// The element, in storage type, that a term reads of `stored`, the tensor of few bits from which
  /// its operand is cast; 0 where the term reads its fill.
  mlir::Value emitStoredRead(mlir::OpBuilder &builder, unsigned access, mlir::Value stored,
                             llvm::ArrayRef<mlir::AffineExpr> loops);
  /// The term of `stage`; `accs` are the finished accumulators of the stages before.
  mlir::Value emitTerm(mlir::OpBuilder &builder, unsigned stage,
                       llvm::ArrayRef<mlir::AffineExpr> parallel,
                       llvm::ArrayRef<mlir::AffineExpr> reduction, mlir::ValueRange accs);
  /// Vectors along `variable` have one span of each of LoopNest::spanned.
  bool sharesSpans(mlir::AffineExpr variable, llvm::ArrayRef<mlir::AffineExpr> parallel) const;
  /// That of reduction loop `loop`, one of these, at `parallel`.
  Span emitSpan(mlir::OpBuilder &builder, unsigned loop, llvm::ArrayRef<mlir::AffineExpr> parallel);
  /// The root's result from finished accumulators, then everything after the root: the kernel's
  /// result in compute type.
  mlir::Value emitResult(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::AffineExpr> parallel,
                         mlir::ValueRange accs);
  /// Of a pooled product: the pool's term from a finished total of the root, at the indices
  /// `parallel` of the nest ...
  mlir::Value emitPoolTerm(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::AffineExpr> parallel,
                           mlir::Value total);
  /// ... and the kernel's result from the terms of a window, combined.
  mlir::Value emitPoolResult(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::AffineExpr> parallel,
                             mlir::Value combined);
  /// How the terms of a window are combined, in which type and kind.
  Combiner poolCombiner() const { return poolNest.stages.front(); }
  mlir::Type poolType() const;
  ScalarKind poolKind() const;
  /// The kernel's result at `indices` for a map kernel.
  mlir::Value emitMap(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::AffineExpr> indices) {
    return emit(builder, result, indices);
  }

  /// How a target whose values are vectors reads where some of their lanes may lie outside.
  /// Without, such lanes are done one by one.
  struct LaneTests {
    /// Which lanes have 0 <= index < extent; null where all have the same index.
    std::function<mlir::Value(mlir::OpBuilder &, mlir::AffineExpr index, mlir::AffineExpr extent)>
        inside;
    /// Calls `read` with these lanes alone in use.
    std::function<mlir::Value(mlir::OpBuilder &, mlir::Value lanes,
                              llvm::function_ref<mlir::Value()> read)>
        within;
    /// Emits `expr`, the place that a body reads (LoopNest::readsPlace): an index, or a vector with
    /// one index for each lane. Empty if the schedule only handles a single place.
    std::function<mlir::Value(mlir::OpBuilder &, mlir::AffineExpr expr)> places;
  };
  std::optional<LaneTests> laneTests;

  /// While it is set: the value of `tensor` at `indices` where the schedule has it already, null
  /// where it has not.
  using Held = std::function<mlir::Value(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr>)>;
  Held held;
  /// What `held` is asked for at term access `access` and these loop indices. Not for accesses
  /// behind a test.
  std::pair<mlir::Value, llvm::SmallVector<mlir::AffineExpr>>
  termAt(unsigned access, llvm::ArrayRef<mlir::AffineExpr> loops) const;

  /// While it is set: of the tensors that `cat` joins number `part` is the one that is read, as it
  /// is where the index along its dim lies in that part.
  struct JoinedPart {
    mlir::Operation *cat;
    unsigned part;
  };
  std::optional<JoinedPart> joinedPart;

  /// Type and kind of the accumulator of `stage`.
  mlir::Type accumulatorType(unsigned stage) const { return computeType(accumulatedType(stage)); }
  ScalarKind accumulatorKind(unsigned stage) const { return scalarKind(accumulatedType(stage)); }

  /// Offset in elements of `type`'s element at logical `indices`, simplified.
  mlir::AffineExpr offset(mlir::RankedTensorType type,
                          llvm::ArrayRef<mlir::AffineExpr> indices) const;

  /// Calls `visit(input, offset, checked)` for each read of memory that emit(tensor, indices) would
  /// make; `checked` where it stands behind a test. Stops and returns false when `visit` does. What
  /// several ops read at one index is visited once.
  using Visit = llvm::function_ref<bool(unsigned input, mlir::AffineExpr offset, bool checked)>;
  bool visitReads(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices, Visit visit) const;
  /// Calls `visit` with each place (LoopNest::readsPlace) that the bodies of emit(result, indices)
  /// would read, of all results. Stops and returns false when `visit` does.
  bool visitPlaces(llvm::ArrayRef<mlir::AffineExpr> indices,
                   llvm::function_ref<bool(mlir::AffineExpr)> visit) const;
  /// The same for emitTerm and for emitResult or emitMap of all results (everything after the root
  /// included).
  bool visitTermReads(llvm::ArrayRef<mlir::AffineExpr> parallel,
                      llvm::ArrayRef<mlir::AffineExpr> reduction, Visit visit) const;
  bool visitResultReads(llvm::ArrayRef<mlir::AffineExpr> parallel, Visit visit) const;
  /// Calls `visit(index, extent)` for each test of the root's own terms that they are inside: 0 <=
  /// index < extent.
  void visitTermTests(llvm::ArrayRef<mlir::AffineExpr> parallel,
                      llvm::ArrayRef<mlir::AffineExpr> reduction,
                      llvm::function_ref<void(mlir::AffineExpr, mlir::AffineExpr)> visit) const;
  /// True where some body reads the index of a result dim that moves along `variable`, or where a
  /// bounds check depends on it that no LaneTests can make: then neighbours along it need different
  /// control and it cannot be a vector.
  bool needsScalarAlong(mlir::AffineExpr variable, llvm::ArrayRef<mlir::AffineExpr> parallel,
                        llvm::ArrayRef<mlir::AffineExpr> reduction) const;
  /// The same of what comes after the root's totals alone.
  bool resultNeedsScalarAlong(mlir::AffineExpr variable,
                              llvm::ArrayRef<mlir::AffineExpr> parallel) const;
  /// The same of what term access `access` of the root reads alone, at the given indices of all
  /// loops.
  bool termNeedsScalarAlong(mlir::AffineExpr variable, unsigned access,
                            llvm::ArrayRef<mlir::AffineExpr> loops) const;

private:
  /// A list of accesses of an op, and the loop indices at which they are made.
  struct Reads {
    LoopNestOpInterface op;
    const LoopNest &nest;
    bool isTerm;
    llvm::ArrayRef<mlir::AffineExpr> loops;

    llvm::ArrayRef<Access> accesses() const { return isTerm ? nest.terms : nest.results; }
    mlir::Value tensor(unsigned access) const {
      return llvm::cast<LoopNestOpInterface>(op)->getOperand(accesses()[access].operand);
    }
  };
  /// Where access number `access` reads. Computed indices are variables, one for each access and
  /// dim.
  llvm::SmallVector<mlir::AffineExpr> indicesOf(const Reads &reads, unsigned access) const;
  mlir::AffineExpr coordinate(const Reads &reads, unsigned access, unsigned dim) const;
  /// The tests without which reading at `indices` could leave `type`: (expression, bound) meaning 0
  /// <= expression < bound.
  struct BoundsTest {
    mlir::AffineExpr index, extent;
    bool low, high; // which side needs the test
  };
  llvm::SmallVector<BoundsTest> boundsTests(const Reads &reads, unsigned access,
                                            llvm::ArrayRef<mlir::AffineExpr> indices) const;
  /// The values of all accesses, then `accs`, of one shape; `emit` builds a body on them.
  using Body =
      llvm::function_ref<mlir::Value(BodyContext &, mlir::ValueRange args, mlir::ValueRange accs)>;
  mlir::Value emitBody(mlir::OpBuilder &builder, const Reads &reads, mlir::ValueRange accs,
                       Body emit);
  mlir::Value read(mlir::OpBuilder &builder, const Reads &reads, unsigned access);
  /// The value of `tensor` at the place of the access: `valueOf` emits it where that is inside,
  /// else it is the access's fill, a number of kind `kind`.
  mlir::Value readInside(
      mlir::OpBuilder &builder, const Reads &reads, unsigned access, ScalarKind kind,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, llvm::ArrayRef<mlir::AffineExpr>)> valueOf);
  /// The loops of a map of the body, of a joined part alone.
  LoopNest nestOf(LoopNestOpInterface op) const;
  bool isJoined(mlir::Operation *op) const { return joinedPart && op == joinedPart->cat; }
  /// emit, as a part of a call.
  mlir::Value valueAt(mlir::OpBuilder &builder, mlir::Value tensor,
                      llvm::ArrayRef<mlir::AffineExpr> indices);
  /// The value is one of the kernel's results and another one is made of it: of what is stored, as
  /// in a kernel of its own.
  bool isReadAsStored(mlir::Value tensor) const;
  mlir::Value valueOfMap(mlir::OpBuilder &builder, LoopNestOpInterface op,
                         llvm::ArrayRef<mlir::AffineExpr> indices);
  void bindCoordinates(BodyContext &context, const Reads &reads, unsigned access,
                       llvm::ArrayRef<mlir::Value> earlier);
  unsigned placedDim() const;
  /// Indices of update's start for the element `indices` of its src.
  llvm::ArrayRef<mlir::AffineExpr> startIndices(llvm::ArrayRef<mlir::AffineExpr> indices) const;
  /// Where an access reads, and behind which tests.
  struct Place {
    llvm::SmallVector<mlir::AffineExpr> indices;
    llvm::SmallVector<BoundsTest> tests;
  };
  Place placeOf(const Reads &reads, unsigned access) const;
  /// A walk over the bodies that a call emits, each once at an index. It ends, and gives false,
  /// where one of its functions does; either may be null.
  struct Walk {
    /// Called for each body with the places at which it reads, before what it reads.
    llvm::function_ref<bool(const Reads &, llvm::ArrayRef<Place>)> enter;
    /// Called for each read of memory.
    Visit load;
    /// The values that were visited, behind a test or not.
    mutable KnownAt<bool> plain = {}, checked = {};
  };
  bool walk(const Walk &walk, const Reads &reads, bool checked = false) const;
  /// The terms of all ops with stages.
  bool walkTerms(const Walk &walk, llvm::ArrayRef<mlir::AffineExpr> parallel,
                 llvm::ArrayRef<mlir::AffineExpr> reduction) const;
  bool walk(const Walk &walk, mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices,
            bool checked = false) const;
  /// The bodies of all results and of everything between them and the root's accumulators.
  bool walkResults(const Walk &walk, llvm::ArrayRef<mlir::AffineExpr> parallel) const;
  /// Neighbours along `variable` need different control for a test of this place, or in this body:
  /// they cannot be lanes of a vector.
  /// Returns the place that the body of an op reads (LoopNest::readsPlace); null if it reads none.
  mlir::AffineExpr placeOf(const Reads &reads) const;
  bool hasLanePlaces() const { return laneTests && laneTests->places; }
  bool splitsLanes(const Place &place, mlir::AffineExpr variable) const;
  bool splitsLanes(const Reads &reads, llvm::ArrayRef<Place> places,
                   mlir::AffineExpr variable) const;

  /// The root's nest with the reads of spans in place of those of the result.
  LoopNest spanNest() const {
    LoopNest spans = nest;
    spans.results = nest.spanReads;
    return spans;
  }
  /// The op's value is not emitted where it is read, but known.
  bool isKnown(mlir::Operation *op) const {
    return (op == root && !rows) || (pooled && op == pooled->pool);
  }
  /// The elements that `stage` accumulates: integer sums and argmax those of the result or of the
  /// operand, floats in their compute type.
  mlir::Type accumulatedType(unsigned stage) const;
  /// The indices of result `number`, those of a window left out.
  llvm::SmallVector<mlir::AffineExpr>
  resultIndices(unsigned number, llvm::ArrayRef<mlir::AffineExpr> parallel) const;
  /// The reduction of rows that `op` is; null if it is none.
  const RowKernel::Reduction *reductionOf(mlir::Operation *op) const {
    return rows ? rows->find(op) : nullptr;
  }
  /// An op with stages, and the number of the first among those of the kernel.
  struct StagedOp {
    LoopNestOpInterface op;
    const LoopNest &nest;
    unsigned firstStage;
  };
  StagedOp ownerOf(unsigned stage) const;
  /// The term access `access` of the nest, at these loop indices of the kernel: the op whose it is,
  /// its number there, and its loops.
  struct Term {
    LoopNestOpInterface op;
    const LoopNest &nest;
    unsigned access;
    llvm::SmallVector<mlir::AffineExpr> loops;

    Reads reads() const { return {op, nest, /*isTerm=*/true, loops}; }
  };
  Term termOf(unsigned access, llvm::ArrayRef<mlir::AffineExpr> loops) const;
  /// The loops of `op`, which has stages, at these of the kernel.
  llvm::SmallVector<mlir::AffineExpr> loopsOf(LoopNestOpInterface op,
                                              llvm::ArrayRef<mlir::AffineExpr> parallel,
                                              llvm::ArrayRef<mlir::AffineExpr> reduction) const;

  dlx::KernelOp kernel;
  IndexMath &math;
  Load load;
  LoopNestOpInterface root;
  LoopNest nest;
  llvm::SmallVector<mlir::Value, 2> results;
  mlir::Value result;
  /// In place: the op at the end of the kernel, and the position from which it writes.
  dl::UpdateSliceOp update;
  mlir::AffineExpr start;
  unsigned selected = 0;
  mlir::Value rootValue; // of the root at the current index, while the ops after it are emitted
  std::optional<PooledProduct> pooled;
  LoopNest poolNest;
  mlir::Value poolValue; // as rootValue, of the pool
  std::optional<RowKernel> rows;
  mlir::ValueRange finished; // of all stages of rows that are done
  /// In the call at hand: values that can be used where the builder is, of tensors with several
  /// uses.
  KnownAt<mlir::Value> emitted;
  /// Variables of computed indices, by op, access (terms are odd) and dim.
  mutable llvm::DenseMap<std::tuple<mlir::Operation *, unsigned, unsigned>, mlir::AffineExpr>
      coordinates;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_BODYEMITTER_H
