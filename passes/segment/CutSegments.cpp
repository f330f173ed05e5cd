//===- CutSegments.cpp - Cut a model where its data decide what runs ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each block has levels: what a step needs has at most the level of the step, and what it gives has
// the next one. The ops of one level are a segment, which runs before the steps of that level.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "ir/dl/control/Flow.h"
#include "ir/dl/control/NamedSymbols.h"
#include "passes/Passes.h"
#include "passes/segment/SegmentBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "cut-segments"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_CUTSEGMENTS
#include "passes/Passes.h.inc"

namespace {

class CutSegments : public impl::CutSegmentsBase<CutSegments> {
public:
  using CutSegmentsBase::CutSegmentsBase;

private:
  void runOnOperation() override;
};

/// Cuts the blocks of one model, the inner ones first.
class Cutter {
public:
  explicit Cutter(ModuleOp module) : segments(module), symbols(dl::symbolsOf(module)) {}

  LogicalResult run(Block &block) {
    findGivers(block);
    return cut(block);
  }
  unsigned count() const { return segments.count(); }

private:
  /// The levels of one block.
  struct Levels {
    DenseMap<Value, unsigned> values;
    DenseMap<unsigned, unsigned> symbols;
    unsigned last = 0;
  };

  void findGivers(Block &block);
  LogicalResult cut(Block &block);
  unsigned levelOf(Operation *op, const Levels &levels);
  unsigned levelOfSymbols(Operation *op, const Levels &levels);
  unsigned levelOfConstant(Value value, const Levels &levels);
  void define(Operation *step, unsigned level, Levels &levels);
  /// Makes one segment of `ops`, or several where it would have too many symbols.
  LogicalResult build(OpBuilder &builder, ArrayRef<Operation *> ops, ArrayRef<Value> constants,
                      DenseMap<Value, Value> &made);

  SegmentBuilder segments;
  SmallVector<dl::SymbolAttr> symbols;
  DenseMap<unsigned, Operation *> givers; // of read symbols: the first step that names them
};

} // namespace

/// Calls `visit` with each value that `op` or an op inside it reads and that is defined outside.
static void forEachRead(Operation *op, llvm::function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isProperAncestor(operand.getParentBlock()->getParentOp()) &&
          operand.getParentBlock()->getParentOp() != op)
        visit(operand);
  });
}

unsigned Cutter::levelOfSymbols(Operation *op, const Levels &levels) {
  unsigned level = 0;
  op->walk([&](Operation *inner) {
    forEachSymbol(inner, symbols,
                  [&](unsigned symbol) { level = std::max(level, levels.symbols.lookup(symbol)); });
  });
  return level;
}

unsigned Cutter::levelOfConstant(Value value, const Levels &levels) {
  Operation *op = value.getDefiningOp();
  unsigned level = levelOfSymbols(op, levels);
  for (Value operand : op->getOperands())
    level = std::max(level, levelOfConstant(operand, levels));
  return level;
}

unsigned Cutter::levelOf(Operation *op, const Levels &levels) {
  unsigned level = levelOfSymbols(op, levels);
  forEachRead(op, [&](Value value) {
    level = std::max(level, segments.isConstant(value) ? levelOfConstant(value, levels)
                                                       : levels.values.lookup(value));
  });
  return level;
}

/// Finds the steps that give symbols, in the order in which the flow runs: an inner block may name
/// symbols of the blocks around it.
void Cutter::findGivers(Block &block) {
  auto name = [&](Value value, Operation *giver) {
    for (AffineExpr dim : dl::getDims(cast<RankedTensorType>(value.getType())))
      if (auto symbol = dyn_cast<AffineSymbolExpr>(dim))
        if (symbols[symbol.getPosition()].isRead())
          givers.try_emplace(symbol.getPosition(), giver);
  };
  for (Operation &op : block) {
    if (!dl::isFlowStep(&op))
      continue;
    if (auto read = dyn_cast<dl::ReadOp>(op))
      givers.try_emplace(read.getSymbol(), &op);
    for (Region &region : op.getRegions()) {
      for (Value argument : region.getArguments())
        name(argument, nullptr); // before the first op of the block
      findGivers(region.front());
    }
    for (Value result : op.getResults())
      name(result, &op);
  }
}

