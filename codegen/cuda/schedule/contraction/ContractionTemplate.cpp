//===- ContractionTemplate.cpp - A matrix product as a call of a template -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionTemplate.h"

#include "codegen/cuda/schedule/Lanes.h"
#include "codegen/cuda/schedule/Places.h"
#include "codegen/plan/Combine.h"
#include "ir/analysis/CostModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

/// Taps of a window that a word has bits for.
static constexpr int64_t kMostTaps = 32;
/// Totals of a pool's window, over all columns of a store, that a thread holds.
static constexpr int64_t kMostTotals = 36;

//===- The call -------------------------------------------------------------------------------===//

ContractionTemplate::ContractionTemplate(KernelBuilder &k, Contraction &c, bool swapped,
                                         std::optional<ByteProduct> bytes)
    : k(k), c(c), swapped(swapped), bytes(bytes), rows(swapped ? c.n : c.m),
      columns(swapped ? c.m : c.n),
      elementBytes(storageType(elementType()).getIntOrFloatBitWidth() / 8) {}

Type ContractionTemplate::elementType() const {
  return bytes ? k.b.getI8Type() : getElementTypeOrSelf(storedTensor(0).getType());
}

Value ContractionTemplate::storedTensor(unsigned term) const {
  return bytes ? bytes->operands[term].stored
               : k.body.getRoot()->getOperand(c.nest.terms[term].operand);
}

Value ContractionTemplate::storedByte(Value value, int64_t zeroPoint) {
  if (memref::LoadOp load = byteLoadOf(value, zeroPoint))
    return load.getResult();
  if (zeroPoint != 0)
    value = arith::AddIOp::create(
        k.b, k.loc, value,
        arith::ConstantOp::create(k.b, k.loc, k.b.getIntegerAttr(value.getType(), zeroPoint)));
  return arith::TruncIOp::create(k.b, k.loc, k.b.getI8Type(), value);
}

Value ContractionTemplate::emitElement(unsigned term) const {
  if (bytes && bytes->isFloat8)
    return k.body.emitStoredRead(k.b, term, storedTensor(term), c.loops());
  return k.body.emitTermRead(k.b, term, c.loops());
}

memref::LoadOp ContractionTemplate::loadOfElement(unsigned term, Value value) const {
  if (!bytes || bytes->isFloat8)
    return loadOf(value, storageType(elementType()));
  return byteLoadOf(value, bytes->operands[term].zeroPoint);
}

void ContractionTemplate::describeBytes(
    SmallVectorImpl<std::pair<StringRef, int64_t>> &numbers) const {
  if (!bytes)
    return;
  numbers.push_back({"float8", bytes->isFloat8});
  if (bytes->isFloat8)
    return;
  for (auto [isSigned, zero, term] : {std::tuple("signed_a", "zero_a", swapped ? 1 : 0),
                                      std::tuple("signed_b", "zero_b", swapped ? 0 : 1)}) {
    numbers.push_back({isSigned, bytes->isSigned(term)});
    numbers.push_back({zero, bytes->operands[term].zeroPoint});
  }
}

bool ContractionTemplate::liesAcross(unsigned term, const Side &side) const {
  if (side.groups.empty())
    return false;
  SmallVector<AffineExpr> offsets;
  c.visitTerm(term, c.loops(), [&](AffineExpr offset) { offsets.push_back(offset); });
  return offsets.size() == 1 &&
         k.math.strideAlong(offsets.front(), side.groups.back().variable) == Stride::unit;
}

