//===- BodyEmitter.cpp - Emits what a kernel computes at an index -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/BodyEmitter.h"

#include "ir/analysis/FusionLegality.h"
#include "ir/scalar/Scalar.h"
#include "ir/scalar/SmallFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

#include <set>

using namespace mlir;

namespace dlc::codegen {

Type storageType(Type elementType) {
  if (isSmallFloat(elementType))
    return IntegerType::get(elementType.getContext(), 8);
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), std::max(8u, integer.getWidth()));
  return elementType;
}

Value fromStorage(OpBuilder &builder, Location loc, Value value, Type elementType) {
  // A stored bool is any byte that is not 0; narrow floats compute in f32.
  if (isSmallFloat(elementType))
    return wideSmallFloat(builder, loc, value, cast<FloatType>(elementType));
  ScalarKind kind = scalarKind(elementType);
  ScalarKind stored = kind == ScalarKind::boolean ? ScalarKind::unsignedInt : kind;
  return Scalar(builder, loc, value, stored).convertTo(computeType(elementType), kind).value();
}

Value toStorage(OpBuilder &builder, Location loc, Value value, Type elementType) {
  if (isSmallFloat(elementType))
    return bitsOfSmallFloat(builder, loc, value, cast<FloatType>(elementType));
  ScalarKind kind = scalarKind(elementType);
  ScalarKind stored = kind == ScalarKind::boolean ? ScalarKind::unsignedInt : kind;
  return Scalar(builder, loc, value, kind).convertTo(storageType(elementType), stored).value();
}

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

/// Scalars among vectors become vectors of equal lanes.
static void alignShapes(OpBuilder &builder, Location loc, SmallVectorImpl<Value> &values) {
  VectorType shape;
  for (Value value : values)
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      shape = vector;
  if (!shape)
    return;
  for (Value &value : values)
    if (!isa<VectorType>(value.getType()))
      value = vector::BroadcastOp::create(builder, loc, shape.clone(value.getType()), value);
}

BodyEmitter::BodyEmitter(dlx::KernelOp kernel, IndexMath &math, Load load)
    : kernel(kernel), math(math), load(std::move(load)) {
  result = kernel.getResultTensors().front();
  if (kernel.getKind() == dlx::KernelKind::recurrent)
    results = {result};
  else
    results = llvm::to_vector<2>(kernel.getResultTensors());
  if (kernel.getInPlace()) {
    update = result.getDefiningOp<dl::UpdateSliceOp>();
    start = math.addComputed(dl::getDims(typeOf(update.getX()))[placedDim()]);
    result = update.getSrc();
    results = {result};
  }
  if (kernel.getKind() == dlx::KernelKind::contraction && kernel.getResultTensors().size() == 1)
    pooled = findPooledProduct(llvm::map_to_vector(kernel.getBodyBlock().without_terminator(),
                                                   [](Operation &op) { return &op; }),
                               result);
  if (kernel.getKind() == dlx::KernelKind::rows) {
    rows = findRowKernel(llvm::map_to_vector(kernel.getBodyBlock().without_terminator(),
                                             [](Operation &op) { return &op; }),
                         kernel.getResultTensors());
    assert(rows && "the verifier has seen to it");
    root = rows->reductions.back().op;
    nest = rows->nest;
    return;
  }
  if (pooled) {
    root = pooled->product;
    nest = pooled->nest;
    poolNest = pooled->pool.getLoopNest();
    return;
  }
  for (auto op : kernel.getBodyBlock().getOps<LoopNestOpInterface>()) {
    LoopNest loops = op.getLoopNest();
    // The products between the layers of a stack are part of their steps.
    if (loops.isMap() || kernel.getKind() == dlx::KernelKind::recurrent)
      continue;
    root = op;
    nest = std::move(loops);
  }
  if (!root) {
    nest.parallel = dl::getDims(getResultType());
    nest.indexDims.resize(nest.parallel.size());
  }
}

SmallVector<unsigned> BodyEmitter::memoryOrder() const {
  dl::Layout layout;
  for (auto [number, tensor] : llvm::enumerate(results))
    if (!isOfRow(number))
      layout = dl::getLayout(typeOf(tensor));
  SmallVector<unsigned> order(layout.order.begin(), layout.order.end());
  // The dims of a window, which the results do not have, come last.
  for (unsigned dim = order.size(); dim < nest.parallel.size(); ++dim)
    order.push_back(dim);
  return order;
}

