//===- BodyEmitter.cpp - Emits what a kernel computes at an index ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/BodyEmitter.h"

#include "ir/scalar/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <set>

using namespace mlir;

namespace dlc::codegen {

Type storageType(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), std::max(8u, integer.getWidth()));
  return elementType;
}

Value fromStorage(OpBuilder &builder, Location loc, Value value, Type elementType) {
  // A stored bool is any byte that is not 0; floats of 16 bits compute in f32.
  ScalarKind kind = scalarKind(elementType);
  ScalarKind stored = kind == ScalarKind::boolean ? ScalarKind::unsignedInt : kind;
  return Scalar(builder, loc, value, stored).convertTo(computeType(elementType), kind).value();
}

Value toStorage(OpBuilder &builder, Location loc, Value value, Type elementType) {
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
  assert((kernel.getResultTensors().size() == 1 || kernel.getKind() == "recurrent") &&
         "loops have one result");
  result = kernel.getResultTensors().front();
  for (auto op : kernel.getBodyBlock().getOps<LoopNestOpInterface>()) {
    LoopNest loops = op.getLoopNest();
    if (loops.isMap())
      continue;
    root = op;
    nest = std::move(loops);
  }
  if (!root) {
    nest.parallel = dl::getDims(getResultType());
    nest.indexDims.resize(nest.parallel.size());
  }
}

SmallVector<unsigned> BodyEmitter::usedSymbols() const {
  std::set<unsigned> used;
  auto scan = [&](Value tensor) {
    for (AffineExpr dim : dl::getDims(typeOf(tensor)))
      for (unsigned symbol = 0; symbol < dl::kMaxSymbols; ++symbol)
        if (dim.isFunctionOfSymbol(symbol))
          used.insert(symbol);
  };
  Block &block = dlx::KernelOp(kernel).getBodyBlock();
  for (Value argument : block.getArguments())
    scan(argument);
  for (Operation &op : block)
    for (Value value : op.getResults())
      scan(value);
  return SmallVector<unsigned>(used.begin(), used.end());
}

SmallVector<AffineExpr> BodyEmitter::apply(AffineMap map, ArrayRef<AffineExpr> loops) const {
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(math.simplify(expr.replaceDims(loops)));
  return results;
}

AffineExpr BodyEmitter::offset(RankedTensorType type, ArrayRef<AffineExpr> indices) const {
  return math.simplify(dl::physicalOffset(type, indices));
}

SmallVector<BodyEmitter::BoundsTest> BodyEmitter::boundsTests(RankedTensorType type,
                                                              ArrayRef<AffineExpr> indices) const {
  SmallVector<BoundsTest> tests;
  for (auto [index, extent] : llvm::zip(indices, dl::getDims(type))) {
    bool low = !math.isNonNegative(index), high = !math.isBelow(index, extent);
    if (low || high)
      tests.push_back({index, extent, low, high});
  }
  return tests;
}

Value BodyEmitter::read(OpBuilder &builder, Operation *op, const Access &access,
                        ArrayRef<AffineExpr> loops) {
  Value tensor = op->getOperand(access.operand);
  SmallVector<AffineExpr> indices = apply(access.map, loops);
  SmallVector<BoundsTest> tests;
  if (access.checked)
    tests = boundsTests(typeOf(tensor), indices);
  if (tests.empty())
    return emit(builder, tensor, indices);

  Location loc = op->getLoc();
  Value inside;
  auto require = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
    inside = inside ? arith::AndIOp::create(builder, loc, inside, holds).getResult() : holds;
  };
  for (const BoundsTest &test : tests) {
    Value index = math.materialize(builder, loc, test.index);
    if (test.low)
      require(arith::CmpIPredicate::sge, index, arith::ConstantIndexOp::create(builder, loc, 0));
    if (test.high)
      require(arith::CmpIPredicate::slt, index, math.materialize(builder, loc, test.extent));
  }
  // A branch, not a select: the address may not exist. The type of the value is known once the inner read is built.
  auto branch = scf::IfOp::create(builder, loc, builder.getI1Type(), inside, /*addThen=*/true,
                                  /*addElse=*/true);
  OpBuilder thenBuilder = OpBuilder::atBlockEnd(branch.thenBlock());
  Value value = emit(thenBuilder, tensor, indices);
  scf::YieldOp::create(thenBuilder, loc, value);
  OpBuilder elseBuilder = OpBuilder::atBlockEnd(branch.elseBlock());
  Value zero = arith::ConstantOp::create(elseBuilder, loc, builder.getZeroAttr(value.getType()));
  ScalarKind kind = scalarKind(typeOf(tensor).getElementType());
  scf::YieldOp::create(elseBuilder, loc,
                       Scalar(elseBuilder, loc, zero, kind).constant(access.fill).value());
  branch.getResult(0).setType(value.getType());
  return branch.getResult(0);
}