int64_t ContractionTemplate::widthAlong(unsigned term, const Side &side) const {
  if (side.groups.empty() || c.nest.terms[term].isComputed())
    return 0;
  SmallVector<AffineExpr> offsets;
  c.visitTerm(term, c.loops(), [&](AffineExpr offset) { offsets.push_back(offset); });
  if (offsets.size() != 1)
    return 0;
  // Dims that the other operand keeps apart may be one long row to this one: a filter's.
  auto [offset, variable] = k.overFlat(offsets.front(), side.groups);
  AffineExpr extent = side.extent;
  ArrayRef<DimGroup> moved = side.groups;
  if (!offset || k.math.strideAlong(offset, variable) != Stride::unit) {
    offset = offsets.front();
    moved = moved.take_back();
    variable = moved.front().variable;
    extent = moved.front().extent;
  }
  if (k.math.strideAlong(offset, variable) != Stride::unit)
    return 0;
  for (const DimGroup &group : moved)
    if (k.body.termNeedsScalarAlong(group.variable, term, c.loops()))
      return 0;
  for (int64_t width = 16 / elementBytes; width > 1; width /= 2) {
    llvm::DenseMap<AffineExpr, AffineExpr> toWhole = {{variable, variable * width}};
    if (extent.isMultipleOf(width) && k.math.simplify(offset.replace(toWhole)).isMultipleOf(width))
      return width;
  }
  return 0;
}

void ContractionTemplate::peek(unsigned term, const Side &side,
                               llvm::function_ref<void(Value)> look) const {
  Block scratch;
  Value row = scratch.addArgument(k.b.getIndexType(), k.loc),
        depth = scratch.addArgument(k.b.getIndexType(), k.loc),
        batch = scratch.addArgument(k.b.getIndexType(), k.loc);
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToStart(&scratch);
  k.bindFlat(batch, c.batch.groups);
  k.bindFlat(row, side.groups);
  k.bindFlat(depth, c.depth.groups);
  look(emitElement(term));
  scratch.dropAllDefinedValueUses();
}

std::optional<unsigned> ContractionTemplate::plainInput(unsigned term, const Side &side) const {
  std::optional<unsigned> input;
  if (!c.nest.terms[term].isComputed())
    peek(term, side, [&](Value value) {
      memref::LoadOp load = loadOfElement(term, value);
      if (auto buffer = load ? dyn_cast<BlockArgument>(load.getMemRef()) : BlockArgument())
        input = buffer.getArgNumber();
    });
  return input;
}

bool ContractionTemplate::isFound(const Operand &operand) const {
  bool found = false;
  if (!c.nest.terms[operand.term].isComputed())
    peek(operand.term, operand.side, [&](Value value) {
      found = isPlace(value, [&](Value element) { return loadOfElement(operand.term, element); });
    });
  return found;
}

unsigned ContractionTemplate::loopsOfK() const {
  ArrayRef<DimGroup> groups = c.depth.groups;
  bool areKnown = groups.size() > 1 && llvm::all_of(groups.drop_front(), [](const DimGroup &group) {
                    return dl::asConstant(group.extent).has_value();
                  });
  return tellsLoops && areKnown && groups.size() <= 4 ? groups.size() : 1;
}

Attribute ContractionTemplate::operandRoles(StringRef row) const {
  SmallVector<StringRef> names = {row, "k"};
  if (loopsOfK() > 1)
    for (const DimGroup &group : c.depth.groups)
      names.push_back(group.role);
  return k.b.getStrArrayAttr(names);
}

SmallVector<Type> ContractionTemplate::operandTypes() const {
  return SmallVector<Type>(loopsOfK() > 1 ? 2 + loopsOfK() : 2, k.b.getIndexType());
}

dlk::CallOp ContractionTemplate::createCall(StringRef callee, StringRef header,
                                            ArrayRef<Attribute> operands, bool hasPlace) {
  SmallVector<Value> values = {k.index(rows.extent), k.index(columns.extent),
                               k.index(c.depth.extent)};
  SmallVector<Attribute> all(operands);
  all.push_back(k.b.getStrArrayAttr({"m", "n", "total"}));
  if (hasPlace)
    all.push_back(operandRoles("m"));
  return dlk::CallOp::create(k.b, k.loc, callee, header, storageType(elementType()),
                             k.b.getDictionaryAttr({}), k.b.getArrayAttr(all), values,
                             /*exchange=*/Value(), all.size());
}

void ContractionTemplate::bindOperand(Block &block, const Side &side) {
  k.bindFlat(block.getArgument(0), side.groups);
  if (loopsOfK() > 1)
    k.bindFlat(block.getArgument(1), block.getArguments().drop_front(2), c.depth.groups);
  else
    k.bindFlat(block.getArgument(1), c.depth.groups);
}