SmallVector<unsigned> BodyEmitter::usedSymbols() const {
  std::set<unsigned> used;
  auto scan = [&](ArrayRef<AffineExpr> dims) {
    for (AffineExpr dim : dims)
      for (unsigned symbol = 0; symbol < dl::kMaxSymbols; ++symbol)
        if (dim.isFunctionOfSymbol(symbol))
          used.insert(symbol);
  };
  Block &block = dlx::KernelOp(kernel).getBodyBlock();
  if (std::optional<dlx::PartAttr> part = dlx::KernelOp(kernel).getPart())
    scan(part->getWithin().getValue().getResults());
  for (Value argument : block.getArguments())
    scan(dl::getDims(typeOf(argument)));
  for (Operation &op : block) {
    for (Value value : op.getResults())
      scan(dl::getDims(typeOf(value)));
    // Dims that an op computes with, while no tensor has them.
    for (NamedAttribute attribute : op.getAttrDictionary())
      if (auto map = dyn_cast<AffineMapAttr>(attribute.getValue()))
        scan(map.getValue().getResults());
  }
  return SmallVector<unsigned>(used.begin(), used.end());
}

AffineExpr BodyEmitter::offset(RankedTensorType type, ArrayRef<AffineExpr> indices) const {
  return math.simplify(dl::physicalOffset(type, indices));
}

//===- In place -------------------------------------------------------------------------------===//

unsigned BodyEmitter::placedDim() const {
  auto op = update;
  int64_t dim = op.getDim(), rank = typeOf(op.getX()).getRank();
  return dim < 0 ? dim + rank : dim;
}

ArrayRef<AffineExpr> BodyEmitter::startIndices(ArrayRef<AffineExpr> indices) const {
  auto op = update;
  return indices.take_front(typeOf(op.getStart()).getRank());
}

AffineExpr BodyEmitter::resultOffset(ArrayRef<AffineExpr> indices) const {
  SmallVector<AffineExpr> moved = resultIndices(selected, indices);
  if (std::optional<dlx::PartAttr> part = dlx::KernelOp(kernel).getPart()) {
    moved[part->getDim()] = moved[part->getDim()] + part->getFirst();
    return offset(part->wholeOf(getResultType()), moved);
  }
  if (!update)
    return offset(getResultType(), moved);
  auto op = update;
  moved[placedDim()] = moved[placedDim()] + start;
  return offset(typeOf(op.getX()), moved);
}

void BodyEmitter::bindPlace(OpBuilder &builder, ArrayRef<AffineExpr> indices) {
  if (!update)
    return;
  Location loc = update.getLoc();
  Value at = emit(builder, update.getStart(), startIndices(indices));
  if (isa<VectorType>(at.getType())) // its lanes are equal
    at = vector::ExtractOp::create(builder, loc, at, 0);
  auto extent = [&](AffineExpr dim) { return math.materialize(builder, loc, dim); };
  BodyContext context{builder, loc, {}, extent};
  math.bindLoop(start, dl::clampedStart(context, at, update.getStart(),
                                        dl::getDims(typeOf(update.getX()))[placedDim()],
                                        dl::getDims(typeOf(update.getSrc()))[placedDim()]));
}

//===- Reads ----------------------------------------------------------------------------------===//

AffineExpr BodyEmitter::coordinate(const Reads &reads, unsigned access, unsigned dim) const {
  AffineExpr &variable = coordinates[{reads.op, 2 * access + reads.isTerm, dim}];
  if (!variable)
    variable = math.addComputed(dl::getDims(typeOf(reads.tensor(access)))[dim]);
  return variable;
}

SmallVector<AffineExpr> BodyEmitter::indicesOf(const Reads &reads, unsigned access) const {
  const Access &made = reads.accesses()[access];
  SmallVector<AffineExpr> indices;
  for (AffineExpr expr : made.map.getResults())
    indices.push_back(math.simplify(expr.replaceDims(reads.loops)));
  for (unsigned dim : made.computed.set_bits())
    indices[dim] = coordinate(reads, access, dim);
  return indices;
}

