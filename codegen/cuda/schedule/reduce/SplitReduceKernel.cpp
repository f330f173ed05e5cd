//===- SplitReduceKernel.cpp - Few long rows: many blocks for each ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One cooperative launch. In each stage every block (across memory: every thread) reduces its part
// of a row into a word of the memory that blocks exchange; after a meeting of the grid all parts of
// a row are combined, in a fixed tree. The parts depend on the shape alone, so the same input gives
// the same bits on every GPU, whatever blocks take them.
//
// Rows along memory: a part is consecutive terms of one row, and each block combines the parts of
// its row itself. Across memory: thread t has every p-th term of row t mod rows, so that
// neighbouring threads read neighbouring elements; a block for each row, or where there are many a
// warp, combines the parts, and what they found goes through that memory as well.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Lanes.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/reduce/Accumulators.h"
#include "codegen/cuda/schedule/reduce/ReduceChoice.h"
#include "codegen/cuda/schedule/reduce/ReduceLoops.h"
#include "ir/analysis/CostModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::codegen {

/// Words of 64 bits before the parts.
static constexpr int64_t kCounterWords = abi::kExchangeCounterBytes / 8;

/// Values of the accumulator of a stage.
static unsigned componentsOf(Combiner combiner) { return givesPosition(combiner) ? 2 : 1; }

namespace {
class SplitReduceSchedule : ReduceLoops {
public:
  SplitReduceSchedule(KernelBuilder &k, const RowShare &share)
      : ReduceLoops(k), k(k), share(share), exchange(k.exchange(words(), k.b.getI64Type())) {}
  void runAlong();
  void runAcross(int64_t mostRows);

private:
  /// Words of the memory: the counters, the parts of all stages, and the totals.
  AffineExpr words() const;
  void forItems(StringRef role, Value first, Value end, int64_t ofBlock,
                llvm::function_ref<void(Value)> body);
  /// The type of component `component` of the accumulator of `stage`.
  Type typeOf(unsigned stage, unsigned component) const;
  /// The same of a finished accumulator.
  Type totalType(unsigned stage) const {
    return typeOf(stage, givesPosition(nest.stages[stage]) ? 1 : 0);
  }
  ScalarKind kindOf(unsigned stage, unsigned component) const {
    return component == 1 ? ScalarKind::signedInt : k.body.accumulatorKind(stage);
  }
  Value partAt(unsigned stage, unsigned component, Value row, Value part);
  Value totalAt(unsigned stage, Value row);
  void put(Value at, Value value, ScalarKind kind);
  Value take(Value at, Type type);
  /// Waits for all blocks.
  void meet() { k.gridBarrier(exchange); }
  /// Reduces terms first, first + step, ... below `end` of the row that is bound, each with its
  /// neighbours of an access.
  SmallVector<Value> reduce(Accumulator &accumulator, Value first, Value end, int64_t step);
  void putParts(unsigned stage, Value row, Value part, ValueRange values);
  /// All parts of a row as one, by threads `thread` = 0, 1, ... of a warp or of a whole block.
  SmallVector<Value> combineParts(unsigned stage, Accumulator &accumulator, Value row, Value thread,
                                  int64_t threads);
  void storeResult() {
    k.store(k.resultOffset(parallel), k.body.emitResult(k.b, parallel, finished));
  }
  Value isZero(Value value) {
    return arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq, value, k.index(0));
  }
  /// Part `part` of [0, extent) in consecutive pieces, each but the last a multiple of `unit`.
  std::pair<Value, Value> piece(AffineExpr extent, Value part, int64_t unit);

  KernelBuilder &k;
  RowShare share;
  int64_t lanes = 1; // neighbouring terms that a thread reads at once
  Value exchange;
  SmallVector<Value> finished;
};
} // namespace

AffineExpr SplitReduceSchedule::words() const {
  int64_t ofRow = 0;
  for (Combiner combiner : nest.stages)
    ofRow += componentsOf(combiner) * share.parts + 1;
  return dl::normalize(totalExtent(k.math, rows) * ofRow + kCounterWords);
}

Type SplitReduceSchedule::typeOf(unsigned stage, unsigned component) const {
  return component == 1 ? k.b.getI64Type() : k.body.accumulatorType(stage);
}