int64_t ContractionTemplate::tapsOf(const Operand &operand) const {
  return loopsOfK() > 1 && c.nest.terms[operand.term].checked ? separableTaps(operand) : 0;
}

int64_t ContractionTemplate::separableTaps(const Operand &operand) const {
  if (operand.width == 0 || c.depth.groups.empty() || loopsOfK() != c.depth.groups.size() ||
      !isa<BlockArgument>(storedTensor(operand.term)))
    return 0;
  int64_t taps = 1;
  for (const DimGroup &group : ArrayRef(c.depth.groups).drop_back())
    taps *= dl::asConstant(group.extent).value_or(kMostTaps + 1);
  if (taps > kMostTaps ||
      k.body.termNeedsScalarAlong(c.depth.groups.back().variable, operand.term, c.loops()))
    return 0;
  // The place is a sum of what rows and what steps of k make of it.
  SmallVector<AffineExpr> offsets;
  c.visitTerm(operand.term, c.loops(), [&](AffineExpr offset) { offsets.push_back(offset); });
  if (offsets.size() != 1)
    return 0;
  llvm::DenseMap<AffineExpr, AffineExpr> atZero;
  for (const DimGroup &group : c.depth.groups)
    atZero[group.variable] = k.math.constant(0);
  AffineExpr along = k.math.simplify(offsets.front() - offsets.front().replace(atZero));
  bool isSum = llvm::none_of(operand.side.groups, [&](const DimGroup &group) {
    return along.isFunctionOfDim(cast<AffineDimExpr>(group.variable).getPosition());
  });
  return isSum ? taps : 0;
}

void ContractionTemplate::place(dlk::CallOp call, unsigned body, const Operand &operand) {
  OpBuilder::InsertionGuard guard(k.b);
  bindOperand(dlk::beginBody(k.b, call, body, operandTypes()), operand.side);
  Value offset;
  c.visitTerm(operand.term, c.loops(),
              [&](AffineExpr address) { offset = k.address(k.b, address); });
  dlk::GiveOp::create(k.b, k.loc, offset);
}

void ContractionTemplate::read(dlk::CallOp call, unsigned body, Operand &operand, bool rounded) {
  OpBuilder::InsertionGuard guard(k.b);
  bindOperand(dlk::beginBody(k.b, call, body, operandTypes()), operand.side);
  Value value = emitElement(operand.term);
  auto find = [&](Value element) { return loadOfElement(operand.term, element); };
  if (operand.width && isPlace(value, find)) {
    value = placeOf(value, find);
  } else {
    operand.width = 0;
    if (bytes && !bytes->isFloat8)
      value = storedByte(value, bytes->operands[operand.term].zeroPoint);
    else if (memref::LoadOp load = rounded ? find(value) : nullptr)
      value = load.getResult();
    else if (rounded && !bytes)
      value = toStorage(k.b, k.loc, value, elementType());
  }
  dlk::GiveOp::create(k.b, k.loc, value);
}

void ContractionTemplate::finish(dlk::CallOp call, unsigned body, int64_t width) {
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType(), sum = k.body.accumulatorType(0);
  SmallVector<Type> types = {index, index, width ? VectorType::get({width}, sum) : Type(sum)};
  if (tellsBatch)
    types.insert(types.begin(), index);
  if (tellsInside)
    types.push_back(k.b.getI1Type());
  Block &block = dlk::beginBody(k.b, call, body, types);
  ArrayRef<BlockArgument> at = block.getArguments().drop_front(tellsBatch ? 1 : 0);
  if (tellsBatch)
    k.bindFlat(block.getArgument(0), c.batch.groups);
  k.bindFlat(at[0], rows.groups);
  k.bindFlat(at[1], columns.groups);
  Value totals = at[2], inside = tellsInside ? Value(at[3]) : Value();
  auto total = [&](OpFoldResult lane) -> Value {
    return width ? vector::ExtractOp::create(k.b, k.loc, totals, lane).getResult() : totals;
  };
  if (width <= 1) {
    k.forEachResult([&] {
      Value value = k.body.emitResult(k.b, c.parallel, total(k.b.getIndexAttr(0)));
      k.when(inside, [&] { k.store(k.resultOffset(c.parallel), value); });
    });
  } else {
    const DimGroup &inner = columns.groups.back();
    Value first = k.index(inner.variable);
    storeLanes(
        k, width, inner.variable, inner.extent, first, c.parallel,
        [&](Value lane) { return k.body.emitResult(k.b, c.parallel, total(lane)); }, inside);
  }
  dlk::GiveOp::create(k.b, k.loc, Value());
}