SmallVector<BodyEmitter::BoundsTest> BodyEmitter::boundsTests(const Reads &reads, unsigned access,
                                                              ArrayRef<AffineExpr> indices) const {
  SmallVector<BoundsTest> tests;
  const Access &made = reads.accesses()[access];
  if (!made.checked)
    return tests;
  for (auto [dim, extent] : llvm::enumerate(dl::getDims(typeOf(reads.tensor(access))))) {
    // Of a computed index nothing is known; its variable has the range that the tests ensure.
    bool isComputed = made.isComputed() && made.computed.test(dim);
    bool low = isComputed || !math.isNonNegative(indices[dim]),
         high = isComputed || !math.isBelow(indices[dim], extent);
    if (low || high)
      tests.push_back({indices[dim], extent, low, high});
  }
  return tests;
}

Value BodyEmitter::read(OpBuilder &builder, const Reads &reads, unsigned access) {
  Value tensor = reads.tensor(access);
  return readInside(
      builder, reads, access, scalarKind(typeOf(tensor).getElementType()),
      [&](OpBuilder &at, ArrayRef<AffineExpr> indices) { return valueAt(at, tensor, indices); });
}

Value BodyEmitter::readInside(
    OpBuilder &builder, const Reads &reads, unsigned access, ScalarKind kind,
    llvm::function_ref<Value(OpBuilder &, ArrayRef<AffineExpr>)> valueOf) {
  SmallVector<AffineExpr> indices = indicesOf(reads, access);
  SmallVector<BoundsTest> tests = boundsTests(reads, access, indices);
  if (tests.empty())
    return valueOf(builder, indices);

  // Values emitted from here on serve some indices or lanes alone.
  size_t before = emitted.size();
  llvm::scope_exit leave([&] { emitted.shrink(before); });
  Location loc = LoopNestOpInterface(reads.op).getLoc();
  Value inside, lanes;
  auto both = [&](Value a, Value b) {
    return a ? arith::AndIOp::create(builder, loc, a, b).getResult() : b;
  };
  auto require = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    inside = both(inside, arith::CmpIOp::create(builder, loc, predicate, lhs, rhs));
  };
  for (const BoundsTest &test : tests) {
    if (Value some = laneTests ? laneTests->inside(builder, test.index, test.extent) : Value()) {
      lanes = both(lanes, some);
      continue;
    }
    Value index = math.materialize(builder, loc, test.index);
    if (test.low)
      require(arith::CmpIPredicate::sge, index, arith::ConstantIndexOp::create(builder, loc, 0));
    if (test.high)
      require(arith::CmpIPredicate::slt, index, math.materialize(builder, loc, test.extent));
  }
  auto fillOf = [&](OpBuilder &at, Type type) {
    Value zero = arith::ConstantOp::create(at, loc, at.getZeroAttr(type));
    return Scalar(at, loc, zero, kind).constant(reads.accesses()[access].fill).value();
  };
  auto readWithin = [&](OpBuilder &at) {
    if (!lanes)
      return valueOf(at, indices);
    Value value = laneTests->within(at, lanes, [&] { return valueOf(at, indices); });
    if (!isa<VectorType>(value.getType())) {
      auto shape = cast<VectorType>(lanes.getType()).clone(value.getType());
      value = vector::BroadcastOp::create(at, loc, shape, value);
    }
    Value fill = fillOf(at, value.getType());
    return arith::SelectOp::create(at, loc, lanes, value, fill).getResult();
  };
  if (!inside)
    return readWithin(builder);
  // A branch, not a select: the address may not exist. The type of the value is known once the
  // inner read is built.
  auto branch = scf::IfOp::create(builder, loc, builder.getI1Type(), inside, /*addThen=*/true,
                                  /*addElse=*/true);
  OpBuilder thenBuilder = OpBuilder::atBlockEnd(branch.thenBlock());
  Value value = readWithin(thenBuilder);
  scf::YieldOp::create(thenBuilder, loc, value);
  OpBuilder elseBuilder = OpBuilder::atBlockEnd(branch.elseBlock());
  scf::YieldOp::create(elseBuilder, loc, fillOf(elseBuilder, value.getType()));
  branch.getResult(0).setType(value.getType());
  return branch.getResult(0);
}

