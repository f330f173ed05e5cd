//===- SumKernel.cpp - Running sums of lines ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block adds as many elements of a line as it has threads, each to the ones 1, 2, 4, ... before
// it, and to these the sum of all before. Lines that stand side by side in memory take a thread
// each.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/lines/LineKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Neighbouring lines from which each takes a thread.
static constexpr int64_t kManyNeighbours = 32;
static constexpr int64_t kThreadsOfLines = 128;

namespace {
class SumSchedule : LineKernel {
public:
  explicit SumSchedule(KernelBuilder &k)
      : LineKernel(k), element(x.getElementType()), type(computeType(element)) {}
  void run();

private:
  void inBlock();
  void inThread();
  Value loaded(Value place) { return fromStorage(k.b, k.loc, load(place), element); }
  Value add(Value a, Value b) {
    ScalarKind kind = scalarKind(element);
    return (Scalar(k.b, k.loc, a, kind) + Scalar(k.b, k.loc, b, kind)).value();
  }
  void give(Value place, Value sum) { store(place, toStorage(k.b, k.loc, sum, element)); }
  Value zero() { return arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(type)); }

  Type element, type;
};
} // namespace

void SumSchedule::inThread() {
  Value line = k.named(
      k.add(k.mul(k.block(gpu::Dimension::x, "block"), kThreadsOfLines), k.thread()), "line");
  k.when(k.less(line, k.index(lines())), [&] {
    bindLine(line);
    k.loop("i", k.index(0), k.index(work.length), 1, {zero()}, {"sum"},
           KernelBuilder::Unroll::automatic, [&](Value i, ValueRange carried) {
             Value sum = add(carried[0], loaded(i));
             give(i, sum);
             return SmallVector<Value>{sum};
           });
  });
  k.finish(kThreadsOfLines, {k.ceilDiv(lines(), kThreadsOfLines)});
}

void SumSchedule::inBlock() {
  int64_t threads = kThreads;
  if (auto most = k.largest(work.length))
    threads = std::clamp<int64_t>(llvm::PowerOf2Ceil(*most), 32, kThreads);
  bindLine(k.block(gpu::Dimension::x, "line"));
  Value thread = k.thread(), length = k.index(work.length);
  Value sums = k.shared({2 * threads}, type, "sums");
  k.loop("first", k.index(0), length, k.index(threads), {zero()}, {"before"},
         KernelBuilder::Unroll::never, [&](Value first, ValueRange carried) {
           Value place = k.named(k.add(first, thread), "place");
           Value exists = k.less(place, length);
           Value own = k.choose(exists, [&] { return loaded(place); }, zero());
           k.write(sums, {thread}, own);
           k.barrier();
           // Each step reads one half of the memory and writes the other.
           ValueRange last = k.loop(
               "step", k.index(0), k.index(llvm::Log2_64(threads)), 1,
               {own, k.index(1), k.index(0), k.index(threads)}, {"sum", "distance", "from", "to"},
               KernelBuilder::Unroll::never, [&](Value, ValueRange c) {
                 Value sum = k.choose(
                     is(arith::CmpIPredicate::sge, thread, c[1]),
                     [&] { return add(c[0], k.read(sums, {subtract(k.add(c[2], thread), c[1])})); },
                     c[0]);
                 k.write(sums, {k.add(c[3], thread)}, sum);
                 k.barrier();
                 return SmallVector<Value>{sum, k.add(c[1], c[1]), c[3], c[2]};
               });
           k.when(exists, [&] { give(place, add(carried[0], last[0])); });
           Value all = k.read(sums, {k.add(last[2], k.index(threads - 1))});
           Value before = add(carried[0], k.named(all, "all"));
           k.barrier();
           return SmallVector<Value>{before};
         });
  k.finish(threads, {lines()});
}

void SumSchedule::run() {
  if (haveManyNeighbours(kManyNeighbours))
    inThread();
  else
    inBlock();
}

static dlx::PlanAttr match(PlanQuestion &question) {
  return planOfLines(question, LineWork::Kind::sum, kScanSchedule.name, /*passes=*/2);
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr) {
  SumSchedule(k).run();
  return success();
}

constinit const Schedule kScanSchedule = {"scan", match, build};

} // namespace dlc::codegen
