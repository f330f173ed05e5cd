//===- ReduceKernel.cpp - One warp or one block for each row ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which a row's terms are combined depends on its length alone: thread t takes terms t, t + T, ..., then
// lanes and warps are combined in a fixed tree. So the same input gives the same bits.
//
// Where several stages read a row (softmax, norms) and it is short enough, each thread keeps its terms in registers: what
// comes before the root is computed once, and memory is read once. Its loops have few rounds and are unrolled fully.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"

#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/reduce/Accumulators.h"
#include "codegen/cuda/schedule/reduce/ReduceLoops.h"
#include "codegen/cuda/schedule/variants/ShapeSamples.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace dlc::codegen {

/// Rows up to this length go to a warp each, longer ones to a block.
static constexpr int64_t kWarpRow = 512;
static constexpr int64_t kWarpsPerBlock = 4; // where each has a row of its own

/// Columns up to this length, and any where there are so many for each multiprocessor, go to a
/// thread each.
static constexpr int64_t kShortColumn = 64, kManyColumns = 32;

/// Terms that a thread keeps of an access. More would spill, and take the device compiler long.
static constexpr int64_t kKeptTerms = 8;
/// Accesses that are kept.
static constexpr size_t kKeptAccesses = 2;

/// The longest row that is kept: larger blocks would have too few registers for it.
static constexpr int64_t kKeptRow = 4096;

/// Threads for a row of `length` terms that keep it.
static int64_t threadsToKeep(int64_t length) {
  return length <= 256 ? 32 : length <= 512 ? 128 : length <= 2048 ? 256 : 512;
}
static_assert(kKeptRow <= kKeptTerms * 512);

namespace {
/// The terms that a thread has of its row: what one access reads.
struct KeptAccess {
  Value tensor;
  SmallVector<AffineExpr> asTerm,
      asInner; // its index in the loop over terms, in that over the row's own dims
  Value array;
  Value current; // at the position of the loop at hand
};

/// How the rows are worked on.
struct RowPlan {
  bool isAcross;   ///< a thread for each row, whose terms lie apart
  int64_t threads; ///< for a row
  int64_t kept;    ///< terms of a row that a thread keeps; 0: none

  static RowPlan of(dlx::PlanAttr plan) {
    return {plan.number("across") != 0, plan.number("threads"), plan.number("kept")};
  }
  dlx::PlanAttr attribute(MLIRContext *context, double ns) const {
    SmallVector<std::pair<StringRef, int64_t>> numbers = {{"threads", threads}};
    if (isAcross)
      numbers.push_back({"across", 1});
    if (kept)
      numbers.push_back({"kept", kept});
    return dlx::PlanAttr::get(context, kReduceSchedule.name, ns, numbers);
  }
};

class ReduceSchedule : ReduceLoops {
public:
  explicit ReduceSchedule(KernelBuilder &k) : ReduceLoops(k), k(k) {}
  /// `isAcross`: the terms of a row lie apart.
  RowPlan plan(bool isAcross) const;
  void run(const RowPlan &plan);
  /// Whether what the terms read is read once more: by another stage, or with the row's own dims by
  /// the results.
  bool isReadAgain() const;

private:
  bool mayKeep() const;
  void keepAccesses();
  SmallVector<Value> keptStage(Accumulator &accumulator, unsigned stage);
  void row();
  /// Calls body(slot, position) for each term that a thread keeps; the position may lie past the end.
  ValueRange overSlots(ValueRange inits, ArrayRef<StringRef> names,
                       llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> body);

  KernelBuilder &k;
  int64_t threadsPerRow = 0;
  int64_t slots = 0;            // terms that a thread keeps; 0: none
  Value end;                    // of the positions, where slots may lie past it
  SmallVector<KeptAccess> kept; // with `slots`
  SmallVector<Value> finished;  // of the stages so far
  Value thread;                 // within the row
};
} // namespace

