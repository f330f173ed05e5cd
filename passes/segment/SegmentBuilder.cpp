//===- SegmentBuilder.cpp - Ops of a model as a module of their own -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/segment/SegmentBuilder.h"

#include "ir/dl/DLOps.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "ir/dl/control/Flow.h"
#include "ir/dl/control/NamedSymbols.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace dlc {

SegmentBuilder::SegmentBuilder(ModuleOp module) : module(module), symbols(dl::symbolsOf(module)) {}

bool SegmentBuilder::isConstant(Value value) {
  if (auto known = constants.find(value); known != constants.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  // The op that gives a sum of many sizes its own symbol is computed once: each segment that
  // repeated it would name all of these sizes.
  bool isFound =
      op && isPure(op) && !isa<dl::ExpectDimsOp>(op) && !dl::isFlowStep(op) &&
      op->getNumRegions() == 0 &&
      llvm::all_of(op->getOperands(), [&](Value operand) { return isConstant(operand); });
  return constants[value] = isFound;
}

unsigned SegmentBuilder::countSymbols(ArrayRef<Operation *> ops) {
  llvm::SmallBitVector used(symbols.size());
  DenseSet<Operation *> seen;
  std::function<void(Operation *)> visit = [&](Operation *op) {
    if (!seen.insert(op).second)
      return;
    op->walk([&](Operation *inner) {
      forEachSymbol(inner, symbols, [&](unsigned symbol) { used.set(symbol); });
      for (Value operand : inner->getOperands())
        if (operand.getDefiningOp() && isConstant(operand))
          visit(operand.getDefiningOp());
    });
  };
  llvm::for_each(ops, visit);
  return used.count();
}

/// Gives `segment` the symbols that it names, in their order, and lists in `numbers` those whose
/// values the flow gives.
LogicalResult SegmentBuilder::declareSymbols(ModuleOp segment, Location loc,
                                             SmallVectorImpl<int64_t> &numbers) {
  llvm::SmallBitVector used(symbols.size());
  segment.walk([&](Operation *op) {
    forEachSymbol(op, symbols, [&](unsigned symbol) { used.set(symbol); });
  });
  if (used.count() > dl::kMaxSymbols)
    return emitError(loc) << "a part of the model that no branch or read divides has more than "
                          << dl::kMaxSymbols << " dims that vary; use fewer";
  MLIRContext *context = module.getContext();
  SmallVector<AffineExpr> by;
  unsigned next = 0;
  for (unsigned symbol = 0; symbol < symbols.size(); ++symbol)
    by.push_back(used.test(symbol) ? getAffineSymbolExpr(next++, context)
                                   : getAffineConstantExpr(0, context));
  SmallVector<Attribute> declared;
  for (unsigned symbol : used.set_bits()) {
    declared.push_back(dl::replaceSymbols(symbols[symbol], by));
    if (!symbols[symbol].isDerived())
      numbers.push_back(symbol);
  }
  if (declared.empty())
    return success();
  dl::replaceSymbols(segment, by);
  segment->setAttr("dl.symbols", ArrayAttr::get(context, declared));
  return success();
}

/// The names of a segment's inputs or outputs, for messages.
static SmallVector<DictionaryAttr> named(OpBuilder &builder, StringRef letter, size_t count) {
  SmallVector<DictionaryAttr> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("dl.name", builder.getStringAttr(letter + llvm::Twine(i)))));
  return names;
}

LogicalResult SegmentBuilder::build(OpBuilder &builder, ArrayRef<Operation *> ops,
                                    ArrayRef<Value> wanted, DenseMap<Value, Value> &made) {
  DenseSet<Operation *> own(ops.begin(), ops.end());
  SmallVector<Value> results;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return llvm::none_of(ops, [&](Operation *one) { return one->isAncestor(user); });
          }))
        results.push_back(result);
  if (results.empty() && wanted.empty())
    return success();

  Location loc = ops.empty() ? wanted.front().getLoc() : ops.front()->getLoc();
  std::string name = "segment" + std::to_string(number++);
  OpBuilder nested = OpBuilder::atBlockEnd(module.getBody());
  auto segment = ModuleOp::create(nested, loc, StringRef(name));
  nested.setInsertionPointToStart(segment.getBody());
  auto function = func::FuncOp::create(nested, loc, name, nested.getFunctionType({}, {}));
  Block *entry = function.addEntryBlock();
  nested.setInsertionPointToStart(entry);

  IRMapping mapping;
  SmallVector<Value> inputs;
  std::function<void(Value)> take = [&](Value value) {
    if (mapping.contains(value))
      return;
    if (!isConstant(value)) {
      mapping.map(value, entry->addArgument(value.getType(), value.getLoc()));
      inputs.push_back(value);
      return;
    }
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      take(operand);
    nested.clone(*op, mapping);
  };
  for (Operation *op : ops) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isProperAncestor(operand.getParentBlock()->getParentOp()) &&
            operand.getParentBlock()->getParentOp() != op)
          take(operand);
    });
    nested.clone(*op, mapping);
  }
  SmallVector<Value> returned, outside(results);
  llvm::append_range(outside, wanted);
  for (Value value : outside) {
    take(value);
    returned.push_back(mapping.lookup(value));
  }
  func::ReturnOp::create(nested, loc, returned);
  function.setFunctionType(
      nested.getFunctionType(entry->getArgumentTypes(), TypeRange(ValueRange(returned))));
  function.setAllArgAttrs(named(nested, "x", inputs.size()));
  function.setAllResultAttrs(named(nested, "y", returned.size()));
  SmallVector<int64_t> numbers;
  if (failed(declareSymbols(segment, loc, numbers)))
    return failure();

  auto call =
      dl::CallOp::create(builder, loc, TypeRange(ValueRange(outside)), name, inputs, numbers);
  for (auto [position, value] : llvm::enumerate(outside)) {
    Value tensor = call.getResult(position);
    if (position >= results.size()) {
      made[value] = tensor;
      continue;
    }
    constants[tensor] = false;
    value.replaceUsesWithIf(tensor, [&](OpOperand &use) {
      return llvm::none_of(ops, [&](Operation *one) { return one->isAncestor(use.getOwner()); });
    });
  }
  return success();
}

void SegmentBuilder::eraseOriginals(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!op.hasTrait<OpTrait::IsTerminator>() && !dl::isFlowStep(&op) && !isa<dl::CallOp>(op))
      op.erase();
}

} // namespace dlc
