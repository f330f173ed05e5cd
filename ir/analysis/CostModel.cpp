//===- CostModel.cpp - Arithmetic and traffic of a kernel ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/CostModel.h"

#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"
#include "ir/scalar/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace dlc {

static int64_t weightOf(Operation &op) {
  return TypeSwitch<Operation *, int64_t>(&op)
#define DLC_SCALAR_OP(Class, Weight) .Case([](Class) -> int64_t { return Weight; })
#include "ir/scalar/ScalarOps.def"
      .Default([](Operation *) -> int64_t { return 0; });
}

/// Emits bodies into a block of its own and counts what they build.
namespace {
class BodyCounter {
public:
  BodyCounter(LoopNestOpInterface op, const LoopNest &nest)
      : op(op), nest(nest), builder(op->getContext()), positions(nest.numLoops()) {
    builder.setInsertionPointToEnd(&block);
    for (unsigned loop : nest.indexDims.set_bits())
      positions[loop] = block.addArgument(builder.getIndexType(), op.getLoc());
  }

  int64_t countTerm(unsigned stage) {
    SmallVector<Value> accs = accumulators(stage);
    return count([&](BodyContext &context) {
      SmallVector<Value> args = values(nest.terms);
      emitCoordinates(context, /*isTerm=*/true, args);
      op.emitTerm(context, stage, args, accs);
    });
  }
  int64_t countResult() {
    SmallVector<Value> accs = accumulators(nest.stages.size());
    return count([&](BodyContext &context) {
      context.reduction = {};
      SmallVector<Value> args = values(nest.results);
      emitCoordinates(context, /*isTerm=*/false, args);
      op.emitResult(context, args, accs);
    });
  }

  SmallVector<AffineExpr> extents; // that the bodies asked for

private:
  void emitCoordinates(BodyContext &context, bool isTerm, ArrayRef<Value> args) {
    for (auto [number, access] : llvm::enumerate(isTerm ? nest.terms : nest.results))
      for (unsigned dim : access.computed.set_bits())
        op.emitCoordinate(context, isTerm, number, dim, args.take_front(number));
  }
  SmallVector<Value> values(ArrayRef<Access> accesses) {
    SmallVector<Value> list;
    for (const Access &access : accesses)
      list.push_back(block.addArgument(
          computeType(getElementTypeOrSelf(op->getOperand(access.operand).getType())),
          op.getLoc()));
    return list;
  }
  SmallVector<Value> accumulators(unsigned stages) {
    SmallVector<Value> list;
    for (unsigned stage = 0; stage < stages; ++stage)
      list.push_back(block.addArgument(
          computeType(getElementTypeOrSelf(op->getResult(0).getType())), op.getLoc()));
    return list;
  }
  int64_t count(llvm::function_ref<void(BodyContext &)> emit) {
    auto extent = [&](AffineExpr dim) -> Value {
      extents.push_back(dim);
      return arith::ConstantIndexOp::create(builder, op.getLoc(), 1);
    };
    ArrayRef<Value> loops(positions);
    BodyContext context{builder, op.getLoc(), loops.take_front(nest.parallel.size()), extent,
                        loops.drop_front(nest.parallel.size())};
    emit(context);
    int64_t weight = 0;
    for (Operation &emitted : block)
      weight += weightOf(emitted);
    block.clear();
    return weight;
  }

  LoopNestOpInterface op;
  const LoopNest &nest;
  Block block;
  OpBuilder builder;
  SmallVector<Value> positions;
};
} // namespace

int64_t resultCost(LoopNestOpInterface op) {
  LoopNest nest = op.getLoopNest();
  return BodyCounter(op, nest).countResult();
}

SmallVector<AffineExpr> extentsRead(LoopNestOpInterface op) {
  LoopNest nest = op.getLoopNest();
  BodyCounter counter(op, nest);
  for (unsigned stage = 0; stage < nest.stages.size(); ++stage)
    counter.countTerm(stage);
  counter.countResult();
  return std::move(counter.extents);
}