bool ReduceSchedule::isReadAgain() const {
  if (nest.stages.size() > 1)
    return true;
  if (inner.none() || dl::isConstant(totalExtent(k.math, inners), 1))
    return false;
  llvm::SmallDenseSet<unsigned> inputs;
  k.body.visitTermReads(parallel, reduction, [&](unsigned input, AffineExpr, bool) {
    inputs.insert(input);
    return true;
  });
  bool found = false;
  k.body.visitResultReads(parallel, [&](unsigned input, AffineExpr, bool) {
    found |= inputs.contains(input);
    return true;
  });
  return found;
}

bool ReduceSchedule::mayKeep() const {
  return isReadAgain() && nest.terms.size() <= kKeptAccesses &&
         llvm::none_of(nest.terms,
                       [](const Access &access) { return access.checked || access.isComputed(); });
}

RowPlan ReduceSchedule::plan(bool isAcross) const {
  AffineExpr extent = totalExtent(k.math, reductions);
  // Threads alone read whole lines; warps and blocks are more threads. These win where rows are few and long.
  auto usualRows = usualOrMiddle(totalExtent(k.math, rows), k.ranges()),
       usualTerms = usualOrMiddle(extent, k.ranges());
  if (isAcross && usualTerms && *usualTerms > kShortColumn &&
      (!usualRows || *usualRows < k.gpu(kAmpere).multiprocessors * kManyColumns))
    isAcross = false;
  auto length = k.largest(extent);
  RowPlan plan = {isAcross, isAcross ? 1 : length && *length <= kWarpRow ? 32 : kThreads, 0};
  if (!mayKeep() || !length || *length < 1)
    return plan;
  // Lengths that vary may be far below the largest: threads for that one would be idle.
  bool isFixed = k.smallest(extent) == length;
  if (*length > (isAcross ? kKeptTerms : isFixed ? kKeptRow : kKeptTerms * 32))
    return plan;
  if (!isAcross)
    plan.threads = threadsToKeep(*length);
  plan.kept = llvm::divideCeil(*length, plan.threads);
  return plan;
}

/// Makes room for what the terms read. The row's own dims take the place of the reduction's where they have their extents.
void ReduceSchedule::keepAccesses() {
  SmallVector<AffineExpr> loops(parallel);
  loops.append(reduction.begin(), reduction.end());
  SmallVector<AffineExpr> innerLoops(parallel);
  bool isSameRow = innerOrder.size() == nest.reduction.size();
  for (unsigned i = 0; isSameRow && i < innerOrder.size(); ++i) {
    isSameRow = nest.parallel[innerOrder[i]] == nest.reduction[i];
    innerLoops.push_back(parallel[innerOrder[i]]);
  }
  for (unsigned access = 0; access < nest.terms.size(); ++access) {
    KeptAccess one;
    std::tie(one.tensor, one.asTerm) = k.body.termAt(access, loops);
    if (isSameRow)
      one.asInner = k.body.termAt(access, innerLoops).second;
    Type element = computeType(cast<RankedTensorType>(one.tensor.getType()).getElementType());
    one.array = k.local({slots}, element, "kept");
    kept.push_back(std::move(one));
  }
  k.body.held = [this](Value tensor, ArrayRef<AffineExpr> indices) {
    for (const KeptAccess &one : kept)
      if (one.current && one.tensor == tensor &&
          (indices == ArrayRef(one.asTerm) || indices == ArrayRef(one.asInner)))
        return one.current;
    return Value();
  };
}

ValueRange
ReduceSchedule::overSlots(ValueRange inits, ArrayRef<StringRef> names,
                          llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  return k.loop("j", k.index(0), k.index(slots), 1, inits, names, KernelBuilder::Unroll::full,
                [&](Value slot, ValueRange carried) {
                  Value position = k.named(k.add(k.mul(slot, threadsPerRow), thread), "r");
                  Value isTerm = end ? k.less(position, end) : Value();
                  return k.chooseAll(
                      isTerm, [&] { return body(slot, position, carried); }, carried);
                });
}

