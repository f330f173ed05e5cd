//===- Accumulators.cpp - What a stage carries through its loops and across threads -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/reduce/Accumulators.h"

#include "codegen/plan/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace dlc::codegen {

Accumulator::Accumulator(KernelBuilder &k, unsigned stage)
    : k(k), stage(stage), combiner(k.body.getNest().stages[stage]),
      type(k.body.accumulatorType(stage)), kind(k.body.accumulatorKind(stage)) {}

SmallVector<Value> Accumulator::initial() {
  Value first = neutral(k.b, k.loc, combiner, type, kind);
  if (!hasPosition())
    return {first};
  return {first, arith::ConstantIntOp::create(k.b, k.loc, kNoPosition, 64)};
}

SmallVector<StringRef> Accumulator::roles() const {
  switch (combiner) {
  case Combiner::add:
    return {"sum"};
  case Combiner::mul:
    return {"product"};
  case Combiner::max:
    return {"largest"};
  case Combiner::min:
    return {"smallest"};
  case Combiner::argmax:
  case Combiner::argmin:
    return {"best", "best_at"};
  }
  llvm_unreachable("unknown combiner");
}

SmallVector<Value> Accumulator::step(ValueRange carried, Value position,
                                     ArrayRef<AffineExpr> parallel, ArrayRef<AffineExpr> reduction,
                                     ValueRange finished) {
  if (k.body.getNest().isProduct && isa<FloatType>(type)) {
    // Rounded once: the only place where a product and a sum are fused.
    SmallVector<AffineExpr> loops(parallel);
    loops.append(reduction.begin(), reduction.end());
    Value a = k.body.emitTermRead(k.b, 0, loops), b = k.body.emitTermRead(k.b, 1, loops);
    return {math::FmaOp::create(k.b, k.loc, a, b, carried[0])};
  }
  term = k.body.emitTerm(k.b, stage, parallel, reduction, finished);
  if (!hasPosition())
    return {combine(k.b, k.loc, combiner, kind, carried[0], term)};
  Value at = arith::IndexCastOp::create(k.b, k.loc, k.b.getI64Type(), position);
  return combineWith(carried, ValueRange{term, at});
}

SmallVector<Value> Accumulator::combineWith(ValueRange a, ValueRange b) {
  if (!hasPosition())
    return {combine(k.b, k.loc, combiner, kind, a[0], b[0])};
  Best best = combineBest(k.b, k.loc, combiner, kind, {a[0], a[1]}, {b[0], b[1]});
  return {best.value, best.position};
}

Value Accumulator::shuffle(Value value, Value mask) {
  // Shuffles move words: narrow integers go as i32.
  Type own = value.getType();
  bool isNarrow = own.isInteger() && own.getIntOrFloatBitWidth() < 32;
  if (isNarrow)
    value = arith::ExtSIOp::create(k.b, k.loc, k.b.getI32Type(), value);
  Value width = arith::ConstantIntOp::create(k.b, k.loc, 32, 32);
  Value other = gpu::ShuffleOp::create(k.b, k.loc, value, mask, width, gpu::ShuffleMode::XOR)
                    .getShuffleResult();
  k.named(other, "other");
  return isNarrow ? arith::TruncIOp::create(k.b, k.loc, own, other).getResult() : other;
}

SmallVector<Value> Accumulator::acrossLanes(ValueRange carried, int64_t lanes) {
  if (lanes == 1)
    return SmallVector<Value>(carried);
  // Half of the lanes away, then a quarter, ...: 16 >> s.
  return SmallVector<Value>(
      k.loop("s", k.index(0), k.index(llvm::Log2_64(lanes)), 1, carried, roles(),
             KernelBuilder::Unroll::full, [&](Value s, ValueRange held) {
               Value shift = arith::IndexCastOp::create(k.b, k.loc, k.b.getI32Type(), s);
               Value half = arith::ConstantIntOp::create(k.b, k.loc, lanes / 2, 32);
               Value mask = k.named(arith::ShRUIOp::create(k.b, k.loc, half, shift), "distance");
               SmallVector<Value> others;
               for (Value value : held)
                 others.push_back(shuffle(value, mask));
               return combineWith(held, others);
             }));
}

SmallVector<Value> Accumulator::acrossWarps(ValueRange carried, int64_t warps, Value thread) {
  SmallVector<Value> parts = acrossLanes(carried, 32);
  Value lane = k.named(k.mod(thread, k.index(32)), "lane"),
        warp = k.named(k.div(thread, k.index(32)), "warp");
  SmallVector<Value> buffers;
  for (auto [part, role] : llvm::zip(parts, roles()))
    buffers.push_back(k.shared({warps}, part.getType(), (role + "_of_warp").str()));
  Value isFirst = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq, lane, k.index(0));
  k.when(isFirst, [&] {
    for (auto [part, buffer] : llvm::zip(parts, buffers))
      k.write(buffer, {warp}, part);
  });
  k.barrier();
  // Every group of `warps` lanes reads all the parts, so that all lanes end with the same total.
  Value source = k.mod(lane, k.index(warps));
  SmallVector<Value> gathered;
  for (Value buffer : buffers)
    gathered.push_back(k.read(buffer, {source}));
  return acrossLanes(gathered, warps);
}

} // namespace dlc::codegen