/// Binds the variables of the computed indices of `access` to the values that the op computes here.
void BodyEmitter::bindCoordinates(BodyContext &context, const Reads &reads, unsigned access,
                                  ArrayRef<Value> earlier) {
  const Access &made = reads.accesses()[access];
  if (!made.isComputed())
    return;
  // Where a vector moves, its lanes read one index (needsScalarAlong): any of them has it.
  SmallVector<Value> scalars;
  for (Value value : earlier)
    scalars.push_back(context.lane(value));
  for (unsigned dim : made.computed.set_bits()) {
    AffineExpr variable = coordinate(reads, access, dim);
    math.bindLoop(variable, LoopNestOpInterface(reads.op).emitCoordinate(context, reads.isTerm,
                                                                         access, dim, scalars));
    emitted.forget(variable);
  }
}

Value BodyEmitter::emitBody(OpBuilder &builder, const Reads &reads, ValueRange accs, Body emit) {
  Location loc = LoopNestOpInterface(reads.op).getLoc();
  SmallVector<Value> positions(reads.loops.size());
  Value place;
  auto bindPositions = [&] {
    if (AffineExpr expr = placeOf(reads)) {
      place = hasLanePlaces() ? laneTests->places(builder, expr)
                              : math.materialize(builder, kernel.getLoc(), expr);
      return;
    }
    for (unsigned loop : reads.nest.indexDims.set_bits())
      if (loop < positions.size())
        positions[loop] = math.materialize(builder, kernel.getLoc(), reads.loops[loop]);
  };
  // Before the reads only where these depend on them.
  bool isComputed =
      llvm::any_of(reads.accesses(), [](const Access &access) { return access.isComputed(); });
  if (isComputed)
    bindPositions();
  auto extent = [&](AffineExpr dim) { return math.materialize(builder, loc, dim); };
  unsigned numParallel = reads.nest.parallel.size();
  BodyContext context{builder, loc, ArrayRef(positions).take_front(numParallel), extent,
                      ArrayRef(positions).drop_front(numParallel)};
  SmallVector<Value> values;
  for (unsigned access = 0; access < reads.accesses().size(); ++access) {
    bindCoordinates(context, reads, access, values);
    values.push_back(read(builder, reads, access));
  }
  if (!isComputed)
    bindPositions();
  context.place = place;
  unsigned numReads = values.size();
  values.append(accs.begin(), accs.end());
  alignShapes(builder, loc, values);
  ArrayRef<Value> all(values);
  return emit(context, all.take_front(numReads), all.drop_front(numReads));
}

//===- Values ---------------------------------------------------------------------------------===//

Value BodyEmitter::emit(OpBuilder &builder, Value tensor, ArrayRef<AffineExpr> indices) {
  llvm::SaveAndRestore alone(emitted, {});
  return valueAt(builder, tensor, indices);
}

Value BodyEmitter::valueAt(OpBuilder &builder, Value tensor, ArrayRef<AffineExpr> indices) {
  if (held)
    if (Value value = held(tensor, indices))
      return value;
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    Value loaded =
        load(builder, kernel.getLoc(), argument.getArgNumber(), offset(typeOf(tensor), indices));
    return fromStorage(builder, kernel.getLoc(), loaded, typeOf(tensor).getElementType());
  }
  auto op = cast<LoopNestOpInterface>(tensor.getDefiningOp());
  if (op == root && !rows) {
    assert(rootValue && "the root's value is known only while the result is formed");
    return rootValue;
  }
  if (isKnown(op)) {
    assert(poolValue && "the pool's value is known only while the result is formed");
    return poolValue;
  }
  if (tensor.hasOneUse())
    return valueOfMap(builder, op, indices);
  if (const Value *value = emitted.find(tensor, indices))
    return *value;
  Value value = valueOfMap(builder, op, indices);
  if (isReadAsStored(tensor)) {
    Type element = typeOf(tensor).getElementType();
    value =
        fromStorage(builder, op.getLoc(), toStorage(builder, op.getLoc(), value, element), element);
  }
  emitted.insert(tensor, indices, value);
  return value;
}

bool BodyEmitter::isReadAsStored(Value tensor) const {
  auto element = dyn_cast<FloatType>(typeOf(tensor).getElementType());
  return element && element.getWidth() < 32 && tensor != result &&
         llvm::is_contained(results, tensor);
}

