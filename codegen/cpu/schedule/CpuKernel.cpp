//===- CpuKernel.cpp - The function of one CPU kernel while it is filled ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/CpuKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace dlc::codegen {

static MemRefType flatBuffer(Type element) {
  return MemRefType::get({ShapedType::kDynamic}, element);
}

/// Bits of the widest element that the body of `kernel` computes with; 64 where it counts
/// positions.
static int64_t widestElement(dlx::KernelOp kernel, const LoopNest &nest) {
  int64_t widest = 8;
  auto add = [&](TypeRange types) {
    for (Type type : types)
      widest = std::max<int64_t>(widest,
                                 computeType(getElementTypeOrSelf(type)).getIntOrFloatBitWidth());
  };
  add(kernel.getBodyBlock().getArgumentTypes());
  for (Operation &op : kernel.getBodyBlock())
    add(op.getResultTypes());
  return llvm::any_of(nest.stages, givesPosition) ? 64 : widest;
}

CpuKernel::CpuKernel(dlx::KernelOp kernel, IsaVariant isa, ArrayRef<dl::Range> symbolRanges,
                     ModuleOp module)
    : isa(isa), math(kernel.getContext(), symbolRanges), emitter(kernel, math, loader()),
      builder(kernel.getContext()), loc(kernel.getLoc()) {
  emitter.laneTests = laneTests();
  symbols = emitter.usedSymbols();
  lanesOfRows = lanes() * std::max<int64_t>(1, 32 / widestElement(kernel, emitter.getNest()));
  numInputs = kernel.getBodyBlock().getNumArguments();
  SmallVector<Type> types;
  auto addBuffer = [&](Type tensor) {
    types.push_back(flatBuffer(storageType(cast<RankedTensorType>(tensor).getElementType())));
  };
  for (Type type : kernel.getBodyBlock().getArgumentTypes())
    addBuffer(type);
  for (Type type : kernel.getResultTensors().getTypes())
    addBuffer(type);
  size_t numBuffers = types.size();
  // AVX2 masks elements of 32 and 64 bits.
  if (isa == IsaVariant::avx2)
    canMask = llvm::all_of(
        types, [](Type type) { return cast<MemRefType>(type).getElementTypeBitWidth() >= 32; });
  types.append(symbols.size() + 2, builder.getIndexType());
  types.push_back(flatBuffer(builder.getI8Type()));

  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, loc, kernel.getSymName(),
                                       FunctionType::get(builder.getContext(), types, {}));
  Block *entry = function.addEntryBlock();
  for (size_t i = 0; i < numBuffers; ++i)
    buffers.push_back(entry->getArgument(i));
  for (auto [i, symbol] : llvm::enumerate(symbols))
    math.bindSymbol(symbol, entry->getArgument(numBuffers + i));
  begin = entry->getArgument(types.size() - 3);
  end = entry->getArgument(types.size() - 2);
  scratch = entry->getArgument(types.size() - 1);
  builder.setInsertionPointToStart(entry);
}

BodyEmitter::Load CpuKernel::loader() {
  return [this](OpBuilder &at, Location, unsigned input, AffineExpr offset) {
    // Bodies that branch build inside the branch.
    OpBuilder::InsertPoint here = builder.saveInsertionPoint();
    builder.restoreInsertionPoint(at.saveInsertionPoint());
    Value loaded = load(input, offset);
    at.restoreInsertionPoint(builder.saveInsertionPoint());
    builder.restoreInsertionPoint(here);
    return loaded;
  };
}

BodyEmitter::LaneTests CpuKernel::laneTests() {
  return {[this](OpBuilder &at, AffineExpr index, AffineExpr extent) {
            return lanesInside(at, index, extent);
          },
          [this](OpBuilder &at, Value lanes, llvm::function_ref<Value()> read) {
            return withinLanes(at, lanes, read);
          },
          {}};
}

BodyEmitter CpuKernel::emitterOf(LoopNestOpInterface root, Value result) {
  BodyEmitter part(emitter.getKernel(), math, loader(), root, result);
  part.laneTests = laneTests();
  return part;
}