void ContractionTemplate::finishPooled(dlk::CallOp call, unsigned body, int64_t width) {
  OpBuilder::InsertionGuard guard(k.b);
  int64_t window = k.body.getWindow(), room = (window * width + 3) / 4 * 4;
  Type index = k.b.getIndexType(), sum = k.body.accumulatorType(0);
  Block &block = dlk::beginBody(k.b, call, body, {index, index, VectorType::get({room}, sum)});
  Value totals = block.getArgument(2);
  // The window's dims, which the result does not have, move fastest.
  SmallVector<DimGroup> places, inside;
  for (const DimGroup &group : rows.groups)
    (group.dims.front() < k.body.getResultType().getRank() ? places : inside).push_back(group);
  k.bindFlat(block.getArgument(0), places);
  k.bindFlat(block.getArgument(1), columns.groups);

  Combiner combiner = k.body.poolCombiner();
  Type type = k.body.poolType();
  ScalarKind kind = k.body.poolKind();
  StringRef role = combiner == Combiner::add ? "sum" : "best";
  auto value = [&](Value lane) {
    Value none = neutral(k.b, k.loc, combiner, type, kind);
    ValueRange combined =
        k.loop("p", k.index(0), k.index(window), 1, none, {role}, KernelBuilder::Unroll::full,
               [&](Value p, ValueRange carried) -> SmallVector<Value> {
                 k.bindFlat(p, inside);
                 Value at = k.add(k.mul(p, width), lane);
                 Value total = vector::ExtractOp::create(k.b, k.loc, totals, OpFoldResult(at));
                 Value term = k.body.emitPoolTerm(k.b, c.parallel, total);
                 return {combine(k.b, k.loc, combiner, kind, carried.front(), term)};
               });
    return k.body.emitPoolResult(k.b, c.parallel, combined.front());
  };
  if (width == 1) {
    k.store(k.resultOffset(c.parallel), value(k.index(0)));
  } else {
    const DimGroup &inner = columns.groups.back();
    Value first = k.index(inner.variable);
    storeLanes(k, width, inner.variable, inner.extent, first, c.parallel, value);
  }
  dlk::GiveOp::create(k.b, k.loc, Value());
}

int64_t ContractionTemplate::lanes() const {
  int64_t width = std::min<int64_t>(8, 128 / k.resultBits());
  while (width > 1 && width * k.body.getWindow() > kMostTotals)
    width /= 2;
  if (columns.groups.empty())
    return 1;
  const DimGroup &inner = columns.groups.back();
  AffineExpr offset = k.resultOffset(c.parallel);
  llvm::DenseMap<AffineExpr, AffineExpr> toWhole = {{inner.variable, inner.variable * width}};
  bool isWhole = inner.extent.isMultipleOf(width) &&
                 k.math.strideAlong(offset, inner.variable) == Stride::unit &&
                 k.math.simplify(offset.replace(toWhole)).isMultipleOf(width) &&
                 !k.body.resultNeedsScalarAlong(inner.variable, c.parallel);
  return isWhole ? width : 1;
}