LoopNest BodyEmitter::nestOf(LoopNestOpInterface op) const {
  LoopNest loops = op.getLoopNest();
  if (isJoined(op)) {
    Access part = loops.results[joinedPart->part];
    part.checked = false;
    loops.results = {part};
    loops.indexDims.reset();
  }
  return loops;
}

Value BodyEmitter::valueOfMap(OpBuilder &builder, LoopNestOpInterface op,
                              ArrayRef<AffineExpr> indices) {
  LoopNest loops = nestOf(op);
  ValueRange accs;
  if (const RowKernel::Reduction *reduction = reductionOf(op))
    accs = finished.slice(reduction->firstStage, reduction->nest.stages.size());
  return emitBody(builder, {op, loops, /*isTerm=*/false, indices}, accs,
                  [&](BodyContext &context, ValueRange args, ValueRange accs) {
                    return isJoined(op) ? args.front() : op.emitResult(context, args, accs);
                  });
}

//===- Ops with stages ------------------------------------------------------------------------===//

SmallVector<AffineExpr> BodyEmitter::resultIndices(unsigned number,
                                                   ArrayRef<AffineExpr> parallel) const {
  if (rows)
    return rows->results[number].indicesOf(parallel);
  return SmallVector<AffineExpr>(parallel.take_front(typeOf(results[number]).getRank()));
}

BodyEmitter::StagedOp BodyEmitter::ownerOf(unsigned stage) const {
  if (!rows)
    return {root, nest, 0};
  const RowKernel::Reduction &owner = rows->ownerOf(stage);
  return {owner.op, owner.nest, owner.firstStage};
}

SmallVector<AffineExpr> BodyEmitter::loopsOf(LoopNestOpInterface op, ArrayRef<AffineExpr> parallel,
                                             ArrayRef<AffineExpr> reduction) const {
  const RowKernel::Reduction *own = reductionOf(op);
  SmallVector<AffineExpr> loops =
      own ? own->placement.indicesOf(parallel) : SmallVector<AffineExpr>(parallel);
  loops.append(reduction.begin(), reduction.end());
  return loops;
}

BodyEmitter::Term BodyEmitter::termOf(unsigned access, ArrayRef<AffineExpr> loops) const {
  if (!rows)
    return {root, nest, access, SmallVector<AffineExpr>(loops)};
  auto [number, own] = rows->terms[access];
  const RowKernel::Reduction &owner = rows->reductions[number];
  size_t numParallel = nest.parallel.size();
  return {owner.op, owner.nest, own,
          loopsOf(owner.op, loops.take_front(numParallel), loops.drop_front(numParallel))};
}

Value BodyEmitter::emitTermRead(OpBuilder &builder, unsigned access, ArrayRef<AffineExpr> loops) {
  assert(!nest.terms[access].isComputed() && "read alone, an access has no earlier values");
  llvm::SaveAndRestore alone(emitted, {});
  return read(builder, {root, nest, /*isTerm=*/true, loops}, access);
}

Value BodyEmitter::emitStoredRead(OpBuilder &builder, unsigned access, Value stored,
                                  ArrayRef<AffineExpr> loops) {
  llvm::SaveAndRestore alone(emitted, {});
  return readInside(builder, {root, nest, /*isTerm=*/true, loops}, access, ScalarKind::signedInt,
                    [&](OpBuilder &at, ArrayRef<AffineExpr> indices) {
                      if (auto argument = dyn_cast<BlockArgument>(stored))
                        return load(at, kernel.getLoc(), argument.getArgNumber(),
                                    offset(typeOf(stored), indices));
                      return toStorage(at, kernel.getLoc(), valueAt(at, stored, indices),
                                       typeOf(stored).getElementType());
                    });
}

std::pair<Value, SmallVector<AffineExpr>> BodyEmitter::termAt(unsigned access,
                                                              ArrayRef<AffineExpr> loops) const {
  Term term = termOf(access, loops);
  return {term.reads().tensor(term.access), indicesOf(term.reads(), term.access)};
}

