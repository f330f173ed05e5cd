//===- Lanes.cpp - Neighbouring results as one vector ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
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
  int64_t width;
  AffineExpr variable;
  AffineExpr start; // bound to the first lane's position
  Value lane;       // number of the lane
  Block *block = nullptr;
  llvm::DenseMap<std::pair<unsigned, AffineExpr>, Value> wide{}; // all lanes at once

  Value load(OpBuilder &builder, unsigned input, AffineExpr offset);
};
} // namespace

/// In the loop over lanes: what is the same for all is loaded before it, neighbours as one vector.
Value LaneLoads::load(OpBuilder &builder, unsigned input, AffineExpr offset) {
  Location loc = k.loc;
  auto plain = [&](OpBuilder &at) -> Value {
    return memref::LoadOp::create(at, loc, k.input(input), k.address(at, offset));
  };
  Stride stride = k.math.strideAlong(offset, variable);
  llvm::DenseMap<AffineExpr, AffineExpr> toStart = {{variable, start}};
  AffineExpr first = k.math.simplify(offset.replace(toStart));
  // Whole vectors: a start that is a multiple of the width lets every other part of the address be one too.
  llvm::DenseMap<AffineExpr, AffineExpr> toVector = {{variable, start * width}};
  bool isAligned = k.math.simplify(offset.replace(toVector)).isMultipleOf(width);
  // Behind a bounds check nothing may be read ahead of it.
  // ... nor before its address is known.
  if (builder.getInsertionBlock() != block || stride == Stride::other ||
      k.math.isComputed(offset) || (stride == Stride::unit && !isAligned))
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
    auto type = VectorType::get({width}, cast<MemRefType>(memref.getType()).getElementType());
    loaded = vector::LoadOp::create(before, loc, type, memref, k.address(before, first));
    k.named(loaded, k.inputRole(input) + std::to_string(width));
  }
  return vector::ExtractOp::create(builder, loc, loaded, OpFoldResult(lane));
}

void storeLanes(KernelBuilder &k, int64_t width, AffineExpr variable, AffineExpr extent,
                Value first, ArrayRef<AffineExpr> indices,
                llvm::function_ref<Value(Value lane)> emit) {
  AffineExpr start = k.math.addLoop(extent, first);
  k.sameAs(start, variable);
  auto elementOf = [](Value tensor) { return getElementTypeOrSelf(tensor.getType()); };
  SmallVector<Value> none;
  SmallVector<std::string> names;
  for (Value tensor : k.body.getResults()) {
    names.push_back((none.empty() ? "y" : "also") + std::to_string(width));
    none.push_back(
        ub::PoisonOp::create(k.b, k.loc, VectorType::get({width}, storageType(elementOf(tensor)))));
  }
  SmallVector<StringRef> roles(names.begin(), names.end());
  ValueRange stored =
      k.loop("e", k.index(0), k.index(width), 1, none, roles, KernelBuilder::Unroll::full,
             [&](Value e, ValueRange carried) {
               LaneLoads loads{k, width, variable, start, e, k.b.getInsertionBlock()};
               k.math.bindLoop(variable, k.add(first, e));
               k.customLoad = [&](OpBuilder &builder, Location, unsigned input, AffineExpr offset) {
                 return loads.load(builder, input, offset);
               };
               SmallVector<Value> vectors(carried);
               k.forEachResult([&] {
                 Value &own = vectors[k.body.selectedResult()];
                 Value lane = toStorage(k.b, k.loc, emit(e), elementOf(k.body.getResult()));
                 own = vector::InsertOp::create(k.b, k.loc, lane, own, OpFoldResult(e));
               });
               k.customLoad = {};
               return vectors;
             });
  llvm::DenseMap<AffineExpr, AffineExpr> toStart = {{variable, start}};
  AffineExpr offset = k.math.simplify(k.resultOffset(indices).replace(toStart));
  for (auto [number, lanes] : llvm::enumerate(stored))
    vector::StoreOp::create(k.b, k.loc, lanes, k.output(number), k.address(k.b, offset));
}

} // namespace dlc::codegen
