//===- SuppressKernel.cpp - Boxes that overlap no better one ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block walks over a line, as many boxes at a time as it has threads. Each thread compares its
// box with all those taken before these; then the boxes of the threads are gone through in order,
// and each one that is taken puts out those after it. No sum and no order depends on how threads
// run.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/lines/LineKernel.h"
#include "codegen/plan/Overlap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Operands: the order, then the corners.
static constexpr unsigned kCorners = 4, kFirstCorner = 1, kThreshold = 5, kTakesPart = 6;
static constexpr llvm::StringLiteral kNames[kCorners] = {"low0", "low1", "high0", "high1"};

namespace {
class SuppressSchedule : LineKernel {
public:
  explicit SuppressSchedule(KernelBuilder &k)
      : LineKernel(k), corners(cast<RankedTensorType>(op->getOperand(kFirstCorner).getType())),
        element(corners.getElementType()), compute(computeType(element)) {}
  void run();

private:
  Value runTile(Value first, Value taken);
  Value goThrough(const Corners &own, Value place, Value held, Value taken);
  Value isOut(const Corners &own, Value taken, Value from);
  Corners cornersAt(Value place, StringRef whose);
  Corners cornersOfThread(Value at);
  Scalar number(Value value) { return {k.b, k.loc, value, ScalarKind::floating}; }
  Value truth(bool value) { return arith::ConstantOp::create(k.b, k.loc, k.b.getBoolAttr(value)); }
  Value overlap(const Corners &a, const Corners &b) {
    return overlaps(a, areaOf(a), b, areaOf(b), number(threshold)).value();
  }
  Value read(unsigned operand, AffineExpr at, Type type) {
    return fromStorage(k.b, k.loc, k.read(k.input(inputOf(op, operand)), {k.index(at)}), type);
  }
  void give(Value rank, Value place) {
    store(rank, arith::IndexCastOp::create(k.b, k.loc, k.b.getI64Type(), place));
  }

  RankedTensorType corners;
  Type element, compute;
  int64_t threads = 0;
  Value thread, length, count, threshold;
  SmallVector<Value> tile; // the corners of the threads' boxes
  Value out;               // not 0 for those that cannot be taken
};
} // namespace

Corners SuppressSchedule::cornersAt(Value place, StringRef whose) {
  k.math.bindLoop(along, place);
  AffineExpr at = k.body.offset(corners, repeatedIndices(corners, indices));
  auto corner = [&](unsigned number) {
    Value value = read(kFirstCorner + number, at, element);
    return this->number(k.named(value, (whose + kNames[number]).str()));
  };
  return {corner(0), corner(1), corner(2), corner(3)};
}

Corners SuppressSchedule::cornersOfThread(Value at) {
  auto corner = [&](unsigned operand) {
    return number(k.named(k.read(tile[operand], {at}), ("its_" + kNames[operand]).str()));
  };
  return {corner(0), corner(1), corner(2), corner(3)};
}

/// `from`, or that the thread's box overlaps one of the first `taken` ones.
Value SuppressSchedule::isOut(const Corners &own, Value taken, Value from) {
  return k
      .loop("j", k.index(0), taken, 1, {from}, {"is_out"}, KernelBuilder::Unroll::never,
            [&](Value j, ValueRange carried) {
              Value isOpen = arith::XOrIOp::create(k.b, k.loc, carried[0], truth(true));
              auto compare = [&] {
                k.math.bindLoop(along, j);
                Value stored = k.read(k.output(0), {k.index(k.body.offset(y, indices))});
                Value place = arith::IndexCastOp::create(k.b, k.loc, k.b.getIndexType(), stored);
                return overlap(own, cornersAt(k.named(place, "its_place"), "its_"));
              };
              return SmallVector<Value>{k.choose(isOpen, compare, carried[0])};
            })
      .front();
}