SmallVector<Value> ReduceSchedule::keptStage(Accumulator &accumulator, unsigned stage) {
  return overSlots(accumulator.initial(), accumulator.roles(),
                   [&](Value slot, Value position, ValueRange carried) {
                     k.bindFlat(position, reductions);
                     for (KeptAccess &one : kept) {
                       one.current = {};
                       if (stage == 0) {
                         one.current = k.body.emit(k.b, one.tensor, one.asTerm);
                         k.write(one.array, {slot}, one.current);
                       } else {
                         one.current = k.read(one.array, {slot});
                       }
                     }
                     return accumulator.step(carried, position, parallel, reduction, finished);
                   });
}

void ReduceSchedule::row() {
  Value terms = k.index(totalExtent(k.math, reductions));
  if (slots)
    keepAccesses();
  for (unsigned stage = 0; stage < nest.stages.size(); ++stage) {
    Accumulator accumulator(k, stage);
    SmallVector<Value> partial =
        slots ? keptStage(accumulator, stage)
              : SmallVector<Value>(k.loop(
                    "r", thread, terms, threadsPerRow, accumulator.initial(), accumulator.roles(),
                    KernelBuilder::Unroll::automatic, [&](Value position, ValueRange carried) {
                      k.bindFlat(position, reductions);
                      return accumulator.step(carried, position, parallel, reduction, finished);
                    }));
    SmallVector<Value> total = threadsPerRow > 32
                                   ? accumulator.acrossWarps(partial, threadsPerRow / 32, thread)
                                   : accumulator.acrossLanes(partial, threadsPerRow);
    finished.push_back(accumulator.finish(total));
  }
  auto result = [&] {
    k.store(k.resultOffset(parallel), k.body.emitResult(k.b, parallel, finished));
  };
  if (inner.none()) {
    Value isFirst = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq, thread, k.index(0));
    k.when(isFirst, result);
  } else if (slots && !kept.front().asInner.empty()) {
    overSlots({}, {}, [&](Value slot, Value position, ValueRange) -> SmallVector<Value> {
      k.bindFlat(position, inners);
      for (KeptAccess &one : kept)
        one.current = k.read(one.array, {slot});
      result();
      return {};
    });
  } else {
    for (KeptAccess &one : kept)
      one.current = {};
    k.loop("c", thread, k.index(totalExtent(k.math, inners)), threadsPerRow,
           KernelBuilder::Unroll::automatic, [&](Value position) {
             k.bindFlat(position, inners);
             result();
           });
  }
  k.body.held = {};
}

void ReduceSchedule::run(const RowPlan &plan) {
  AffineExpr count = totalExtent(k.math, rows), extent = totalExtent(k.math, reductions);
  threadsPerRow = plan.threads;
  slots = plan.kept;
  auto length = k.largest(extent);
  if (slots && (k.smallest(extent) != length || *length % threadsPerRow != 0))
    end = k.index(extent);
  Value own = k.thread();
  if (plan.isAcross) {
    thread = k.index(0);
    Value first = k.mul(k.block(gpu::Dimension::x, "block"), kThreads);
    Value position = k.named(k.add(first, own), "row");
    k.when(k.less(position, k.index(count)), [&] {
      k.bindFlat(position, rows);
      row();
    });
    return k.finish(kThreads, {k.ceilDiv(count, kThreads)});
  }
  if (threadsPerRow > 32) {
    thread = own;
    k.bindFlat(k.block(gpu::Dimension::x, "row"), rows);
    row();
    return k.finish(threadsPerRow, {count});
  }
  thread = k.named(k.mod(own, k.index(32)), "lane");
  Value first = k.mul(k.block(gpu::Dimension::x, "block"), kWarpsPerBlock);
  Value position = k.named(k.add(first, k.div(own, k.index(32))), "row");
  // The whole warp takes the same way, so its shuffles find every lane.
  k.when(k.less(position, k.index(count)), [&] {
    k.bindFlat(position, rows);
    row();
  });
  k.finish(32 * kWarpsPerBlock, {k.ceilDiv(count, kWarpsPerBlock)});
}