dl::Dim flopsOf(LoopNestOpInterface op) {
  MLIRContext *context = op->getContext();
  LoopNest nest = op.getLoopNest();
  BodyCounter counter(op, nest);
  AffineExpr results = dl::product(nest.parallel, context);
  AffineExpr flops = results * counter.countResult();
  if (!nest.isMap()) {
    // Rows are reduced once for all of their inner dims.
    llvm::SmallBitVector inner = nest.innerDims();
    AffineExpr terms =
        dl::product(nest.meanSpans.empty() ? nest.reduction : nest.meanSpans, context);
    for (auto [dim, extent] : llvm::enumerate(nest.parallel))
      if (!inner.test(dim))
        terms = terms * extent;
    for (unsigned stage = 0; stage < nest.stages.size(); ++stage)
      flops = flops + terms * (counter.countTerm(stage) + 1); // one to combine
  }
  return dl::normalize(flops);
}

dl::Dim flopsOf(RecurrentOpInterface op) {
  MLIRContext *context = op->getContext();
  Recurrence r = op.getRecurrence();
  Block body;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&body);
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < 2 * r.numGates + r.numStates; ++i)
    arguments.push_back(body.addArgument(computeType(r.elementType), op.getLoc()));
  ArrayRef<Value> all(arguments);
  auto extent = [](AffineExpr) -> Value { llvm_unreachable("a step reads no extent"); };
  BodyContext bodyContext{builder, op.getLoc(), {}, extent};
  op.emitStep(bodyContext, all.take_front(r.numGates), all.slice(r.numGates, r.numGates),
              all.take_back(r.numStates));
  int64_t weight = 0;
  for (Operation &emitted : body)
    weight += weightOf(emitted);
  int64_t perStep = r.units * (weight + 2 * r.numGates * r.outputs);
  if (r.projection)
    perStep += 2 * r.units * r.outputs;
  return dl::normalize(r.steps * r.rows * dl::constantDim(perStep, context));
}

/// An element is put in order by some passes over the bytes of its key.
static constexpr int64_t kOrderFlops = 32;
/// The overlap of two boxes.
static constexpr int64_t kOverlapFlops = 12;

dl::Dim flopsOf(LineOpInterface op) {
  LineWork work = op.getLineWork();
  LineWork::Kind kind = work.kind;
  // A scatter costs its updates.
  Value worked = op->getOperand(kind == LineWork::Kind::scatter ? op->getNumOperands() - 1 : 0);
  AffineExpr elements =
      dl::product(dl::getDims(cast<RankedTensorType>(worked.getType())), op->getContext());
  // Each box with those taken before it, at most.
  if (kind == LineWork::Kind::suppress)
    return dl::normalize(elements * work.count * (kOverlapFlops / 2));
  return dl::normalize(elements * (kind == LineWork::Kind::order ? kOrderFlops : 1));
}

std::optional<int64_t> usualOrMiddle(AffineExpr expr, ArrayRef<dl::Range> symbols) {
  if (auto usual = dl::usualOf(expr, symbols))
    return std::max<int64_t>(1, *usual);
  auto range = dl::rangeOf(expr, symbols);
  if (!range)
    return std::nullopt;
  double least = double(std::max<int64_t>(range->min, 1)),
         most = double(std::max<int64_t>(range->max, 1));
  return std::max<int64_t>(1, static_cast<int64_t>(std::sqrt(least * most)));
}

int64_t bytesPerElement(RankedTensorType type) {
  return std::max<int64_t>(type.getElementType().getIntOrFloatBitWidth() / 8, 1);
}

dl::Dim storedBytes(RankedTensorType type) {
  return dl::normalize(dl::storedElements(type) * bytesPerElement(type));
}

namespace {
/// How many elements of each value a kernel reads. A value that all of its readers read in part is
/// read in part: a table by a gather, a tensor by a slice. Reads of one element by several readers,
/// or through several accesses, count once.
class ReadCounter {
public:
  explicit ReadCounter(Block &block) : context(block.getParentOp()->getContext()) {
    if (auto module = block.getParentOp()->getParentOfType<ModuleOp>())
      symbols = dl::symbolRanges(module);
    for (Value result : block.getTerminator()->getOperands())
      addWhole(result);
    for (Operation &op : llvm::reverse(block.without_terminator()))
      addOperands(op);
  }

  dl::Dim bytesOf(BlockArgument argument) const {
    auto type = cast<RankedTensorType>(argument.getType());
    auto found = reads.find(argument);
    AffineExpr count = found == reads.end() ? dl::constantDim(0, context) : found->second;
    if (count == elementsOf(argument))
      return storedBytes(type);
    return dl::normalize(count * bytesPerElement(type));
  }

private:
  AffineExpr elementsOf(Value value) const {
    return dl::product(dl::getDims(cast<RankedTensorType>(value.getType())), context);
  }

