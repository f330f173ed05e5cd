//===- OrderKernel.cpp - A block puts a line in order ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bitonic sorts of keys with their places, which are all different: the order is one, whoever compares first. The form in which
// each comparator puts the smaller one at the lower index: then the elements that a line lacks to a power of two are the
// highest ones, where they are, and no comparator that names one does anything.
//
//   for half = 1, 2, 4, ... below the length:       // runs of `half` elements are in order
//     i-th of each pair of runs against the i-th from the end
//     for stride = half / 2 ... 1: each element against the one `stride` further on, where that bit of its index is 0
//
// A tile of the line lies in shared memory. Where the line is longer, and few elements are asked for, the first of each tile
// stay in it and the next elements take the place of the others. Where many are asked for, sorted tiles go to memory of
// the device; strides of a tile and more are walked there, all shorter ones in shared memory.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cuda/LineKernel.h"
#include "codegen/schedule/cuda/Schedules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Elements of a tile: with 12 bytes each they fill the static shared memory of a block.
static constexpr int64_t kMostElements = 4096;
static constexpr int64_t kLeastElements = 64;
/// Elements that may be asked for while tiles follow each other.
static constexpr int64_t kMostKept = 2048;
static constexpr int64_t kMostThreads = 512;

/// The elements in order, or the first of them, stay in one tile.
static bool fitsTile(const LineWork &work, ArrayRef<dl::Range> symbols) {
  auto longest = dl::rangeOf(work.length, symbols), wanted = dl::rangeOf(work.count, symbols);
  return (longest && longest->max <= kMostElements) || (wanted && wanted->max <= kMostKept);
}

namespace {
class OrderSchedule : LineKernel {
public:
  explicit OrderSchedule(KernelBuilder &k) : LineKernel(k) {}
  void run();

private:
  /// Keys and places, in shared memory or in that of the device from `first` on.
  struct Elements {
    Value keys, places, first;
  };
  Value at(const Elements &elements, Value index) {
    return elements.first ? k.add(elements.first, index) : index;
  }
  void compare(const Elements &elements, Value length, Value pairs, Value stride, Value isFirst);
  void walk(const Elements &elements, Value length, Value pairs, Value steps, Value stride,
            Value firstStep);
  void sortTile(Value length);
  void loadTile(Value kept, Value first, Value count);
  void copy(const Elements &from, Value fromIndex, const Elements &to, Value toIndex, Value count);
  void forEach(StringRef role, Value count, llvm::function_ref<void(Value)> body) {
    k.loop(role, thread, count, threads, KernelBuilder::Unroll::automatic, body);
  }
  void keepFirst();
  void sortThroughMemory();
  void give(const Elements &from);

  int64_t tile = kMostElements, threads = kMostThreads;
  Value line, thread, length;
  Elements shared;
};
} // namespace

/// One step: each pair at a distance of `stride`, or where `isFirst`, mirrored in twice as many elements.
void OrderSchedule::compare(const Elements &elements, Value length, Value pairs, Value stride,
                            Value isFirst) {
  Value mask = subtract(stride, k.index(1));
  forEach("pair", pairs, [&](Value pair) {
    Value within = k.named(arith::AndIOp::create(k.b, k.loc, pair, mask), "within");
    Value start = k.named(k.mul(subtract(pair, within), 2), "start");
    Value low = k.named(k.add(start, within), "low");
    Value high = k.add(low, stride);
    if (isFirst) {
      Value last = subtract(k.add(start, k.mul(stride, 2)), k.index(1));
      high = arith::SelectOp::create(k.b, k.loc, isFirst, subtract(last, within), high);
    }
    high = k.named(high, "high");
    k.when(k.less(high, length), [&] {
      Value atLow = at(elements, low), atHigh = at(elements, high);
      Value lowKey = k.named(k.read(elements.keys, {atLow}), "low_key");
      Value highKey = k.named(k.read(elements.keys, {atHigh}), "high_key");
      Value lowPlace = k.named(k.read(elements.places, {atLow}), "low_place");
      Value highPlace = k.named(k.read(elements.places, {atHigh}), "high_place");
      Value later = k.both(is(arith::CmpIPredicate::eq, lowKey, highKey),
                           is(arith::CmpIPredicate::sgt, lowPlace, highPlace));
      Value isWrong =
          arith::OrIOp::create(k.b, k.loc, is(arith::CmpIPredicate::ugt, lowKey, highKey), later);
      k.when(isWrong, [&] {
        k.write(elements.keys, {atLow}, highKey);
        k.write(elements.keys, {atHigh}, lowKey);
        k.write(elements.places, {atLow}, highPlace);
        k.write(elements.places, {atHigh}, lowPlace);
      });
    });
  });
  k.barrier();
}