void CpuKernel::finish() { func::ReturnOp::create(builder, loc); }

AffineMap CpuKernel::passedDims() const {
  SmallVector<AffineExpr> passed;
  for (unsigned symbol : symbols)
    passed.push_back(getAffineSymbolExpr(symbol, builder.getContext()));
  return dl::dimsMap(passed, builder.getContext());
}

//===- Index arithmetic -----------------------------------------------------------------------===//

Value CpuKernel::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value CpuKernel::add(Value a, Value b) { return builder.createOrFold<arith::AddIOp>(loc, a, b); }
Value CpuKernel::mul(Value a, Value b) { return builder.createOrFold<arith::MulIOp>(loc, a, b); }
Value CpuKernel::divide(Value a, Value b) {
  return builder.createOrFold<arith::DivUIOp>(loc, a, b);
}
Value CpuKernel::remainder(Value a, Value b) {
  return builder.createOrFold<arith::RemUIOp>(loc, a, b);
}
Value CpuKernel::smaller(Value a, Value b) {
  return builder.createOrFold<arith::MinSIOp>(loc, a, b);
}
Value CpuKernel::less(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a, b);
}
Value CpuKernel::splat(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(builder, loc, VectorType::get({lanes}, scalar.getType()),
                                     scalar);
}

void CpuKernel::delinearize(Value linear, ArrayRef<AffineExpr> variables,
                            ArrayRef<AffineExpr> extents) {
  for (size_t i = variables.size(); i-- > 0;) {
    if (i == 0) {
      math.bindLoop(variables[i], linear);
      return;
    }
    Value extent = value(extents[i]);
    math.bindLoop(variables[i], remainder(linear, extent));
    linear = divide(linear, extent);
  }
}

AffineExpr CpuKernel::alongLinear(ArrayRef<AffineExpr> variables, ArrayRef<AffineExpr> extents,
                                  AffineExpr position, AffineExpr offset) const {
  std::optional<int64_t> step; // from one position to the next
  int64_t inside = 1;          // positions of the dims further in; 0: unknown
  llvm::DenseMap<AffineExpr, AffineExpr> first;
  for (size_t i = variables.size(); i-- > 0;) {
    first[variables[i]] = math.constant(0);
    auto extent = dl::asConstant(extents[i]);
    if (extent == 1)
      continue;
    auto own = math.stepAlong(offset, variables[i]);
    if (!own || inside == 0 || (step && *own != *step * inside))
      return offset;
    if (!step)
      step = own;
    inside *= extent.value_or(0);
  }
  if (!step)
    return offset;
  return math.simplify(offset.replace(first) + position * *step);
}

Value CpuKernel::laneMask(Value count, int64_t lanes) {
  // Numbers as wide as the elements of so many lanes.
  Type type = lanes > this->lanes() ? builder.getI8Type() : builder.getI32Type();
  SmallVector<APInt> numbers;
  for (int64_t lane = 0; lane < lanes; ++lane)
    numbers.emplace_back(type.getIntOrFloatBitWidth(), lane);
  Value steps = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(VectorType::get({lanes}, type), numbers));
  // Large counts must not wrap.
  Value bounded = smaller(count, index(lanes));
  Value narrow = arith::IndexCastOp::create(builder, loc, type, bounded);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, steps,
                               splat(narrow, lanes));
}

//===- Control --------------------------------------------------------------------------------===//

