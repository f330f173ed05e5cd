//===- OrderKernel.cpp - A block puts a line in order -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys with their places are sorted (TileSort.h). A tile of the line lies in shared memory. Where
// the line is longer, and few elements are asked for, the first of each tile stay in it and the
// next elements take the place of the others. Where many are asked for, sorted tiles go to memory
// of the device; strides of a tile and more are walked there, all shorter ones in shared memory.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/lines/LineKernel.h"
#include "codegen/cuda/schedule/lines/TileSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Elements that may be asked for while tiles follow each other.
static constexpr int64_t kMostKept = 2048;

/// The elements in order, or the first of them, stay in one tile.
static bool fitsTile(const LineWork &work, ArrayRef<dl::Range> symbols) {
  auto longest = dl::rangeOf(work.length, symbols), wanted = dl::rangeOf(work.count, symbols);
  return (longest && longest->max <= kMostTileElements) || (wanted && wanted->max <= kMostKept);
}

namespace {
class OrderSchedule : LineKernel {
public:
  explicit OrderSchedule(KernelBuilder &k)
      : LineKernel(k), sort(k, k.largest(work.length), keyType(x.getElementType())),
        shared(sort.shared), tile(sort.tile) {}
  void run();

private:
  using Elements = TileSort::Elements;
  void loadTile(Value kept, Value first, Value count);
  void copy(const Elements &from, Value fromIndex, const Elements &to, Value toIndex, Value count);
  void keepFirst();
  void sortThroughMemory();
  void give(const Elements &from);

  TileSort sort;
  const Elements &shared;
  int64_t tile;
  Value line, length;
};
} // namespace

/// Brings `count` elements of the line from place `first` on into the tile, behind `kept` ones.
void OrderSchedule::loadTile(Value kept, Value first, Value count) {
  sort.forEach("i", count, [&](Value i) {
    Value place = k.named(k.add(first, i), "place"), to = k.add(kept, i);
    Value key =
        sortKey(k.b, k.loc, k.named(load(place), "x_i"), x.getElementType(), work.descending);
    k.write(shared.keys, {to}, key);
    k.write(shared.places, {to}, arith::IndexCastOp::create(k.b, k.loc, k.b.getI32Type(), place));
  });
}

/// The first elements of all tiles.
void OrderSchedule::keepFirst() {
  auto most = k.largest(work.length);
  if (most && *most <= tile) {
    loadTile(k.index(0), k.index(0), length);
    sort.sort(length);
    return;
  }
  Value kept = k.index(work.count), next = subtract(k.index(tile), kept);
  // The first tile has no kept ones.
  Value rest = subtract(k.add(length, next), k.index(tile + 1));
  Value isMore = k.less(k.index(tile), length);
  Value more = arith::SelectOp::create(k.b, k.loc, isMore, k.div(rest, next), k.index(0));
  Value tiles = k.named(k.add(more, k.index(1)), "tiles");
  k.loop("tile", k.index(0), tiles, 1, {k.index(0), k.index(0)}, {"kept", "first"},
         KernelBuilder::Unroll::never, [&](Value, ValueRange carried) {
           Value room = subtract(k.index(tile), carried[0]);
           Value count = k.named(least(room, subtract(length, carried[1])), "count");
           loadTile(carried[0], carried[1], count);
           sort.sort(k.named(k.add(carried[0], count), "held"));
           return SmallVector<Value>{kept, k.add(carried[1], count)};
         });
}

void OrderSchedule::copy(const Elements &from, Value fromIndex, const Elements &to, Value toIndex,
                         Value count) {
  sort.forEach("i", count, [&](Value i) {
    Value source = sort.at(from, k.add(fromIndex, i)), target = sort.at(to, k.add(toIndex, i));
    k.write(to.keys, {target}, k.read(from.keys, {source}));
    k.write(to.places, {target}, k.read(from.places, {source}));
  });
  k.barrier();
}

void OrderSchedule::sortThroughMemory() {
  unsigned inputs = k.body.getKernel().getBodyBlock().getNumArguments();
  auto memory = [&](unsigned position, const char *role) {
    k.nameInput(position, role);
    return k.input(position);
  };
  Elements whole;
  whole.keys = memory(inputs - 2, "line_keys");
  whole.places = memory(inputs - 1, "line_places");
  whole.first = k.named(k.mul(line, length), "line_first");
  Value none = k.index(0);
  auto forTiles = [&](llvm::function_ref<void(Value, Value)> body) {
    k.loop("first", none, length, tile, KernelBuilder::Unroll::never, [&](Value first) {
      body(first, k.named(least(k.index(tile), subtract(length, first)), "count"));
    });
  };
  forTiles([&](Value first, Value count) {
    loadTile(none, first, count);
    sort.sort(count);
    copy(shared, none, whole, first, count);
  });
  int64_t most = k.largest(work.length).value_or(int64_t(1) << 31);
  int64_t levels = llvm::Log2_64_Ceil(most) - llvm::Log2_64(tile);
  k.loop("level", none, k.index(levels), 1, {k.index(tile)}, {"half"}, KernelBuilder::Unroll::never,
         [&](Value level, ValueRange carried) {
           k.when(k.less(carried[0], length), [&] {
             sort.walk(whole, length, length, k.add(level, k.index(1)), carried[0], none);
             forTiles([&](Value first, Value count) {
               copy(whole, first, shared, none, count);
               sort.walk(shared, count, least(count, k.index(tile / 2)),
                         k.index(llvm::Log2_64(tile)), k.index(tile / 2), {});
               copy(shared, none, whole, first, count);
             });
           });
           return SmallVector<Value>{k.add(carried[0], carried[0])};
         });
  give(whole);
}

void OrderSchedule::give(const Elements &from) {
  Value count = k.index(work.count);
  bool isAll = work.count == work.length;
  sort.forEach("rank", isAll ? length : least(length, count), [&](Value rank) {
    Value place = k.read(from.places, {sort.at(from, rank)});
    store(rank, arith::ExtSIOp::create(k.b, k.loc, k.b.getI64Type(), place));
  });
  if (!isAll)
    k.loop("rank", k.add(length, sort.thread), count, sort.threads,
           KernelBuilder::Unroll::automatic, [&](Value rank) {
             store(rank, arith::ConstantOp::create(k.b, k.loc, k.b.getI64IntegerAttr(0)));
           });
}

void OrderSchedule::run() {
  line = k.block(gpu::Dimension::x, "line");
  bindLine(line);
  length = k.index(work.length);
  if (k.body.getKernel().getBodyBlock().getNumArguments() == 1) {
    keepFirst();
    give(shared);
  } else {
    sortThroughMemory();
  }
  k.finish(sort.threads, {lines()});
}

static dlx::PlanAttr match(PlanQuestion &question) {
  return planOfLines(question, LineWork::Kind::order, kSortSchedule.name, /*passes=*/16);
}

static Requirements requirements(PlanQuestion &question, dlx::PlanAttr) {
  LineOpInterface op = lineOpOf(question.kernel());
  Requirements needs;
  if (fitsTile(op.getLineWork(), question.k.ranges()))
    return needs;
  auto x = cast<RankedTensorType>(op->getOperand(0).getType());
  dl::Dims dims = dl::getDims(x);
  needs.workspaces = {dl::makeTensor(dims, keyType(x.getElementType())),
                      dl::makeTensor(dims, question.k.b.getI32Type())};
  return needs;
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr) {
  OrderSchedule(k).run();
  return success();
}

constinit const Schedule kSortSchedule = {"sort", match, build, requirements};

} // namespace dlc::codegen