/// Instructions of a warp for each of its terms and each access, for a row beside that, and for what
/// warps of a row tell each other: modelled. A row that is read once more comes from a cache.
static constexpr double kOfTerm = 6, kOfTermApart = 40, kOfRow = 80, kOfWarps = 80,
                        kOfReread = 0.25;

/// Nanoseconds at the usual sizes.
static double nanosecondsOf(PlanQuestion &question, const ReduceSchedule &schedule,
                            const RowPlan &plan) {
  KernelBuilder &k = question.k;
  const LoopNest &nest = k.body.getNest();
  const GpuModel &gpu = k.gpu();
  double multiprocessors = double(gpu.multiprocessors), terms = question.terms(),
         rows = question.results();
  llvm::SmallBitVector inner = nest.innerDims();
  for (unsigned dim : inner.set_bits())
    rows /= std::max(1.0, question.usual(nest.parallel[dim]));
  double warps = std::max<double>(1, double(plan.threads) / 32),
         stages = double(nest.stages.size());
  double rounds = plan.isAcross ? terms : std::ceil(terms / double(plan.threads));
  // Lanes that read apart take a line of the cache each.
  double ofTerm = 0;
  for (unsigned term = 0; term < nest.terms.size(); ++term) {
    bool isApart = standsAcross(k.body, k.math) ||
                   (question.product() && !question.product()->liesAlongReduction(term));
    ofTerm += isApart && !plan.isAcross ? kOfTermApart : kOfTerm;
  }
  double ofWarp = (kOfRow + (warps > 1 ? kOfWarps : 0)) * stages + rounds * ofTerm * stages;
  double threads = rows * double(plan.threads);
  double clocks = std::max(threads / 32 * ofWarp / (multiprocessors * gpu.schedules.issued),
                           kOfRow + rounds * gpu.clocksOfLatency / gpu.schedules.loadsAtOnce);
  double passes = 1;
  if (!plan.kept && schedule.isReadAgain())
    passes += kOfReread * (stages - (inner.none() ? 1 : 0));
  return (question.nanoseconds(2 * gpu.clocksOfLatency) +
          std::max(question.nanoseconds(clocks),
                   question.nanosecondsOnce(gpu.schedules.reduce, passes))) *
         question.timeFactor();
}

static dlx::PlanAttr match(PlanQuestion &question) {
  KernelBuilder &k = question.k;
  const LoopNest &nest = k.body.getNest();
  dlx::KernelKind kind = question.kind();
  bool isContraction = kind == dlx::KernelKind::contraction;
  if (!isContraction && kind != dlx::KernelKind::reduce && kind != dlx::KernelKind::block_sparse)
    return {};
  // A thread by itself leaves out what is neutral; where others would wait for it, nothing is gained.
  if (!k.body.getRoot() || k.body.getPool() || nest.spanned.any())
    return {};
  // The rows of a product: where the second factor lies along the sums.
  if (isContraction && (!question.product() || question.hasSeveralResults() ||
                        !question.product()->liesAlongReduction(1)))
    return {};
  // Without dims of its own a row across memory is one element: the schedule for those serves.
  bool isAcross = standsAcross(k.body, k.math);
  if (isAcross && (isContraction || nest.innerDims().none()))
    return {};
  ReduceSchedule schedule(k);
  RowPlan plan = schedule.plan(isAcross);
  return plan.attribute(question.kernel().getContext(), nanosecondsOf(question, schedule, plan));
}

static double cost(PlanQuestion &question, dlx::PlanAttr attribute) {
  RowPlan plan = RowPlan::of(attribute);
  auto length = question.k.largest(
      dl::product(question.k.body.getNest().reduction, question.kernel().getContext()));
  if (plan.kept && (!length || *length > plan.kept * plan.threads))
    return kNeverServes;
  return nanosecondsOf(question, ReduceSchedule(question.k), plan);
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  ReduceSchedule(k).run(RowPlan::of(plan));
  return success();
}

constinit const Schedule kReduceSchedule = {"reduce", match, build, operandsOfProduct, cost};

} // namespace dlc::codegen
