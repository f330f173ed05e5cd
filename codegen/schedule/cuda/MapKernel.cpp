//===- MapKernel.cpp - Kernels without a root: a flat grid over the result -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cuda/Schedules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
class MapSchedule {
public:
  explicit MapSchedule(KernelBuilder &k) : k(k) {}
  void run();

private:
  void findGroups();
  /// Lanes of one thread: as many neighbours as fit an access of 16 bytes, or 1 where rows do not hold whole vectors.
  int64_t lanes() const;
  void element();
  void vectorOf(int64_t lanes, Value first);
  Value loadLane(OpBuilder &builder, unsigned input, AffineExpr offset);

  KernelBuilder &k;
  SmallVector<unsigned> order; // dims of the result, outermost in memory first
  SmallVector<DimGroup> groups;
  SmallVector<AffineExpr> indices; // of the result's dims, over the groups' variables

  // While a vector is computed lane by lane:
  int64_t width = 1;
  AffineExpr start; // bound to the first lane's position in the last group
  Value lane;       // number of the lane
  Block *laneBlock = nullptr;
  Operation *laneLoop = nullptr;
  llvm::DenseMap<std::pair<unsigned, AffineExpr>, Value> wide; // loads of all lanes at once
};
} // namespace

void MapSchedule::findGroups() {
  RankedTensorType type = k.body.getResultType();
  dl::Layout layout = dl::getLayout(type);
  ArrayRef<AffineExpr> extents = k.body.getNest().parallel;
  SmallVector<AffineExpr> variables;
  for (unsigned dim = 0; dim < extents.size(); ++dim) {
    order.push_back(layout.order.empty() ? dim : layout.order[dim]);
    variables.push_back(k.math.addLoop(extents[dim]));
  }
  llvm::SmallBitVector pinned = k.pinnedDims(variables, variables, {});
  SmallVector<AffineExpr> addresses = {k.resultOffset(variables)};
  k.body.visitReads(k.body.getResult(), variables, [&](unsigned, AffineExpr offset, bool) {
    addresses.push_back(offset);
    return true;
  });
  groups =
      mergeDims(k.math, order, variables, extents, addresses, pinned, resultRoles(extents.size()));
  indices.resize(extents.size());
  bindGroups(k.math, groups, order, indices);
}

int64_t MapSchedule::lanes() const {
  if (groups.empty())
    return 1;
  unsigned bits = storageType(k.body.getResultType().getElementType()).getIntOrFloatBitWidth();
  int64_t count = bits <= 16 ? 8 : 4;
  // A single row may end within a vector: its tail is scalar. Vectors of several rows must not straddle them.
  return groups.size() == 1 || groups.back().extent.isMultipleOf(count) ? count : 1;
}

void MapSchedule::element() { k.store(k.resultOffset(indices), k.body.emitMap(k.b, indices)); }

/// In the loop over lanes: what is the same for all is loaded before it, neighbours as one vector.
Value MapSchedule::loadLane(OpBuilder &builder, unsigned input, AffineExpr offset) {
  Location loc = k.loc;
  auto plain = [&](OpBuilder &at) -> Value {
    return memref::LoadOp::create(at, loc, k.input(input), k.address(at, offset));
  };
  AffineExpr variable = groups.back().variable;
  Stride stride = k.math.strideAlong(offset, variable);
  llvm::DenseMap<AffineExpr, AffineExpr> toStart = {{variable, start}};
  AffineExpr first = k.math.simplify(offset.replace(toStart));
  // Whole vectors: a start that is a multiple of the width lets every other part of the address be one too.
  llvm::DenseMap<AffineExpr, AffineExpr> toVector = {{variable, start * width}};
  bool isAligned = k.math.simplify(offset.replace(toVector)).isMultipleOf(width);
  // Behind a bounds check nothing may be read ahead of it.
  // ... nor before its address is known.
  if (builder.getInsertionBlock() != laneBlock || stride == Stride::other ||
      k.math.isComputed(offset) || (stride == Stride::unit && !isAligned))
    return plain(builder);
  OpBuilder before(laneLoop);
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

void MapSchedule::vectorOf(int64_t count, Value first) {
  width = count;
  start = k.math.addLoop(groups.back().extent, first);
  k.sameAs(start, groups.back().variable);
  wide.clear();
  RankedTensorType type = k.body.getResultType();
  auto vectorType = VectorType::get({width}, storageType(type.getElementType()));
  Value none = ub::PoisonOp::create(k.b, k.loc, vectorType);
  std::string role = "y" + std::to_string(width);
  ValueRange result = k.loop(
      "e", k.index(0), k.index(width), 1, none, {role}, KernelBuilder::Unroll::full,
      [&](Value e, ValueRange carried) -> SmallVector<Value> {
        lane = e;
        laneBlock = k.b.getInsertionBlock();
        laneLoop = laneBlock->getParentOp();
        k.math.bindLoop(groups.back().variable, k.add(first, e));
        k.customLoad = [&](OpBuilder &builder, Location, unsigned input, AffineExpr offset) {
          return loadLane(builder, input, offset);
        };
        Value value = k.body.emitMap(k.b, indices);
        k.customLoad = {};
        Value stored = toStorage(k.b, k.loc, value, type.getElementType());
        return {vector::InsertOp::create(k.b, k.loc, stored, carried.front(), OpFoldResult(e))};
      });
  llvm::DenseMap<AffineExpr, AffineExpr> toStart = {{groups.back().variable, start}};
  AffineExpr offset = k.math.simplify(k.resultOffset(indices).replace(toStart));
  vector::StoreOp::create(k.b, k.loc, result.front(), k.output(), k.address(k.b, offset));
}

void MapSchedule::run() {
  findGroups();
  int64_t count = lanes();
  AffineExpr total = totalExtent(k.math, groups);
  Value thread = k.add(k.mul(k.block(gpu::Dimension::x, "block"), kThreads), k.thread());
  Value end = k.index(total);
  if (count == 1) {
    Value position = k.named(thread, "i");
    k.when(k.less(position, end), [&] {
      k.bindFlat(position, groups);
      element();
    });
  } else {
    Value first = k.named(k.mul(thread, count), "first");
    bool hasTail = !total.isMultipleOf(count);
    Value last = hasTail ? k.add(first, k.index(count - 1)) : first;
    auto whole = [&] {
      k.bindFlat(first, groups);
      // The last group's variable is bound once for each lane; the vector begins where it stands now.
      Value begin = k.index(groups.back().variable);
      vectorOf(count, begin);
    };
    auto tail = [&] {
      k.loop("i", first, end, 1, KernelBuilder::Unroll::never, [&](Value i) {
        k.math.bindLoop(groups.back().variable, i);
        element();
      });
    };
    if (hasTail)
      k.when(k.less(last, end), whole, tail);
    else
      k.when(k.less(first, end), whole);
  }
  k.finish(kThreads, {k.ceilDiv(total, kThreads * count)});
}

void scheduleMap(KernelBuilder &k) { MapSchedule(k).run(); }

} // namespace dlc::codegen
