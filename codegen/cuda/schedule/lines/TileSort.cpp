//===- TileSort.cpp - A block sorts keys with their places --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The form of the bitonic sort in which each comparator puts the smaller one at the lower index:
// then the elements that a line lacks to a power of two are the highest ones, where they are, and
// no comparator that names one does anything.
//
//   for half = 1, 2, 4, ... below the length:       // runs of `half` elements are in order
//     i-th of each pair of runs against the i-th from the end for stride = half / 2 ... 1: each
//     element against the one `stride` further on, where that bit of its index is 0
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/lines/TileSort.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr int64_t kLeastElements = 64;

TileSort::TileSort(KernelBuilder &k, std::optional<int64_t> longest, Type keyType)
    : tile(kMostTileElements), k(k) {
  if (longest)
    tile = std::clamp<int64_t>(llvm::PowerOf2Ceil(*longest), kLeastElements, kMostTileElements);
  threads = std::min<int64_t>(kMostTileThreads, tile / 2);
  thread = k.thread();
  shared.keys = k.shared({tile}, keyType, "keys");
  shared.places = k.shared({tile}, k.b.getI32Type(), "places");
}

void TileSort::forEach(StringRef role, Value count, llvm::function_ref<void(Value)> body) {
  k.loop(role, thread, count, threads, KernelBuilder::Unroll::automatic, body);
}

/// One step: each pair at a distance of `stride`, or where `isFirst`, mirrored in twice as many
/// elements.
void TileSort::compare(const Elements &elements, Value length, Value pairs, Value stride,
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

void TileSort::walk(const Elements &elements, Value length, Value pairs, Value steps, Value stride,
                    Value firstStep) {
  k.loop("step", k.index(0), steps, 1, {stride}, {"stride"}, KernelBuilder::Unroll::never,
         [&](Value step, ValueRange carried) {
           Value isFirst = firstStep ? is(arith::CmpIPredicate::eq, step, firstStep) : Value();
           compare(elements, length, pairs, carried[0], isFirst);
           return SmallVector<Value>{arith::ShRSIOp::create(k.b, k.loc, carried[0], k.index(1))};
         });
}

void TileSort::sort(Value length) {
  k.barrier();
  Value pairs =
      k.named(k.b.createOrFold<arith::MinSIOp>(k.loc, length, k.index(tile / 2)), "pairs");
  k.loop("level", k.index(0), k.index(llvm::Log2_64(tile)), 1, {k.index(1)}, {"half"},
         KernelBuilder::Unroll::never, [&](Value level, ValueRange carried) {
           k.when(k.less(carried[0], length), [&] {
             walk(shared, length, pairs, k.add(level, k.index(1)), carried[0], k.index(0));
           });
           return SmallVector<Value>{k.add(carried[0], carried[0])};
         });
}

} // namespace dlc::codegen