Value BodyEmitter::emitTerm(OpBuilder &builder, unsigned stage, ArrayRef<AffineExpr> parallel,
                            ArrayRef<AffineExpr> reduction, ValueRange accs) {
  llvm::SaveAndRestore alone(emitted, {});
  StagedOp owner = ownerOf(stage);
  finished = accs;
  SmallVector<AffineExpr> loops = loopsOf(owner.op, parallel, reduction);
  return emitBody(builder, {owner.op, owner.nest, /*isTerm=*/true, loops},
                  accs.drop_front(owner.firstStage),
                  [&](BodyContext &context, ValueRange args, ValueRange accs) {
                    return owner.op.emitTerm(context, stage - owner.firstStage, args, accs);
                  });
}

bool BodyEmitter::sharesSpans(AffineExpr variable, ArrayRef<AffineExpr> parallel) const {
  LoopNest spans = spanNest();
  Reads reads = {root, spans, /*isTerm=*/false, parallel};
  auto enter = [&](const Reads &inner, ArrayRef<Place> places) {
    return !splitsLanes(inner, places, variable);
  };
  auto isUniform = [&](unsigned, AffineExpr offset, bool) {
    return math.strideAlong(offset, variable) == Stride::uniform;
  };
  return walk(Walk{enter, isUniform}, reads);
}

Span BodyEmitter::emitSpan(OpBuilder &builder, unsigned loop, ArrayRef<AffineExpr> parallel) {
  llvm::SaveAndRestore alone(emitted, {});
  LoopNest spans = spanNest();
  Span span;
  emitBody(builder, {root, spans, /*isTerm=*/false, parallel}, {},
           [&](BodyContext &context, ValueRange args, ValueRange) {
             SmallVector<Value> scalars;
             for (Value value : args)
               scalars.push_back(context.lane(value));
             span = root.emitSpan(context, loop, scalars);
             return span.end;
           });
  return span;
}

Value BodyEmitter::emitResult(OpBuilder &builder, ArrayRef<AffineExpr> parallel, ValueRange accs) {
  llvm::SaveAndRestore alone(emitted, {});
  if (rows) {
    finished = accs;
    return valueAt(builder, result, resultIndices(selected, parallel));
  }
  rootValue = emitBody(builder, {root, nest, /*isTerm=*/false, parallel}, accs,
                       [&](BodyContext &context, ValueRange args, ValueRange accs) {
                         return root.emitResult(context, args, accs);
                       });
  Value value = valueAt(builder, result, parallel);
  rootValue = {};
  return value;
}

Value BodyEmitter::emitPoolTerm(OpBuilder &builder, ArrayRef<AffineExpr> parallel, Value total) {
  llvm::SaveAndRestore alone(emitted, {});
  rootValue = emitBody(builder, {root, nest, /*isTerm=*/false, parallel}, total,
                       [&](BodyContext &context, ValueRange args, ValueRange accs) {
                         return root.emitResult(context, args, accs);
                       });
  Value term = emitBody(builder, {pooled->pool, poolNest, /*isTerm=*/true, parallel}, {},
                        [&](BodyContext &context, ValueRange args, ValueRange accs) {
                          return pooled->pool.emitTerm(context, /*stage=*/0, args, accs);
                        });
  rootValue = {};
  return term;
}

Value BodyEmitter::emitPoolResult(OpBuilder &builder, ArrayRef<AffineExpr> parallel,
                                  Value combined) {
  llvm::SaveAndRestore alone(emitted, {});
  SmallVector<AffineExpr> indices = resultIndices(selected, parallel);
  poolValue = emitBody(builder, {pooled->pool, poolNest, /*isTerm=*/false, indices}, combined,
                       [&](BodyContext &context, ValueRange args, ValueRange accs) {
                         return pooled->pool.emitResult(context, args, accs);
                       });
  Value value = valueAt(builder, result, indices);
  poolValue = {};
  return value;
}

Type BodyEmitter::poolType() const {
  return computeType(getElementTypeOrSelf(pooled->pool->getResult(0).getType()));
}

ScalarKind BodyEmitter::poolKind() const {
  return scalarKind(getElementTypeOrSelf(pooled->pool->getResult(0).getType()));
}

Type BodyEmitter::accumulatedType(unsigned stage) const {
  StagedOp owner = ownerOf(stage);
  Value of = givesPosition(nest.stages[stage])
                 ? owner.op->getOperand(owner.nest.terms.front().operand)
                 : owner.op->getResult(0);
  return getElementTypeOrSelf(of.getType());
}

//===- Questions about reads ------------------------------------------------------------------===//