  bool isAtMost(AffineExpr first, AffineExpr second) const {
    auto range = dl::rangeOf(dl::normalize(first - second), symbols);
    return range && range->max <= 0;
  }

  void addWhole(Value value) { reads[value] = elementsOf(value); }
  void add(Value value, AffineExpr count) {
    AffineExpr &known = reads[value];
    if (!known || isAtMost(known, count))
      known = count;
    else if (!isAtMost(count, known))
      known = elementsOf(value);
  }

  void addOperands(Operation &op) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    if (!loops) {
      llvm::for_each(op.getOperands(), [&](Value operand) { addWhole(operand); });
      return;
    }
    LoopNest nest = loops.getLoopNest();
    AffineExpr result = elementsOf(op.getResult(0)), asked = reads.lookup(op.getResult(0));
    for (ArrayRef<Access> accesses :
         {ArrayRef(nest.terms), ArrayRef(nest.results), ArrayRef(nest.spanReads)})
      for (const Access &access : accesses) {
        Value operand = op.getOperand(access.operand);
        AffineExpr count = countOf(nest, access, operand);
        // A map that is evaluated in part reads in part.
        add(operand, nest.isMap() && asked && count == result ? asked : count);
      }
  }

  /// Elements that the access reads over all loops.
  AffineExpr countOf(const LoopNest &nest, const Access &access, Value operand) const {
    unsigned numLoops = access.map.getNumDims();
    auto extentOf = [&](unsigned loop) {
      return loop < nest.parallel.size() ? nest.parallel[loop]
                                         : nest.reduction[loop - nest.parallel.size()];
    };
    llvm::SmallBitVector free(numLoops, true); // loops that only computed indices depend on
    AffineExpr count = dl::constantDim(1, context), computed = count;
    for (auto [dim, extent] :
         llvm::enumerate(dl::getDims(cast<RankedTensorType>(operand.getType())))) {
      if (access.isComputed() && access.computed.test(dim)) {
        computed = computed * extent;
        continue;
      }
      AffineExpr steps = dl::constantDim(1, context);
      for (unsigned loop = 0; loop < numLoops; ++loop)
        if (access.map.getResult(dim).isFunctionOfDim(loop)) {
          steps = steps * extentOf(loop);
          free.reset(loop);
        }
      count = count * (isAtMost(steps, extent) ? steps : extent);
    }
    if (access.isComputed()) {
      AffineExpr steps = dl::constantDim(1, context);
      for (unsigned loop : free.set_bits())
        steps = steps * extentOf(loop);
      // Data say which elements these are; at most as many as there are steps.
      count = count * (isAtMost(computed, steps) ? computed : steps);
    }
    return dl::normalize(count);
  }

  MLIRContext *context;
  SmallVector<dl::Range> symbols;
  llvm::DenseMap<Value, AffineExpr> reads;
};
} // namespace

Cost costOf(Block &block) {
  MLIRContext *context = block.getParentOp()->getContext();
  AffineExpr flops = dl::constantDim(0, context), bytes = flops;
  for (auto op : block.getOps<LoopNestOpInterface>())
    flops = flops + flopsOf(op);
  for (auto op : block.getOps<RecurrentOpInterface>())
    flops = flops + flopsOf(op);
  for (auto op : block.getOps<LineOpInterface>())
    flops = flops + flopsOf(op);
  // In place an update writes what it is given, and reads nothing of the rest.
  auto kernel = dyn_cast<dlx::KernelOp>(block.getParentOp());
  auto update = kernel && kernel.getInPlace()
                    ? kernel.getResultTensors().front().getDefiningOp<dl::UpdateSliceOp>()
                    : dl::UpdateSliceOp();
  ReadCounter reads(block);
  for (BlockArgument argument : block.getArguments())
    if (!update || argument != update.getX())
      bytes = bytes + reads.bytesOf(argument);
  for (Value result : block.getTerminator()->getOperands())
    bytes = bytes + storedBytes(cast<RankedTensorType>(update ? update.getSrc().getType()
                                                              : result.getType()));
  return {dl::normalize(flops), dl::normalize(bytes)};
}

} // namespace dlc