void CpuKernel::forEach(Value from, Value to, int64_t step, Body body) {
  auto loop = scf::ForOp::create(builder, loc, from, to, index(step));
  OpBuilder::InsertionGuard restore(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

SmallVector<Value> CpuKernel::fold(Value from, Value to, int64_t step, ValueRange init, Fold body) {
  auto loop = scf::ForOp::create(builder, loc, from, to, index(step), init);
  OpBuilder::InsertionGuard restore(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(builder, loc, next);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> CpuKernel::repeat(ValueRange init,
                                     llvm::function_ref<Value(ValueRange)> condition,
                                     llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
  auto loop = scf::WhileOp::create(builder, loc, init.getTypes(), init);
  OpBuilder::InsertionGuard restore(builder);
  SmallVector<Location> locations(init.size(), loc);
  Block *before = builder.createBlock(&loop.getBefore(), {}, init.getTypes(), locations);
  scf::ConditionOp::create(builder, loc, condition(before->getArguments()), before->getArguments());
  Block *after = builder.createBlock(&loop.getAfter(), {}, init.getTypes(), locations);
  scf::YieldOp::create(builder, loc, body(after->getArguments()));
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> CpuKernel::branch(Value condition, TypeRange types, Branch then,
                                     Branch otherwise) {
  auto op = scf::IfOp::create(builder, loc, types, condition, /*addThenBlock=*/true,
                              /*addElseBlock=*/true);
  OpBuilder::InsertionGuard restore(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(builder, loc, then());
  builder.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(builder, loc, otherwise());
  return SmallVector<Value>(op.getResults());
}

void CpuKernel::when(Value condition, llvm::function_ref<void()> then) {
  auto op = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard restore(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  then();
}

void CpuKernel::forVector(AffineExpr variable, Value from, Value to,
                          llvm::function_ref<void()> body) {
  auto run = [&](int64_t lanes) {
    Value count = builder.createOrFold<arith::SubIOp>(loc, to, from);
    Value whole = add(from, mul(divide(count, index(lanes)), index(lanes)));
    if (lanes > 1)
      vector = VectorLoop{variable, lanes, {}};
    forEach(from, whole, lanes, [&](Value i) {
      math.bindLoop(variable, i);
      body();
    });
    vector.reset();
    from = whole;
  };
  run(rowLanes());
  if (!canMask) {
    if (rowLanes() > lanes())
      run(lanes());
    run(1);
    return;
  }
  when(less(from, to), [&] {
    Value rest = builder.createOrFold<arith::SubIOp>(loc, to, from);
    vector = VectorLoop{variable, rowLanes(), laneMask(rest, rowLanes())};
    math.bindLoop(variable, from);
    body();
    vector.reset();
  });
}

//===- Memory ---------------------------------------------------------------------------------===//

bool isVectorAccess(const IndexMath &math, AffineExpr offset, AffineExpr variable) {
  return math.strideAlong(offset, variable) != Stride::other;
}

bool isDenseAccess(const IndexMath &math, AffineExpr offset, AffineExpr variable) {
  auto step = math.stepAlong(offset, variable);
  return step && *step >= 0 && *step <= kLargestStep;
}

Value CpuKernel::load(unsigned input, AffineExpr offset) {
  Value buffer = buffers[input];
  if (Place place = redirect ? redirect(input, offset) : Place())
    std::tie(buffer, offset) = *place;
  else if (rewriteOffset)
    offset = rewriteOffset(offset);
  if (vector && math.strideAlong(offset, vector->variable) != Stride::uniform)
    return loadVector(buffer, offset);
  Value at = value(offset);
  if (guard)
    at = arith::SelectOp::create(builder, loc, guard, at, index(0));
  return memref::LoadOp::create(builder, loc, buffer, at);
}

Value CpuKernel::placesOf(OpBuilder &at, AffineExpr expr) {
  if (rewriteOffset)
    expr = rewriteOffset(expr);
  if (!vector || math.strideAlong(expr, vector->variable) == Stride::uniform)
    return math.materialize(at, loc, expr);
  auto shape = VectorType::get({vector->lanes}, at.getIndexType());
  int64_t step = *math.stepAlong(expr, vector->variable);
  SmallVector<APInt> steps;
  for (int64_t lane = 0; lane < vector->lanes; ++lane)
    steps.emplace_back(64, lane * step, /*isSigned=*/true);
  return arith::AddIOp::create(
      at, loc, vector::BroadcastOp::create(at, loc, shape, math.materialize(at, loc, expr)),
      arith::ConstantOp::create(at, loc, DenseElementsAttr::get(shape, steps)));
}

/// One unsigned comparison finds what is below 0 and what is not below `extent`.
Value CpuKernel::lanesInside(OpBuilder &at, AffineExpr index, AffineExpr extent) {
  if (!vector || math.strideAlong(index, vector->variable) == Stride::uniform)
    return {};
  static constexpr int64_t kSmall = 1 << 30;
  auto isSmall = [&](AffineExpr expr) {
    auto range = math.range(expr);
    return range && range->min > -kSmall && range->max < kSmall;
  };
  Type type = isSmall(index) && isSmall(extent) ? at.getI32Type() : at.getI64Type();
  auto shape = VectorType::get({vector->lanes}, type);
  int64_t step = *math.stepAlong(index, vector->variable);
  SmallVector<APInt> steps;
  for (int64_t lane = 0; lane < vector->lanes; ++lane)
    steps.emplace_back(type.getIntOrFloatBitWidth(), lane * step, /*isSigned=*/true);
  auto spread = [&](AffineExpr expr) {
    Value number =
        arith::IndexCastOp::create(at, loc, type, math.materialize(at, loc, expr)).getResult();
    return vector::BroadcastOp::create(at, loc, shape, number).getResult();
  };
  Value places = arith::AddIOp::create(
      at, loc, spread(index),
      arith::ConstantOp::create(at, loc, DenseElementsAttr::get(shape, steps)));
  return arith::CmpIOp::create(at, loc, arith::CmpIPredicate::ult, places, spread(extent));
}

Value CpuKernel::withinLanes(OpBuilder &at, Value lanes, llvm::function_ref<Value()> read) {
  VectorLoop before = *vector;
  vector->mask =
      before.mask ? arith::AndIOp::create(at, loc, before.mask, lanes).getResult() : lanes;
  vector->isTested = true;
  Value value = read();
  vector = before;
  return value;
}

Value CpuKernel::loadVector(Value buffer, AffineExpr offset) {
  assert(!guard && "guarded reads are scalar");
  if (math.strideAlong(offset, vector->variable) == Stride::other) {
    auto step = math.stepAlong(offset, vector->variable);
    bool isDense = !vector->mask && step && *step > 0 && *step <= kLargestStep;
    return isDense ? loadApart(buffer, offset, *step) : gather(buffer, offset);
  }
  auto type = VectorType::get({vector->lanes}, cast<MemRefType>(buffer.getType()).getElementType());
  Value at = value(offset);
  if (!vector->mask)
    return vector::LoadOp::create(builder, loc, type, buffer, at);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return vector::MaskedLoadOp::create(builder, loc, type, buffer, at, vector->mask, zero);
}

/// Every `step`th element, of vectors that end with the last one of them: nothing is read behind
/// it.
Value CpuKernel::loadApart(Value buffer, AffineExpr offset, int64_t step) {
  int64_t lanes = vector->lanes, end = (lanes - 1) * step + 1;
  auto type = VectorType::get({lanes}, cast<MemRefType>(buffer.getType()).getElementType());
  Value first = value(offset), result;
  for (int64_t part = 0; part < step; ++part) {
    int64_t begin = std::min(part * lanes, end - lanes);
    Value piece = vector::LoadOp::create(builder, loc, type, buffer, add(first, index(begin)));
    if (!result) {
      result = piece;
      // Its elements move to their lanes together with those of the next one.
      continue;
    }
    // Lanes before `from` are there already; after the first pair they stand in their places.
    SmallVector<int64_t> from;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t position = lane * step;
      if (position < part * lanes)
        from.push_back(part == 1 ? position : lane);
      else
        from.push_back(lanes + std::clamp<int64_t>(position - begin, 0, lanes - 1));
    }
    result = vector::ShuffleOp::create(builder, loc, result, piece, from);
  }
  return result;
}

Value CpuKernel::gather(Value buffer, AffineExpr offset) {
  auto type = VectorType::get({vector->lanes}, cast<MemRefType>(buffer.getType()).getElementType());
  Value result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  Value first = value(offset);
  for (int64_t lane = 0; lane < vector->lanes; ++lane) {
    llvm::DenseMap<AffineExpr, AffineExpr> moved = {{vector->variable, vector->variable + lane}};
    Value at = lane == 0 ? first : value(math.simplify(offset.replace(moved)));
    if (vector->isTested) {
      Value used = vector::ExtractOp::create(builder, loc, vector->mask, lane);
      auto load = [&]() -> SmallVector<Value> {
        return {memref::LoadOp::create(builder, loc, buffer, at)};
      };
      auto zero = [&]() -> SmallVector<Value> {
        return {
            arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()))};
      };
      Value element = branch(used, type.getElementType(), load, zero).front();
      result = vector::InsertOp::create(builder, loc, element, result, lane);
      continue;
    }
    // Lanes out of use read what the first one reads.
    if (vector->mask && lane > 0) {
      Value used = vector::ExtractOp::create(builder, loc, vector->mask, lane);
      at = arith::SelectOp::create(builder, loc, used, at, first);
    }
    Value element = memref::LoadOp::create(builder, loc, buffer, at);
    result = vector::InsertOp::create(builder, loc, element, result, lane);
  }
  return result;
}

Value CpuKernel::scratchView(Type element, Value count, Value offset) {
  return memref::ViewOp::create(builder, loc, flatBuffer(element), scratch, offset,
                                ValueRange{count});
}

void CpuKernel::store(Value value, AffineExpr offset) {
  if (rewriteOffset)
    offset = rewriteOffset(offset);
  store(value, offset, output(emitter.selectedResult()));
}

void CpuKernel::storeEach(llvm::function_ref<Value()> value,
                          llvm::function_ref<AffineExpr()> offset, std::optional<bool> ofRow) {
  // All values before the first store, after which nothing can be taken for what was read before.
  SmallVector<std::pair<unsigned, Value>> values;
  for (unsigned number = 0; number < emitter.getResults().size(); ++number) {
    if (ofRow && emitter.isOfRow(number) != *ofRow)
      continue;
    emitter.select(number);
    values.push_back({number, value()});
  }
  for (auto [number, computed] : values) {
    emitter.select(number);
    store(computed, offset());
  }
  emitter.select(0);
}

void CpuKernel::storeInterleaved(ArrayRef<Value> values, AffineExpr offset) {
  if (!vector || vector->mask || !llvm::isPowerOf2_64(values.size())) {
    for (auto [number, value] : llvm::enumerate(values))
      store(value, math.simplify(offset + static_cast<int64_t>(number)));
    return;
  }
  SmallVector<Value> vectors;
  for (Value value : values) {
    Value stored = toStorage(builder, loc, value, emitter.getResultType().getElementType());
    vectors.push_back(llvm::isa<VectorType>(stored.getType()) ? stored
                                                              : splat(stored, vector->lanes));
  }
  // Four vectors a, b, c, d take two rounds: a with c and b with d, then the two results.
  for (size_t half = vectors.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i)
      vectors[i] = vector::InterleaveOp::create(builder, loc, vectors[i], vectors[i + half]);
    vectors.truncate(half);
  }
  vector::StoreOp::create(builder, loc, vectors.front(), output(0), value(offset));
}

void CpuKernel::store(Value value, AffineExpr offset, Value buffer) {
  Value stored = toStorage(builder, loc, value, emitter.getResultType().getElementType());
  if (!vector) {
    memref::StoreOp::create(builder, loc, stored, buffer, this->value(offset));
    return;
  }
  if (!llvm::isa<VectorType>(stored.getType()))
    stored = splat(stored, vector->lanes);
  if (math.strideAlong(offset, vector->variable) == Stride::unit) {
    Value at = this->value(offset);
    if (vector->mask)
      vector::MaskedStoreOp::create(builder, loc, buffer, at, vector->mask, stored);
    else
      vector::StoreOp::create(builder, loc, stored, buffer, at);
    return;
  }
  for (int64_t lane = 0; lane < vector->lanes; ++lane) {
    llvm::DenseMap<AffineExpr, AffineExpr> moved = {{vector->variable, vector->variable + lane}};
    auto storeLane = [&] {
      Value element = vector::ExtractOp::create(builder, loc, stored, lane);
      memref::StoreOp::create(builder, loc, element, buffer,
                              this->value(math.simplify(offset.replace(moved))));
    };
    if (vector->mask)
      when(vector::ExtractOp::create(builder, loc, vector->mask, lane), storeLane);
    else
      storeLane();
  }
}

} // namespace dlc::codegen