/// [stage][component][row][part]; totals, [stage][row], lie behind.
Value SplitReduceSchedule::partAt(unsigned stage, unsigned component, Value row, Value part) {
  AffineExpr count = totalExtent(k.math, rows);
  unsigned before = component;
  for (unsigned other = 0; other < stage; ++other)
    before += componentsOf(nest.stages[other]);
  Value base = k.index(dl::normalize(count * (before * share.parts) + kCounterWords));
  return k.add(base, k.add(k.mul(row, share.parts), part));
}

Value SplitReduceSchedule::totalAt(unsigned stage, Value row) {
  AffineExpr count = totalExtent(k.math, rows);
  unsigned parts = 0;
  for (Combiner combiner : nest.stages)
    parts += componentsOf(combiner);
  return k.add(k.index(dl::normalize(count * (parts * share.parts + stage) + kCounterWords)), row);
}

void SplitReduceSchedule::put(Value at, Value value, ScalarKind kind) {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(k.b, k.loc, k.b.getIntegerType(bits), value);
  if (bits < 64 && kind == ScalarKind::boolean)
    value = arith::ExtUIOp::create(k.b, k.loc, k.b.getI64Type(), value);
  else if (bits < 64)
    value = arith::ExtSIOp::create(k.b, k.loc, k.b.getI64Type(), value);
  k.write(exchange, {at}, value);
}

Value SplitReduceSchedule::take(Value at, Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  Value value = k.read(exchange, {at});
  if (bits < 64)
    value = arith::TruncIOp::create(k.b, k.loc, k.b.getIntegerType(bits), value);
  return isa<FloatType>(type) ? arith::BitcastOp::create(k.b, k.loc, type, value).getResult()
                              : value;
}

SmallVector<Value> SplitReduceSchedule::reduce(Accumulator &accumulator, Value first, Value end,
                                               int64_t step) {
  return SmallVector<Value>(k.loop(
      "r", first, end, step, accumulator.initial(), accumulator.roles(),
      KernelBuilder::Unroll::automatic, [&](Value position, ValueRange carried) {
        k.bindFlat(position, reductions);
        if (lanes == 1)
          return accumulator.step(carried, position, parallel, reduction, finished);
        const DimGroup &last = reductions.back();
        LaneRange range(k, lanes, last.variable, last.extent, k.index(last.variable));
        return SmallVector<Value>(
            overLanes(k, range, carried, accumulator.roles(), [&](Value lane, ValueRange inner) {
              return accumulator.step(inner, k.add(position, lane), parallel, reduction, finished);
            }));
      }));
}

void SplitReduceSchedule::putParts(unsigned stage, Value row, Value part, ValueRange values) {
  for (auto [component, value] : llvm::enumerate(values))
    put(partAt(stage, component, row, part), value, kindOf(stage, component));
}

SmallVector<Value> SplitReduceSchedule::combineParts(unsigned stage, Accumulator &accumulator,
                                                     Value row, Value thread, int64_t threads) {
  auto partial = k.loop(
      "p", thread, k.index(share.parts), threads, accumulator.initial(), accumulator.roles(),
      KernelBuilder::Unroll::automatic, [&](Value part, ValueRange carried) {
        SmallVector<Value> values;
        for (unsigned component = 0; component < carried.size(); ++component)
          values.push_back(take(partAt(stage, component, row, part), typeOf(stage, component)));
        return accumulator.combineWith(carried, values);
      });
  return threads == 32 ? accumulator.acrossLanes(partial, 32)
                       : accumulator.acrossWarps(partial, threads / 32, thread);
}

std::pair<Value, Value> SplitReduceSchedule::piece(AffineExpr extent, Value part, int64_t unit) {
  Value length = k.index(dl::normalize(extent.ceilDiv(share.parts * unit) * unit));
  Value first = k.mul(part, length);
  Value last = k.named(arith::MinSIOp::create(k.b, k.loc, k.add(first, length), k.index(extent)),
                       "piece_end");
  return {first, last};
}