/// A step gives its results and its symbols.
void Cutter::define(Operation *step, unsigned level, Levels &levels) {
  for (Value result : step->getResults())
    levels.values[result] = level + 1;
  for (auto [symbol, giver] : givers)
    if (giver == step)
      levels.symbols[symbol] = level + 1;
  // Derived symbols follow from those before them.
  for (auto [position, symbol] : llvm::enumerate(symbols))
    if (symbol.isDerived())
      dl::forEachDim(symbol.getDerived(), [&, position = position](AffineExpr dim) {
        dim.walk([&](AffineExpr part) {
          if (auto operand = dyn_cast<AffineSymbolExpr>(part))
            levels.symbols[position] = std::max(levels.symbols.lookup(position),
                                                levels.symbols.lookup(operand.getPosition()));
        });
      });
}

LogicalResult Cutter::build(OpBuilder &builder, ArrayRef<Operation *> ops,
                            ArrayRef<Value> constants, DenseMap<Value, Value> &made) {
  SmallVector<Operation *> all(ops);
  for (Value constant : constants)
    all.push_back(constant.getDefiningOp());
  if (all.size() < 2 || segments.countSymbols(all) <= dl::kMaxSymbols)
    return segments.build(builder, ops, constants, made);
  auto both = [&](ArrayRef<Operation *> first, ArrayRef<Value> firstConstants,
                  ArrayRef<Operation *> second, ArrayRef<Value> secondConstants) {
    return failure(failed(build(builder, first, firstConstants, made)) ||
                   failed(build(builder, second, secondConstants, made)));
  };
  size_t middle = ops.size() / 2, half = constants.size() / 2;
  if (ops.empty())
    return both({}, constants.take_front(half), {}, constants.drop_front(half));
  if (!constants.empty())
    return both(ops, {}, {}, constants);
  return both(ops.take_front(middle), {}, ops.drop_front(middle), {});
}

LogicalResult Cutter::cut(Block &block) {
  eraseUnread(block, symbols);
  for (Operation &op : llvm::make_early_inc_range(block))
    if (dl::isFlowStep(&op))
      for (Region &region : op.getRegions())
        if (failed(cut(region.front())))
          return failure();

  Levels levels;
  SmallVector<SmallVector<Operation *>> ops(1), steps(1);
  SmallVector<llvm::SetVector<Value>> constants(1); // that steps read themselves
  auto reach = [&](unsigned level) {
    if (level < ops.size())
      return;
    ops.resize(level + 1);
    steps.resize(level + 1);
    constants.resize(level + 1);
  };
  for (Operation &op : block.without_terminator()) {
    bool isStep = dl::isFlowStep(&op);
    if (!isStep &&
        llvm::all_of(op.getResults(), [&](Value result) { return segments.isConstant(result); }))
      continue;
    unsigned level = levelOf(&op, levels);
    reach(level);
    if (!isStep) {
      ops[level].push_back(&op);
      for (Value result : op.getResults())
        levels.values[result] = level;
      continue;
    }
    steps[level].push_back(&op);
    forEachRead(&op, [&](Value value) {
      if (segments.isConstant(value))
        constants[level].insert(value);
    });
    define(&op, level, levels);
    reach(level + 1);
  }
  for (Value value : block.getTerminator()->getOperands())
    if (segments.isConstant(value))
      constants.back().insert(value);

  OpBuilder builder(block.getTerminator());
  DenseMap<Value, Value> made; // constants in tensors of the flow
  for (auto [level, list] : llvm::enumerate(ops)) {
    llvm::SetVector<Value> fresh;
    for (Value constant : constants[level])
      if (!made.contains(constant))
        fresh.insert(constant);
    if (failed(build(builder, list, fresh.getArrayRef(), made)))
      return failure();
    for (Operation *step : steps[level]) {
      step->moveBefore(block.getTerminator());
      step->walk([&](Operation *inner) {
        for (OpOperand &operand : inner->getOpOperands())
          if (Value tensor = made.lookup(operand.get()))
            operand.set(tensor);
      });
    }
  }
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (Value tensor = made.lookup(operand.get()))
      operand.set(tensor);
  segments.eraseOriginals(block);
  return success();
}

void CutSegments::runOnOperation() {
  ModuleOp module = getOperation();
  if (!dl::runsInSegments(module))
    return;
  auto function = *module.getOps<func::FuncOp>().begin();
  if (dl::countedSymbols(module).any()) {
    function.emitError("has both counted dims and branches, loops or reads; expected one of them");
    return signalPassFailure();
  }
  Cutter cutter(module);
  if (failed(cutter.run(function.front())))
    return signalPassFailure();
  numSegments += cutter.count();
}

} // namespace dlc
