//===- Lanes.cpp - Neighbouring results as one vector -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
/// The loads of a loop over lanes.
struct LaneLoads {
  KernelBuilder &k;
  const LaneRange &range;
  Value lane; // number of the lane
  Block *block = nullptr;
  llvm::DenseMap<std::pair<unsigned, AffineExpr>, Value> wide{}; // all lanes at once

  Value load(OpBuilder &builder, unsigned input, AffineExpr offset);
};
} // namespace

LaneRange::LaneRange(KernelBuilder &k, int64_t width, AffineExpr variable, AffineExpr extent,
                     Value first)
    : width(width), variable(variable), start(k.math.addLoop(extent, first)), first(first) {
  k.sameAs(start, variable);
}

/// Whole vectors: a start that is a multiple of the width lets every other part of the address be
/// one too.
static bool isAligned(KernelView &k, AffineExpr offset, AffineExpr variable, AffineExpr start,
                      int64_t width) {
  llvm::DenseMap<AffineExpr, AffineExpr> toVector = {{variable, start * width}};
  return k.math.simplify(offset.replace(toVector)).isMultipleOf(width);
}

bool isOneAccess(KernelView &k, AffineExpr offset, AffineExpr variable, int64_t width) {
  Stride stride = k.math.strideAlong(offset, variable);
  return !k.math.isComputed(offset) &&
         (stride == Stride::uniform ||
          (stride == Stride::unit && isAligned(k, offset, variable, variable, width)));
}

/// In the loop over lanes: what is the same for all is loaded before it, neighbours as one vector.
Value LaneLoads::load(OpBuilder &builder, unsigned input, AffineExpr offset) {
  Location loc = k.loc;
  auto plain = [&](OpBuilder &at) -> Value {
    return memref::LoadOp::create(at, loc, k.input(input), k.address(at, offset));
  };
  Stride stride = k.math.strideAlong(offset, range.variable);
  llvm::DenseMap<AffineExpr, AffineExpr> toStart = {{range.variable, range.start}};
  AffineExpr first = k.math.simplify(offset.replace(toStart));
  // Behind a bounds check nothing may be read ahead of it.
  // ... nor before its address is known.
  if (builder.getInsertionBlock() != block || stride == Stride::other ||
      k.math.isComputed(offset) ||
      (stride == Stride::unit && !isAligned(k, offset, range.variable, range.start, range.width)))
    return plain(builder);
  OpBuilder before(block->getParentOp());
  Value &loaded = wide[{input, first}];
  if (stride == Stride::uniform) {
    if (!loaded)
      loaded = plain(before);
    return loaded;
  }
  auto memref = k.input(input);
  if (!loaded) {
    auto type = VectorType::get({range.width}, cast<MemRefType>(memref.getType()).getElementType());
    loaded = vector::LoadOp::create(before, loc, type, memref, k.address(before, first));
    k.named(loaded, k.inputRole(input) + std::to_string(range.width));
  }
  return vector::ExtractOp::create(builder, loc, loaded, OpFoldResult(lane));
}

ValueRange overLanes(KernelBuilder &k, const LaneRange &range, ValueRange inits,
                     ArrayRef<StringRef> roles, KernelBuilder::Body body) {
  return k.loop("e", k.index(0), k.index(range.width), 1, inits, roles, KernelBuilder::Unroll::full,
                [&](Value lane, ValueRange carried) {
                  LaneLoads loads{k, range, lane, k.b.getInsertionBlock()};
                  k.math.bindLoop(range.variable, k.add(range.first, lane));
                  k.customLoad = [&](OpBuilder &builder, Location, unsigned input,
                                     AffineExpr offset) {
                    return loads.load(builder, input, offset);
                  };
                  SmallVector<Value> yielded = body(lane, carried);
                  k.customLoad = {};
                  return yielded;
                });
}

void storeLanes(KernelBuilder &k, int64_t width, AffineExpr variable, AffineExpr extent,
                Value first, ArrayRef<AffineExpr> indices,
                llvm::function_ref<Value(Value lane)> emit, Value where) {
  LaneRange range(k, width, variable, extent, first);
  auto elementOf = [](Value tensor) { return getElementTypeOrSelf(tensor.getType()); };
  SmallVector<Value> none;
  SmallVector<unsigned> numbers; // of the results that have elements along the lanes
  SmallVector<std::string> names;
  for (auto [number, tensor] : llvm::enumerate(k.body.getResults())) {
    if (k.body.isOfRow(number))
      continue;
    numbers.push_back(number);
    names.push_back((none.empty() ? "y" : "also") + std::to_string(width));
    none.push_back(
        ub::PoisonOp::create(k.b, k.loc, VectorType::get({width}, storageType(elementOf(tensor)))));
  }
  SmallVector<StringRef> roles(names.begin(), names.end());
  ValueRange stored = overLanes(k, range, none, roles, [&](Value lane, ValueRange carried) {
    SmallVector<Value> vectors(carried);
    k.forEachResult([&] {
      Value &own = vectors[llvm::find(numbers, k.body.selectedResult()) - numbers.begin()];
      Value element = toStorage(k.b, k.loc, emit(lane), elementOf(k.body.getResult()));
      own = vector::InsertOp::create(k.b, k.loc, element, own, OpFoldResult(lane));
    });
    return vectors;
  });
  llvm::DenseMap<AffineExpr, AffineExpr> toStart = {{variable, range.start}};
  k.body.select(numbers.front());
  AffineExpr offset = k.math.simplify(k.resultOffset(indices).replace(toStart));
  k.body.select(0);
  k.when(where, [&] {
    for (auto [number, lanes] : llvm::zip_equal(numbers, stored))
      vector::StoreOp::create(k.b, k.loc, lanes, k.output(number), k.address(k.b, offset));
  });
}

} // namespace dlc::codegen