/// body(item) for the items below `end` that are this block's, one after another. All threads of
/// the block come along.
void SplitReduceSchedule::forItems(StringRef role, Value first, Value end, int64_t ofBlock,
                                   llvm::function_ref<void(Value)> body) {
  Value blocks = gpu::GridDimOp::create(k.b, k.loc, gpu::Dimension::x);
  k.loop(role, first, end, k.mul(blocks, ofBlock), {}, {}, KernelBuilder::Unroll::never,
         [&](Value item, ValueRange) -> SmallVector<Value> {
           body(item);
           return {};
         });
}

void SplitReduceSchedule::runAlong() {
  lanes = lanesOfTerms(k);
  AffineExpr count = dl::normalize(totalExtent(k.math, rows) * share.parts);
  Value thread = k.thread(), block = k.block(gpu::Dimension::x, "block");
  Value lane = k.named(k.mod(thread, k.index(32)), "lane");
  // Calls body(row, part) for each part of the block, the row's dims and the stages before `stages`
  // bound.
  auto ours = [&](unsigned stages, llvm::function_ref<void(Value row, Value part)> body) {
    forItems("item", block, k.index(count), 1, [&](Value item) {
      Value row = k.named(k.div(item, k.index(share.parts)), "row"),
            part = k.named(k.mod(item, k.index(share.parts)), "part");
      k.bindFlat(row, rows);
      finished.clear();
      for (unsigned stage = 0; stage < stages; ++stage) {
        Accumulator accumulator(k, stage);
        finished.push_back(accumulator.finish(combineParts(stage, accumulator, row, lane, 32)));
      }
      body(row, part);
    });
  };
  for (unsigned stage = 0; stage < nest.stages.size(); ++stage) {
    ours(stage, [&](Value row, Value part) {
      auto [first, end] = piece(totalExtent(k.math, reductions), part, lanes);
      Accumulator accumulator(k, stage);
      SmallVector<Value> own =
          reduce(accumulator, k.add(first, k.mul(thread, lanes)), end, kPartThreads * lanes);
      own = accumulator.acrossWarps(own, kPartThreads / 32, thread);
      k.when(isZero(thread), [&] { putParts(stage, row, part, own); });
      k.barrier(); // the next part's warps write where these were read
    });
    meet();
  }
  ours(nest.stages.size(), [&](Value, Value part) {
    if (inner.none())
      return k.when(k.both(isZero(part), isZero(thread)), [&] { storeResult(); });
    int64_t stored = storesLanes(k, lanes) ? lanes : 1;
    auto [from, to] = piece(totalExtent(k.math, inners), part, stored);
    k.loop("c", k.add(from, k.mul(thread, stored)), to, kPartThreads * stored,
           KernelBuilder::Unroll::automatic, [&](Value position) {
             k.bindFlat(position, inners);
             if (stored == 1)
               return storeResult();
             const DimGroup &last = inners.back();
             storeLanes(k, lanes, last.variable, last.extent, k.index(last.variable), parallel,
                        [&](Value) { return k.body.emitResult(k.b, parallel, finished); });
           });
  });
  k.finish(kPartThreads, {count});
}