Value BodyEmitter::storedAt(Value tensor, SmallVectorImpl<AffineExpr> &indices) const {
  for (Operation *op = tensor.getDefiningOp(); op && onlyMoves(op); op = tensor.getDefiningOp()) {
    Access access = nestOf(cast<LoopNestOpInterface>(op)).results.front();
    SmallVector<AffineExpr> at;
    for (AffineExpr index : access.map.getResults())
      at.push_back(math.simplify(index.replaceDims(indices)));
    indices.assign(at);
    tensor = op->getOperand(access.operand);
  }
  return tensor;
}

BodyEmitter::Place BodyEmitter::placeOf(const Reads &reads, unsigned access) const {
  SmallVector<AffineExpr> at = indicesOf(reads, access);
  SmallVector<BoundsTest> tests = boundsTests(reads, access, at);
  return {std::move(at), std::move(tests)};
}

bool BodyEmitter::walk(const Walk &walk, const Reads &reads, bool checked) const {
  SmallVector<Place> places;
  for (unsigned access = 0; access < reads.accesses().size(); ++access)
    places.push_back(placeOf(reads, access));
  if (walk.enter && !walk.enter(reads, places))
    return false;
  for (auto [access, place] : llvm::enumerate(places))
    if (!this->walk(walk, reads.tensor(access), place.indices, checked || !place.tests.empty()))
      return false;
  return true;
}

bool BodyEmitter::walk(const Walk &walk, Value tensor, ArrayRef<AffineExpr> indices,
                       bool checked) const {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return !walk.load ||
           walk.load(argument.getArgNumber(), offset(typeOf(tensor), indices), checked);
  auto op = cast<LoopNestOpInterface>(tensor.getDefiningOp());
  if (isKnown(op))
    return true;
  if (!tensor.hasOneUse()) {
    KnownAt<bool> &been = checked ? walk.checked : walk.plain;
    if (been.find(tensor, indices))
      return true;
    been.insert(tensor, indices, true);
  }
  LoopNest loops = nestOf(op);
  return this->walk(walk, Reads{op, loops, /*isTerm=*/false, indices}, checked);
}

bool BodyEmitter::walkTerms(const Walk &walk, ArrayRef<AffineExpr> parallel,
                            ArrayRef<AffineExpr> reduction) const {
  auto visit = [&](LoopNestOpInterface op, const LoopNest &loops) {
    SmallVector<AffineExpr> at = loopsOf(op, parallel, reduction);
    return this->walk(walk, Reads{op, loops, /*isTerm=*/true, at});
  };
  if (!rows)
    return !root || visit(root, nest);
  return llvm::all_of(rows->reductions,
                      [&](const RowKernel::Reduction &one) { return visit(one.op, one.nest); });
}

bool BodyEmitter::walkResults(const Walk &walk, ArrayRef<AffineExpr> parallel) const {
  SmallVector<AffineExpr> indices = resultIndices(0, parallel);
  if (pooled && (!this->walk(walk, Reads{pooled->pool, poolNest, /*isTerm=*/true, parallel}) ||
                 !this->walk(walk, Reads{pooled->pool, poolNest, /*isTerm=*/false, indices})))
    return false;
  if (root && !rows && !this->walk(walk, Reads{root, nest, /*isTerm=*/false, parallel}))
    return false;
  for (auto [number, one] : llvm::enumerate(results))
    if (!this->walk(walk, one, resultIndices(number, parallel)))
      return false;
  return true;
}

bool BodyEmitter::visitReads(Value tensor, ArrayRef<AffineExpr> indices, Visit visit) const {
  return walk(Walk{nullptr, visit}, tensor, indices);
}

bool BodyEmitter::visitTermReads(ArrayRef<AffineExpr> parallel, ArrayRef<AffineExpr> reduction,
                                 Visit visit) const {
  return walkTerms(Walk{nullptr, visit}, parallel, reduction);
}

bool BodyEmitter::visitResultReads(ArrayRef<AffineExpr> parallel, Visit visit) const {
  Walk loads{nullptr, visit};
  auto placed = update;
  return walkResults(loads, parallel) &&
         (!placed || walk(loads, placed.getStart(), startIndices(resultIndices(0, parallel))));
}