/// How many are taken after the boxes of the threads, of `taken` before them. `place`: of the
/// thread's box.
Value SuppressSchedule::goThrough(const Corners &own, Value place, Value held, Value taken) {
  Type i32 = k.b.getI32Type();
  Value zero = arith::ConstantOp::create(k.b, k.loc, k.b.getI32IntegerAttr(0));
  Value one = arith::ConstantOp::create(k.b, k.loc, k.b.getI32IntegerAttr(1));
  return k
      .loop("i", k.index(0), held, 1, {taken}, {"taken"}, KernelBuilder::Unroll::never,
            [&](Value i, ValueRange carried) {
              Value isLeft = is(arith::CmpIPredicate::eq, k.read(out, {i}), zero);
              Value isTaken = k.named(k.both(k.less(carried[0], count), isLeft), "is_taken");
              k.when(isTaken, [&] {
                k.when(is(arith::CmpIPredicate::eq, thread, i), [&] { give(carried[0], place); });
                k.when(k.both(k.less(i, thread), k.less(thread, held)), [&] {
                  k.when(overlap(own, cornersOfThread(i)), [&] { k.write(out, {thread}, one); });
                });
                // Nobody reads whether the next one is left before all have said so.
                k.barrier();
              });
              Value more = arith::ExtUIOp::create(k.b, k.loc, i32, isTaken);
              Value step = arith::IndexCastOp::create(k.b, k.loc, k.b.getIndexType(), more);
              return SmallVector<Value>{k.add(carried[0], step)};
            })
      .front();
}

Value SuppressSchedule::runTile(Value first, Value taken) {
  Value rest = least(k.index(threads), subtract(length, first));
  Value isOpen = k.less(taken, count);
  Value held = arith::SelectOp::create(k.b, k.loc, isOpen, rest, k.index(0));
  held = k.named(held, "held");
  Value exists = k.less(thread, held);
  auto placeInOrder = [&] {
    k.math.bindLoop(along, k.add(first, thread));
    Value stored = k.read(k.input(inputOf(op, 0)), {k.index(k.body.offset(x, indices))});
    // As it is stored: an index may have fewer bits.
    Value end = arith::IndexCastOp::create(k.b, k.loc, stored.getType(), length);
    return arith::SelectOp::create(
               k.b, k.loc, is(arith::CmpIPredicate::ult, stored, end),
               arith::IndexCastOp::create(k.b, k.loc, k.b.getIndexType(), stored), k.index(-1))
        .getResult();
  };
  Value place = k.named(k.choose(exists, placeInOrder, k.index(-1)), "place");
  exists = is(arith::CmpIPredicate::sge, place, k.index(0));
  Value none = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(compute));
  SmallVector<Value> values =
      k.chooseAll(exists,
                  [&] {
                    SmallVector<Value> values;
                    for (const Scalar &corner : cornersAt(place, ""))
                      values.push_back(corner.value());
                    k.math.bindLoop(along, place);
                    values.push_back(read(kTakesPart, k.body.offset(x, indices), k.b.getI1Type()));
                    return values;
                  },
                  {none, none, none, none, truth(false)});
  k.named(values.front(), "own");
  Corners own = {number(values[0]), number(values[1]), number(values[2]), number(values[3])};
  Value isNone = arith::XOrIOp::create(k.b, k.loc, values[kCorners], truth(true));
  Value isThisOut = isOut(own, taken, isNone);
  for (unsigned corner = 0; corner < kCorners; ++corner)
    k.write(tile[corner], {thread}, values[corner]);
  k.write(out, {thread}, arith::ExtUIOp::create(k.b, k.loc, k.b.getI32Type(), isThisOut));
  k.barrier();
  Value after = goThrough(own, place, held, taken);
  k.barrier();
  return after;
}

void SuppressSchedule::run() {
  threads = kThreads;
  if (auto most = k.largest(work.length))
    threads = std::clamp<int64_t>(llvm::PowerOf2Ceil(*most), 32, kThreads);
  bindLine(k.block(gpu::Dimension::x, "line"));
  thread = k.thread();
  length = k.index(work.length);
  count = k.index(work.count);
  threshold = k.named(read(kThreshold, k.math.constant(0), element), "threshold");
  for (StringRef name : kNames)
    tile.push_back(k.shared({threads}, compute, (name + "_of").str()));
  out = k.shared({threads}, k.b.getI32Type(), "is_out_of");
  Value taken = k.loop("first", k.index(0), length, threads, {k.index(0)}, {"taken"},
                       KernelBuilder::Unroll::never,
                       [&](Value first, ValueRange carried) {
                         return SmallVector<Value>{runTile(first, carried[0])};
                       })
                    .front();
  k.loop("rank", k.add(taken, thread), count, threads, KernelBuilder::Unroll::automatic,
         [&](Value rank) { give(rank, k.index(-1)); });
  k.finish(threads, {lines()});
}

static dlx::PlanAttr match(PlanQuestion &question) {
  return planOfLines(question, LineWork::Kind::suppress, kSuppressSchedule.name, /*passes=*/8);
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr) {
  SuppressSchedule(k).run();
  return success();
}

constinit const Schedule kSuppressSchedule = {"suppress", match, build};

} // namespace dlc::codegen