void SplitReduceSchedule::runAcross(int64_t mostRows) {
  AffineExpr count = totalExtent(k.math, rows), terms = totalExtent(k.math, reductions);
  Value thread = k.thread(), block = k.block(gpu::Dimension::x, "block");
  Value flat = k.named(k.add(k.mul(block, kPartThreads), thread), "flat");
  Value lane = k.named(k.mod(thread, k.index(32)), "lane"),
        warp = k.named(k.div(flat, k.index(32)), "warp_of_grid");
  auto bindRow = [&](Value row, unsigned stages) {
    k.bindFlat(row, rows);
    finished.clear();
    for (unsigned stage = 0; stage < stages; ++stage)
      finished.push_back(take(totalAt(stage, row), totalType(stage)));
  };
  // Calls body(row, part) for each part of the thread, the row's dims and the stages before
  // `stages` bound.
  auto ours = [&](unsigned stages, llvm::function_ref<void(Value row, Value part)> body) {
    forItems("item", flat, k.index(dl::normalize(count * share.parts)), kPartThreads,
             [&](Value item) {
               Value row = k.named(k.mod(item, k.index(count)), "row"),
                     part = k.named(k.div(item, k.index(count)), "part");
               bindRow(row, stages);
               body(row, part);
             });
  };
  for (unsigned stage = 0; stage < nest.stages.size(); ++stage) {
    bool isLast = stage + 1 == nest.stages.size() && inner.none();
    Accumulator accumulator(k, stage);
    ours(stage, [&](Value row, Value part) {
      putParts(stage, row, part, reduce(accumulator, part, k.index(terms), share.parts));
    });
    meet();
    auto combine = [&](Value row, Value member, int64_t members) {
      Value total = accumulator.finish(combineParts(stage, accumulator, row, member, members));
      k.when(isZero(member), [&] {
        if (!isLast)
          return put(totalAt(stage, row), total,
                     kindOf(stage, givesPosition(nest.stages[stage]) ? 1 : 0));
        bindRow(row, stage);
        finished.push_back(total);
        storeResult();
      });
    };
    if (mostRows <= share.blocks)
      forItems("row", block, k.index(count), 1, [&](Value row) {
        combine(row, thread, kPartThreads);
        k.barrier(); // the next row's warps write where these were read
      });
    else
      forItems("row", warp, k.index(count), kPartThreads / 32,
               [&](Value row) { combine(row, lane, 32); });
    if (!isLast)
      meet();
  }
  if (inner.any())
    ours(nest.stages.size(), [&](Value, Value part) {
      k.loop("c", part, k.index(totalExtent(k.math, inners)), share.parts,
             KernelBuilder::Unroll::automatic, [&](Value position) {
               k.bindFlat(position, inners);
               storeResult();
             });
    });
  k.finish(kPartThreads, {k.math.constant(share.blocks)});
}

//===- The choice -----------------------------------------------------------------------------===//

/// What the rule asks for; no rows where it cannot be told.
static ReduceShape shapeOf(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols) {
  IndexMath math(kernel.getContext(), symbols);
  BodyEmitter body(kernel, math, {});
  const LoopNest &nest = body.getNest();
  llvm::SmallBitVector inner = nest.innerDims();
  AffineExpr rows = math.constant(1);
  for (unsigned dim = 0; dim < nest.parallel.size(); ++dim)
    if (!inner.test(dim))
      rows = rows * nest.parallel[dim];
  auto most = dl::rangeOf(dl::normalize(rows), symbols);
  auto terms = usualOrMiddle(dl::product(nest.reduction, kernel.getContext()), symbols);
  // How many terms there are where some are left out, the data say.
  if (!most || !terms || nest.reduction.empty() || nest.spanned.any())
    return {0, 0, false};
  return {most->max, *terms, standsAcross(body, math)};
}

static double nanosecondsOf(PlanQuestion &question, const RowShare &share) {
  // Each stage reads the rows anew, and so does what makes of them a result with the rows' dims.
  const LoopNest &nest = question.k.body.getNest();
  const ScheduleRates &rates = question.k.gpu().schedules;
  double stages = double(nest.stages.size());
  double passes = nest.innerDims().any() ? (stages + 2) / 2 : stages;
  return question.nanoseconds(rates.gridMeeting * stages) +
         question.nanosecondsOnce(
             rates.splitReduce * std::min(1.0, double(share.blocks) / kMostBlocks), passes);
}

static double cost(PlanQuestion &question, dlx::PlanAttr plan) {
  return nanosecondsOf(question, {plan.number("parts"), plan.number("blocks")});
}

static dlx::PlanAttr match(PlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::reduce)
    return {};
  KernelBuilder &k = question.k;
  RowShare share = chooseRowShare(shapeOf(question.kernel(), k.ranges()), k.gpu(kAmpere));
  if (!share.isCut() || !k.mayExchange())
    return {};
  return dlx::PlanAttr::get(question.kernel().getContext(), kSplitReduceSchedule.name,
                            nanosecondsOf(question, share),
                            {{"parts", share.parts}, {"blocks", share.blocks}});
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  ReduceShape shape = shapeOf(k.body.getKernel(), k.ranges());
  SplitReduceSchedule schedule(k, {plan.number("parts"), plan.number("blocks")});
  k.body.getKernel().setCooperative(true);
  k.makePersistent(); // a small GPU has fewer blocks, each of which takes more parts
  shape.isAcross ? schedule.runAcross(shape.rows) : schedule.runAlong();
  return success();
}

constinit const Schedule kSplitReduceSchedule = {"split_reduce", match, build, nullptr, cost};

} // namespace dlc::codegen