void BodyEmitter::visitTermTests(ArrayRef<AffineExpr> parallel, ArrayRef<AffineExpr> reduction,
                                 llvm::function_ref<void(AffineExpr, AffineExpr)> visit) const {
  SmallVector<AffineExpr> loops(parallel);
  loops.append(reduction.begin(), reduction.end());
  for (unsigned access = 0; access < nest.terms.size(); ++access) {
    Term term = termOf(access, loops);
    for (const BoundsTest &test : placeOf(term.reads(), term.access).tests)
      visit(test.index, test.extent);
  }
}

AffineExpr BodyEmitter::placeOf(const Reads &reads) const {
  if (!reads.nest.readsPlace || reads.isTerm)
    return {};
  auto type = cast<RankedTensorType>(LoopNestOpInterface(reads.op)->getResult(0).getType());
  return offset(dl::makeTensor(dl::getDims(type), type.getElementType()),
                reads.loops.take_front(reads.nest.parallel.size()));
}

bool BodyEmitter::visitPlaces(ArrayRef<AffineExpr> indices,
                              llvm::function_ref<bool(AffineExpr)> visit) const {
  auto enter = [&](const Reads &reads, ArrayRef<Place>) {
    AffineExpr expr = placeOf(reads);
    return !expr || visit(expr);
  };
  return llvm::all_of(results, [&](Value one) { return walk(Walk{enter, nullptr}, one, indices); });
}

bool BodyEmitter::splitsLanes(const Place &place, AffineExpr variable) const {
  unsigned position = cast<AffineDimExpr>(variable).getPosition();
  return llvm::any_of(place.tests, [&](const BoundsTest &test) {
    return test.index.isFunctionOfDim(position) &&
           !(laneTests && math.stepAlong(test.index, variable));
  });
}

bool BodyEmitter::splitsLanes(const Reads &reads, ArrayRef<Place> places,
                              AffineExpr variable) const {
  unsigned position = cast<AffineDimExpr>(variable).getPosition();
  auto moves = [&](AffineExpr index) { return index.isFunctionOfDim(position); };
  if (AffineExpr expr = placeOf(reads)) {
    if (moves(expr) && !(hasLanePlaces() && math.stepAlong(expr, variable)))
      return true;
  } else {
    for (unsigned loop : reads.nest.indexDims.set_bits())
      if (loop < reads.loops.size() && moves(reads.loops[loop]))
        return true;
  }
  bool earlierMove = false; // a computed index depends on what was read before
  for (auto [access, place] : llvm::zip(reads.accesses(), places)) {
    if ((access.isComputed() && earlierMove) || splitsLanes(place, variable))
      return true;
    if (!access.isComputed())
      earlierMove |= llvm::any_of(place.indices, moves);
  }
  return false;
}

bool BodyEmitter::termNeedsScalarAlong(AffineExpr variable, unsigned access,
                                       ArrayRef<AffineExpr> loops) const {
  Term term = termOf(access, loops);
  Place place = placeOf(term.reads(), term.access);
  auto enter = [&](const Reads &inner, ArrayRef<Place> places) {
    return !splitsLanes(inner, places, variable);
  };
  return splitsLanes(place, variable) ||
         !walk(Walk{enter, nullptr}, term.reads().tensor(term.access), place.indices);
}

bool BodyEmitter::resultNeedsScalarAlong(AffineExpr variable, ArrayRef<AffineExpr> parallel) const {
  auto enter = [&](const Reads &reads, ArrayRef<Place> places) {
    return !splitsLanes(reads, places, variable);
  };
  unsigned position = cast<AffineDimExpr>(variable).getPosition();
  bool placeMoves =
      update && llvm::any_of(startIndices(resultIndices(0, parallel)),
                             [&](AffineExpr index) { return index.isFunctionOfDim(position); });
  return placeMoves || !walkResults(Walk{enter, nullptr}, parallel);
}

bool BodyEmitter::needsScalarAlong(AffineExpr variable, ArrayRef<AffineExpr> parallel,
                                   ArrayRef<AffineExpr> reduction) const {
  auto enter = [&](const Reads &reads, ArrayRef<Place> places) {
    return !splitsLanes(reads, places, variable);
  };
  return resultNeedsScalarAlong(variable, parallel) ||
         !walkTerms(Walk{enter, nullptr}, parallel, reduction);
}

} // namespace dlc::codegen