SmallVector<Value> BodyEmitter::indexValues(OpBuilder &builder, const LoopNest &loops,
                                            ArrayRef<AffineExpr> parallel) {
  SmallVector<Value> values(loops.parallel.size());
  for (unsigned dim : loops.indexDims.set_bits())
    values[dim] = math.materialize(builder, kernel.getLoc(), parallel[dim]);
  return values;
}

Value BodyEmitter::emit(OpBuilder &builder, Value tensor, ArrayRef<AffineExpr> indices) {
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    Value loaded =
        load(builder, kernel.getLoc(), argument.getArgNumber(), offset(typeOf(tensor), indices));
    return fromStorage(builder, kernel.getLoc(), loaded, typeOf(tensor).getElementType());
  }
  auto op = cast<LoopNestOpInterface>(tensor.getDefiningOp());
  if (op == root) {
    assert(rootValue && "the root's value is known only while the result is formed");
    return rootValue;
  }
  LoopNest loops = op.getLoopNest();
  SmallVector<Value> args;
  for (const Access &access : loops.results)
    args.push_back(read(builder, op, access, indices));
  alignShapes(builder, op.getLoc(), args);
  SmallVector<Value> positions = indexValues(builder, loops, indices);
  auto extent = [&](AffineExpr dim) { return math.materialize(builder, op.getLoc(), dim); };
  BodyContext context{builder, op.getLoc(), positions, extent};
  return op.emitResult(context, args, {});
}

Value BodyEmitter::emitTermRead(OpBuilder &builder, unsigned access, ArrayRef<AffineExpr> loops) {
  return read(builder, root, nest.terms[access], loops);
}

Value BodyEmitter::emitTerm(OpBuilder &builder, unsigned stage, ArrayRef<AffineExpr> parallel,
                            ArrayRef<AffineExpr> reduction, ValueRange accs) {
  SmallVector<AffineExpr> loops(parallel);
  loops.append(reduction.begin(), reduction.end());
  SmallVector<Value> values;
  for (unsigned access = 0; access < nest.terms.size(); ++access)
    values.push_back(emitTermRead(builder, access, loops));
  unsigned reads = values.size();
  values.append(accs.begin(), accs.end());
  alignShapes(builder, root.getLoc(), values);
  SmallVector<Value> positions = indexValues(builder, nest, parallel);
  auto extent = [&](AffineExpr dim) { return math.materialize(builder, root.getLoc(), dim); };
  BodyContext context{builder, root.getLoc(), positions, extent};
  ArrayRef<Value> all(values);
  return root.emitTerm(context, stage, all.take_front(reads), all.drop_front(reads));
}

Value BodyEmitter::emitResult(OpBuilder &builder, ArrayRef<AffineExpr> parallel, ValueRange accs) {
  SmallVector<Value> values;
  for (const Access &access : nest.results)
    values.push_back(read(builder, root, access, parallel));
  unsigned reads = values.size();
  values.append(accs.begin(), accs.end());
  alignShapes(builder, root.getLoc(), values);
  SmallVector<Value> positions = indexValues(builder, nest, parallel);
  auto extent = [&](AffineExpr dim) { return math.materialize(builder, root.getLoc(), dim); };
  BodyContext context{builder, root.getLoc(), positions, extent};
  ArrayRef<Value> all(values);
  rootValue = root.emitResult(context, all.take_front(reads), all.drop_front(reads));
  Value value = emit(builder, result, parallel);
  rootValue = {};
  return value;
}

