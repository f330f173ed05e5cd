//===- ScatterKernel.cpp - Updates of lines -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each place gets its updates in the order in which they stand, whichever thread makes them: no two
// threads write one place between two barriers, so nothing is atomic and sums have the same bits
// each time, those of the CPU.
//
//   lines that stand side by side in memory: a thread for each, and a part of its places, walks
//   over all updates and makes those
//     of its part
//   others: a block sorts a tile of updates by place, equal ones stay in their order; then a thread
//   for each place combines
//     the run of its updates
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/lines/LineKernel.h"
#include "codegen/cuda/schedule/lines/TileSort.h"
#include "codegen/plan/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace dlc::codegen {

/// Neighbouring lines from which each takes a thread.
static constexpr int64_t kManyNeighbours = 32;
static constexpr int64_t kThreadsOfLines = 128;
/// Places of a line for each of its threads, at least, and threads that share a line, each of which
/// walks over all updates.
static constexpr int64_t kLeastPlaces = 64, kMostParts = 64;

namespace {
class ScatterSchedule : LineKernel {
public:
  explicit ScatterSchedule(KernelBuilder &k)
      : LineKernel(k), index(cast<RankedTensorType>(op->getOperand(1).getType())),
        src(cast<RankedTensorType>(op->getOperand(2).getType())), element(x.getElementType()) {}
  void run();

private:
  void inThread();
  void inBlock();
  void combineRun(const TileSort &sort, Value first, Value rank, Value held);
  Value runEnd(const TileSort &sort, Value rank, Value key, Value held);
  void bind(Value number);
  Value placeAt(Value i);
  Value updateAt(Value i);
  void copy(Value place) { store(place, load(place)); }
  Value resultAt(Value place) {
    k.math.bindLoop(along, place);
    Value stored = k.read(k.output(0), {k.index(k.body.offset(y, indices))});
    return fromStorage(k.b, k.loc, stored, element);
  }
  void give(Value place, Value value) { store(place, toStorage(k.b, k.loc, value, element)); }
  Value combined(Value old, Value update) {
    return combine(k.b, k.loc, *work.combiner, scalarKind(element), old, update);
  }

  RankedTensorType index, src;
  Type element;
  SmallVector<AffineExpr> from; // as `indices`, of index and src
  AffineExpr step;
};
} // namespace

void ScatterSchedule::bind(Value number) {
  bindLine(number);
  step = k.math.addLoop(work.length);
  from = indices;
  from[work.dim] = step;
}

/// The place that update `i` names; -1, or the line's length, where that is outside.
Value ScatterSchedule::placeAt(Value i) {
  k.math.bindLoop(step, i);
  AffineExpr at = k.body.offset(index, repeatedIndices(index, from));
  Value position = k.named(k.read(k.input(inputOf(op, 1)), {k.index(at)}), "position");
  auto extent = [&](AffineExpr dim) { return k.index(dim); };
  BodyContext context{k.b, k.loc, {}, extent};
  return k.named(dl::emitPosition(context, position, op->getOperand(1), op->getOperand(0), work.dim,
                                  /*wraps=*/false),
                 "place");
}

Value ScatterSchedule::updateAt(Value i) {
  k.math.bindLoop(step, i);
  Value stored =
      k.named(k.read(k.input(inputOf(op, 2)), {k.index(k.body.offset(src, from))}), "update");
  return fromStorage(k.b, k.loc, stored, element);
}

//===- A thread for each line -----------------------------------------------------------------===//

void ScatterSchedule::inThread() {
  // Of a size that is not bounded no grid may have more parts than launches take.
  int64_t longest = k.largest(work.count).value_or(int64_t(1) << 22);
  int64_t places = std::max(kLeastPlaces, (longest + kMostParts - 1) / kMostParts);
  Value line = k.named(
      k.add(k.mul(k.block(gpu::Dimension::x, "block"), kThreadsOfLines), k.thread()), "line");
  Value first = k.named(k.mul(k.block(gpu::Dimension::y, "part"), places), "first");
  Value count = k.index(work.count);
  Value end = k.named(k.add(first, least(k.index(places), subtract(count, first))), "end");
  k.when(k.less(line, k.index(lines())), [&] {
    bind(line);
    k.loop("place", first, end, 1, KernelBuilder::Unroll::automatic,
           [&](Value place) { copy(place); });
    k.loop("i", k.index(0), k.index(work.length), 1, KernelBuilder::Unroll::automatic,
           [&](Value i) {
             Value place = placeAt(i);
             Value isOwn = k.both(is(arith::CmpIPredicate::sge, place, first), k.less(place, end));
             k.when(isOwn, [&] {
               Value update = updateAt(i);
               give(place, work.combiner ? combined(resultAt(place), update) : update);
             });
           });
  });
  k.finish(kThreadsOfLines, {k.ceilDiv(lines(), kThreadsOfLines), k.ceilDiv(work.count, places)});
}

//===- A block for each line ------------------------------------------------------------------===//