/// `steps` steps from `stride` on, each half as wide as the one before; the mirrored one is number `firstStep` (null: none is).
void OrderSchedule::walk(const Elements &elements, Value length, Value pairs, Value steps,
                         Value stride, Value firstStep) {
  k.loop("step", k.index(0), steps, 1, {stride}, {"stride"}, KernelBuilder::Unroll::never,
         [&](Value step, ValueRange carried) {
           Value isFirst = firstStep ? is(arith::CmpIPredicate::eq, step, firstStep) : Value();
           compare(elements, length, pairs, carried[0], isFirst);
           return SmallVector<Value>{arith::ShRSIOp::create(k.b, k.loc, carried[0], k.index(1))};
         });
}

/// Puts `length` elements of the tile in order, for all threads to see.
void OrderSchedule::sortTile(Value length) {
  k.barrier();
  Value pairs = k.named(least(length, k.index(tile / 2)), "pairs");
  k.loop("level", k.index(0), k.index(llvm::Log2_64(tile)), 1, {k.index(1)}, {"half"},
         KernelBuilder::Unroll::never, [&](Value level, ValueRange carried) {
           k.when(k.less(carried[0], length), [&] {
             walk(shared, length, pairs, k.add(level, k.index(1)), carried[0], k.index(0));
           });
           return SmallVector<Value>{k.add(carried[0], carried[0])};
         });
}

/// Brings `count` elements of the line from place `first` on into the tile, behind `kept` ones.
void OrderSchedule::loadTile(Value kept, Value first, Value count) {
  forEach("i", count, [&](Value i) {
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
    sortTile(length);
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
           sortTile(k.named(k.add(carried[0], count), "held"));
           return SmallVector<Value>{kept, k.add(carried[1], count)};
         });
}

void OrderSchedule::copy(const Elements &from, Value fromIndex, const Elements &to, Value toIndex,
                         Value count) {
  forEach("i", count, [&](Value i) {
    Value source = at(from, k.add(fromIndex, i)), target = at(to, k.add(toIndex, i));
    k.write(to.keys, {target}, k.read(from.keys, {source}));
    k.write(to.places, {target}, k.read(from.places, {source}));
  });
  k.barrier();
}

void OrderSchedule::sortThroughMemory() {
  unsigned inputs = k.body.getKernel().getBodyBlock().getNumArguments();
  auto memory = [&](unsigned position, const char *role) {
    auto argument = cast<BlockArgument>(k.input(position));
    cast<gpu::GPUFuncOp>(argument.getOwner()->getParentOp())
        .setArgAttr(position, "dlc.role", k.b.getStringAttr(role));
    return argument;
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
    sortTile(count);
    copy(shared, none, whole, first, count);
  });
  int64_t most = k.largest(work.length).value_or(int64_t(1) << 31);
  int64_t levels = llvm::Log2_64_Ceil(most) - llvm::Log2_64(tile);
  k.loop("level", none, k.index(levels), 1, {k.index(tile)}, {"half"}, KernelBuilder::Unroll::never,
         [&](Value level, ValueRange carried) {
           k.when(k.less(carried[0], length), [&] {
             walk(whole, length, length, k.add(level, k.index(1)), carried[0], none);
             forTiles([&](Value first, Value count) {
               copy(whole, first, shared, none, count);
               walk(shared, count, least(count, k.index(tile / 2)), k.index(llvm::Log2_64(tile)),
                    k.index(tile / 2), {});
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
  forEach("rank", isAll ? length : least(length, count), [&](Value rank) {
    Value place = k.read(from.places, {at(from, rank)});
    store(rank, arith::ExtSIOp::create(k.b, k.loc, k.b.getI64Type(), place));
  });
  if (!isAll)
    k.loop("rank", k.add(length, thread), count, threads, KernelBuilder::Unroll::automatic,
           [&](Value rank) {
             store(rank, arith::ConstantOp::create(k.b, k.loc, k.b.getI64IntegerAttr(0)));
           });
}

void OrderSchedule::run() {
  if (auto most = k.largest(work.length))
    tile = std::clamp<int64_t>(llvm::PowerOf2Ceil(*most), kLeastElements, kMostElements);
  threads = std::min<int64_t>(kMostThreads, tile / 2);
  line = k.block(gpu::Dimension::x, "line");
  thread = k.thread();
  bindLine(line);
  length = k.index(work.length);
  shared.keys = k.shared({tile}, keyType(x.getElementType()), "keys");
  shared.places = k.shared({tile}, k.b.getI32Type(), "places");
  if (k.body.getKernel().getBodyBlock().getNumArguments() == 1) {
    keepFirst();
    give(shared);
  } else {
    sortThroughMemory();
  }
  k.finish(threads, {lines()});
}

void addOrderWorkspace(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols) {
  LineOpInterface op = lineOpOf(kernel);
  LineWork work = op.getLineWork();
  if (fitsTile(work, symbols))
    return;
  auto x = cast<RankedTensorType>(op->getOperand(0).getType());
  dl::Dims dims = dl::getDims(x);
  Type places = IntegerType::get(kernel.getContext(), 32);
  addWorkspace(kernel, dl::makeTensor(dims, keyType(x.getElementType())));
  addWorkspace(kernel, dl::makeTensor(dims, places));
}

void scheduleOrder(KernelBuilder &k) { OrderSchedule(k).run(); }

} // namespace dlc::codegen