ProductShape ContractionTemplate::shape(int64_t most) const {
  auto usual = [&](const Side &side) {
    int64_t extent = k.usual(side.extent, k.largest(side.extent).value_or(kUsualExtent));
    return std::min(extent, dl::asConstant(side.extent) ? kLongestSide : most);
  };
  auto areApart = [&](unsigned term, const Side &side) {
    return elementBytes < 4 && widthAlong(term, c.depth) * elementBytes < 4 &&
           (elementBytes == 1 || widthAlong(term, side) == 0);
  };
  int64_t finishing = 0, reads = 0;
  auto isAsLarge = [&](Value read) {
    auto type = dyn_cast<RankedTensorType>(read.getType());
    return type && isa<BlockArgument>(read) &&
           dl::product(dl::getDims(type), k.b.getContext()) ==
               dl::product(c.nest.parallel, k.b.getContext());
  };
  for (Operation *op = k.body.getRoot()->getNextNode(); op; op = op->getNextNode())
    if (auto nest = dyn_cast<LoopNestOpInterface>(op)) {
      finishing += resultCost(nest);
      reads += llvm::count_if(op->getOperands(), isAsLarge);
    }
  return {usual(rows),
          usual(columns),
          usual(c.depth),
          usual(c.batch),
          elementBytes,
          k.body.getWindow(),
          areApart(swapped ? 1 : 0, rows),
          areApart(swapped ? 0 : 1, columns),
          finishing,
          reads,
          bytes && bytes->isFloat8};
}

bool ContractionTemplate::mayShareTiles() const {
  // The memory that takes parts takes floats. Where wgmma pays for all shapes, tiles are many.
  dlx::KernelOp kernel = k.body.getKernel();
  bool may = !bytes && k.mayExchange();
  if (kernel.getVariants())
    for (auto variant : kernel.getVariants()->getAsRange<dlx::VariantAttr>())
      may &= variant.getGpu() == 0 || variant.getOf();
  return may;
}

AffineExpr ContractionTemplate::tiles(const ProductTile &tile) const {
  return dl::normalize(k.ceilDiv(rows.extent, tile.usedRows(k.body.getWindow())) *
                       k.ceilDiv(columns.extent, tile.n) * c.batch.extent);
}

ProductTile ContractionTemplate::tileFor(ProductUnit unit,
                                         const std::optional<ProductTile> &wanted) const {
  ProductTile tile = wanted ? *wanted : chooseTile(unit, shape(), k.gpu(), mayShareTiles());
  // Over the whole range of its shapes the product is as small as that.
  if (tile.parts > 1 &&
      k.largest(tiles(tile)).value_or(INT64_MAX) > k.gpu().multiprocessors / tile.parts)
    tile = chooseTile(unit, shape(), k.gpu());
  return tile;
}

Value ContractionTemplate::source(const Operand &operand) const {
  unsigned input = 0;
  SmallVector<AffineExpr> at;
  for (AffineExpr expr : c.nest.terms[operand.term].map.getResults())
    at.push_back(k.math.simplify(expr.replaceDims(c.loops())));
  k.body.visitReads(k.body.getRoot()->getOperand(c.nest.terms[operand.term].operand), at,
                    [&](unsigned position, AffineExpr, bool) {
                      input = position;
                      return true;
                    });
  if (operand.width)
    return k.input(input);
  auto none = MemRefType::get({ShapedType::kDynamic}, storageType(elementType()));
  return ub::PoisonOp::create(k.b, k.loc, none);
}

void ContractionTemplate::complete(dlk::CallOp call, ArrayRef<Operand> operands,
                                   ArrayRef<std::pair<StringRef, int64_t>> numbers) {
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPoint(call);
  for (const Operand &operand : operands)
    call.getValuesMutable().append(source(operand));
  SmallVector<NamedAttribute> config;
  for (auto [name, value] : numbers)
    config.push_back(k.b.getNamedAttr(name, k.b.getI64IntegerAttr(value)));
  if (tellsLoops)
    config.push_back(k.b.getNamedAttr("k_loops", k.b.getI64IntegerAttr(loopsOfK())));
  for (unsigned loop = 1; loop < loopsOfK(); ++loop)
    config.push_back(
        k.b.getNamedAttr("k_" + std::to_string(loop),
                         k.b.getI64IntegerAttr(*dl::asConstant(c.depth.groups[loop].extent))));
  call.setConfigAttr(k.b.getDictionaryAttr(config));
}

} // namespace dlc::codegen