/// Returns the end of the run of keys equal to `key` that begins at `rank`.
Value ScatterSchedule::runEnd(const TileSort &sort, Value rank, Value key, Value held) {
  return k.loop(
      "step", k.index(0), k.index(llvm::Log2_64(sort.tile)), 1, {k.add(rank, k.index(1)), held},
      {"low", "high"}, KernelBuilder::Unroll::never, [&](Value, ValueRange bounds) {
        Value low = bounds[0], high = bounds[1];
        Value middle = k.named(k.div(k.add(low, high), k.index(2)), "middle");
        // Where the search has ended, middle may be behind the tile.
        Value read = least(middle, k.index(sort.tile - 1));
        Value isEqual = k.both(k.less(low, high),
                               is(arith::CmpIPredicate::eq, k.read(sort.shared.keys, {read}), key));
        Value next = k.add(middle, k.index(1));
        Value isBelow = k.less(low, high);
        Value highest = arith::SelectOp::create(k.b, k.loc, isBelow, middle, high);
        return SmallVector<Value>{arith::SelectOp::create(k.b, k.loc, isEqual, next, low),
                                  arith::SelectOp::create(k.b, k.loc, isEqual, high, highest)};
      })[0];
}

/// Where an update is the first of its place in the tile, all of that place are made; without a
/// combiner, the last alone.
void ScatterSchedule::combineRun(const TileSort &sort, Value first, Value rank, Value held) {
  Value key = k.named(k.read(sort.shared.keys, {rank}), "key");
  Type type = key.getType();
  Value none = arith::ConstantOp::create(
      k.b, k.loc, k.b.getIntegerAttr(type, APInt::getAllOnes(type.getIntOrFloatBitWidth())));
  Value one = k.index(1);
  Value hasOther, other;
  if (work.combiner) {
    hasOther = k.less(k.index(0), rank);
    other = subtract(rank, one);
  } else {
    other = k.add(rank, one);
    hasOther = k.less(other, held);
  }
  Value isEnd = k.choose(
      hasOther,
      [&] { return is(arith::CmpIPredicate::ne, k.read(sort.shared.keys, {other}), key); },
      arith::ConstantOp::create(k.b, k.loc, k.b.getBoolAttr(true)));
  k.when(k.both(is(arith::CmpIPredicate::ne, key, none), isEnd), [&] {
    Value place = k.named(arith::IndexCastOp::create(k.b, k.loc, k.b.getIndexType(), key), "place");
    auto update = [&](Value at) {
      Value i = arith::IndexCastOp::create(k.b, k.loc, k.b.getIndexType(),
                                           k.read(sort.shared.places, {at}));
      return updateAt(k.named(k.add(first, i), "i"));
    };
    if (!work.combiner)
      return give(place, update(rank));
    Value end = k.named(runEnd(sort, rank, key, held), "end");
    Value result = k.loop("at", rank, end, 1, {resultAt(place)}, {"result"},
                          KernelBuilder::Unroll::never, [&](Value at, ValueRange carried) {
                            return SmallVector<Value>{combined(carried[0], update(at))};
                          })[0];
    give(place, result);
  });
}

void ScatterSchedule::inBlock() {
  auto most = k.largest(work.count);
  bool isNarrow = most && *most <= std::numeric_limits<int32_t>::max();
  Type keyType = k.b.getIntegerType(isNarrow ? 32 : 64), placeType = k.b.getI32Type();
  Value line = k.block(gpu::Dimension::x, "line");
  TileSort sort(k, k.largest(work.length), keyType);
  // Many places are copied by more threads than few updates need.
  sort.threads = std::max(sort.threads, std::min(kThreads, most.value_or(kThreads) / 32 * 32));
  bind(line);
  Value length = k.index(work.length), count = k.index(work.count);
  sort.forEach("place", count, [&](Value place) { copy(place); });
  k.loop("first", k.index(0), length, sort.tile, KernelBuilder::Unroll::never, [&](Value first) {
    Value held = k.named(least(k.index(sort.tile), subtract(length, first)), "held");
    sort.forEach("i", held, [&](Value i) {
      Value place = placeAt(k.add(first, i));
      Value isInside =
          k.both(is(arith::CmpIPredicate::sge, place, k.index(0)), k.less(place, count));
      // Updates outside come last, with the largest key.
      Value named = arith::SelectOp::create(k.b, k.loc, isInside, place, k.index(-1));
      k.write(sort.shared.keys, {i}, arith::IndexCastOp::create(k.b, k.loc, keyType, named));
      k.write(sort.shared.places, {i}, arith::IndexCastOp::create(k.b, k.loc, placeType, i));
    });
    sort.sort(held);
    sort.forEach("rank", held, [&](Value rank) { combineRun(sort, first, rank, held); });
    k.barrier();
  });
  k.finish(sort.threads, {lines()});
}

void ScatterSchedule::run() {
  if (haveManyNeighbours(kManyNeighbours))
    inThread();
  else
    inBlock();
}

static dlx::PlanAttr match(PlanQuestion &question) {
  return planOfLines(question, LineWork::Kind::scatter, kScatterSchedule.name, /*passes=*/4);
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr) {
  ScatterSchedule(k).run();
  return success();
}

constinit const Schedule kScatterSchedule = {"scatter", match, build};

} // namespace dlc::codegen