/// Integer sums and argmax accumulate in the result's type or the operand's; floats in their compute type.
Type BodyEmitter::accumulatorType(unsigned stage) const {
  Type operand = getElementTypeOrSelf(root->getOperand(nest.terms.front().operand).getType());
  if (givesPosition(nest.stages[stage]))
    return computeType(operand);
  return computeType(getElementTypeOrSelf(root->getResult(0).getType()));
}

ScalarKind BodyEmitter::accumulatorKind(unsigned stage) const {
  if (givesPosition(nest.stages[stage]))
    return scalarKind(getElementTypeOrSelf(root->getOperand(nest.terms.front().operand).getType()));
  return scalarKind(getElementTypeOrSelf(root->getResult(0).getType()));
}

//===- Questions about reads ----------------------------------------------------------------------===//

bool BodyEmitter::visitReads(Value tensor, ArrayRef<AffineExpr> indices, Visit visit,
                             bool checked) const {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return visit(argument.getArgNumber(), offset(typeOf(tensor), indices), checked);
  auto op = cast<LoopNestOpInterface>(tensor.getDefiningOp());
  if (op == root)
    return true;
  for (const Access &access : op.getLoopNest().results) {
    Value operand = op->getOperand(access.operand);
    SmallVector<AffineExpr> at = apply(access.map, indices);
    bool tested = checked || (access.checked && !boundsTests(typeOf(operand), at).empty());
    if (!visitReads(operand, at, visit, tested))
      return false;
  }
  return true;
}

bool BodyEmitter::visitTermReads(ArrayRef<AffineExpr> parallel, ArrayRef<AffineExpr> reduction,
                                 Visit visit) const {
  SmallVector<AffineExpr> loops(parallel);
  loops.append(reduction.begin(), reduction.end());
  for (const Access &access : nest.terms) {
    Value operand = root->getOperand(access.operand);
    SmallVector<AffineExpr> at = apply(access.map, loops);
    bool tested = access.checked && !boundsTests(typeOf(operand), at).empty();
    if (!visitReads(operand, at, visit, tested))
      return false;
  }
  return true;
}

bool BodyEmitter::visitResultReads(ArrayRef<AffineExpr> parallel, Visit visit) const {
  for (const Access &access : nest.results) {
    Value operand = root->getOperand(access.operand);
    SmallVector<AffineExpr> at = apply(access.map, parallel);
    bool tested = access.checked && !boundsTests(typeOf(operand), at).empty();
    if (!visitReads(operand, at, visit, tested))
      return false;
  }
  return visitReads(result, parallel, visit);
}

bool BodyEmitter::needsScalar(Operation *op, const LoopNest &loops, ArrayRef<Access> accesses,
                              ArrayRef<AffineExpr> indices, AffineExpr variable) const {
  unsigned position = cast<AffineDimExpr>(variable).getPosition();
  for (unsigned dim : loops.indexDims.set_bits())
    if (indices[dim].isFunctionOfDim(position))
      return true;
  for (const Access &access : accesses) {
    Value operand = op->getOperand(access.operand);
    SmallVector<AffineExpr> at = apply(access.map, indices);
    if (access.checked)
      for (const BoundsTest &test : boundsTests(typeOf(operand), at))
        if (test.index.isFunctionOfDim(position))
          return true;
    if (needsScalar(operand, at, variable))
      return true;
  }
  return false;
}

bool BodyEmitter::needsScalar(Value tensor, ArrayRef<AffineExpr> indices,
                              AffineExpr variable) const {
  auto op = tensor.getDefiningOp<LoopNestOpInterface>();
  if (!op || op == root)
    return false;
  LoopNest loops = op.getLoopNest();
  return needsScalar(op, loops, loops.results, indices, variable);
}

bool BodyEmitter::needsScalarAlong(AffineExpr variable, ArrayRef<AffineExpr> parallel,
                                   ArrayRef<AffineExpr> reduction) const {
  if (needsScalar(result, parallel, variable))
    return true;
  if (!root)
    return false;
  SmallVector<AffineExpr> loops(parallel);
  loops.append(reduction.begin(), reduction.end());
  return needsScalar(root, nest, nest.terms, loops, variable) ||
         needsScalar(root, nest, nest.results, parallel, variable);
}

} // namespace dlc::codegen
