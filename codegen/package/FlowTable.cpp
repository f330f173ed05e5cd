//===- FlowTable.cpp - The flow between segments as the package stores it -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/package/FlowTable.h"

#include "codegen/package/ModuleTable.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/base/ModuleSymbols.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc::codegen {

namespace {

class FlowBuilder {
public:
  FlowBuilder(ModuleOp module, ArrayRef<CompiledSegment> segments, ExpressionTable &expressions,
              schema::FlowT &flow)
      : module(module), symbols(dl::symbolsOf(module)), expressions(expressions), flow(flow),
        defined(symbols.size()) {
    for (auto [position, segment] : llvm::enumerate(segments))
      numbers[ModuleOp(segment.module).getSymName().value_or("")] = position;
    for (auto [position, symbol] : llvm::enumerate(symbols))
      defined[position] = !symbol.isRead();
    flow.numbers = static_cast<uint32_t>(symbols.size());
  }
  LogicalResult build(func::FuncOp function);

private:
  uint32_t slot(Value value);
  std::vector<uint32_t> slotsOf(ValueRange values);
  template <typename Step> Step &add(uint32_t block);
  /// Lets the sizes of `values` give the symbols that nothing has given yet.
  void defineSymbols(ValueRange values, uint32_t block);
  uint32_t addBlock(Block &ops, ValueRange arguments);
  LogicalResult addStep(Operation *op, uint32_t block);
  LogicalResult addCall(dl::CallOp call, uint32_t block);
  void addRead(dl::ReadOp read, uint32_t block);
  void addIf(dl::IfOp branch, uint32_t block);
  void addWhile(dl::WhileOp loop, uint32_t block);
  bool isDefined(AffineExpr dim) const;
  std::vector<uint32_t> dimsOfNone(dl::WhileOp loop);

  ModuleOp module;
  SmallVector<dl::SymbolAttr> symbols;
  ExpressionTable &expressions;
  schema::FlowT &flow;
  std::vector<bool> defined;
  llvm::StringMap<uint32_t> numbers; // of segments
  DenseMap<Value, uint32_t> slots;
  bool hasFailed = false;
};

} // namespace

uint32_t FlowBuilder::slot(Value value) {
  auto [found, isNew] = slots.try_emplace(value, static_cast<uint32_t>(flow.slots.size()));
  if (!isNew)
    return found->second;
  auto type = cast<RankedTensorType>(value.getType());
  auto made = std::make_unique<schema::SlotT>();
  made->dtype = dtypeOf(type.getElementType());
  for (AffineExpr dim : dl::getDims(type))
    made->dims.push_back(dl::asConstant(dim).value_or(-1));
  flow.slots.push_back(std::move(made));
  return found->second;
}

std::vector<uint32_t> FlowBuilder::slotsOf(ValueRange values) {
  std::vector<uint32_t> list;
  for (Value value : values)
    list.push_back(slot(value));
  return list;
}

template <typename Step> Step &FlowBuilder::add(uint32_t block) {
  auto entry = std::make_unique<schema::StepEntryT>();
  entry->step.Set(Step());
  auto *step = static_cast<Step *>(entry->step.value);
  flow.blocks[block]->steps.push_back(std::move(entry));
  return *step;
}

void FlowBuilder::defineSymbols(ValueRange values, uint32_t block) {
  for (Value value : values)
    for (auto [position, dim] :
         llvm::enumerate(dl::getDims(cast<RankedTensorType>(value.getType())))) {
      auto symbol = dyn_cast<AffineSymbolExpr>(dim);
      if (!symbol || defined[symbol.getPosition()])
        continue;
      defined[symbol.getPosition()] = true;
      auto &step = add<schema::SizeStepT>(block);
      step.slot = slot(value);
      step.dim = static_cast<uint32_t>(position);
      step.number = symbol.getPosition();
    }
}

uint32_t FlowBuilder::addBlock(Block &ops, ValueRange arguments) {
  auto block = static_cast<uint32_t>(flow.blocks.size());
  flow.blocks.push_back(std::make_unique<schema::BlockT>());
  defineSymbols(arguments, block);
  for (Operation &op : ops.without_terminator())
    hasFailed |= failed(addStep(&op, block));
  return block;
}

LogicalResult FlowBuilder::addCall(dl::CallOp call, uint32_t block) {
  auto found = numbers.find(call.getCallee());
  if (found == numbers.end())
    return call.emitOpError("calls '") << call.getCallee() << "', which is no segment";
  auto &step = add<schema::CallStepT>(block);
  step.segment = found->second;
  step.inputs = slotsOf(call.getInputs());
  step.numbers.assign(call.getNumbers().begin(), call.getNumbers().end());
  step.outputs = slotsOf(call.getResults());
  return success();
}

void FlowBuilder::addRead(dl::ReadOp read, uint32_t block) {
  auto &step = add<schema::ReadStepT>(block);
  step.slot = slot(read.getX());
  step.number = read.getSymbol();
  step.what = symbols[read.getSymbol()].getName().str();
  defined[read.getSymbol()] = true;
}

void FlowBuilder::addIf(dl::IfOp branch, uint32_t block) {
  Block &first = branch.getThenBranch().front(), &second = branch.getElseBranch().front();
  auto &step = add<schema::IfStepT>(block);
  step.condition = slot(branch.getCondition());
  step.then_block = addBlock(first, {});
  step.else_block = addBlock(second, {});
  step.then_values = slotsOf(first.getTerminator()->getOperands());
  step.else_values = slotsOf(second.getTerminator()->getOperands());
  step.results = slotsOf(branch.getResults());
  defineSymbols(branch.getResults(), block);
}

/// Whether something before gives all symbols of `dim`.
bool FlowBuilder::isDefined(AffineExpr dim) const {
  bool isFound = true;
  dim.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    if (!symbol)
      return;
    isFound &= defined[symbol.getPosition()];
    if (dl::DerivedAttr derived = symbols[symbol.getPosition()].getDerived())
      dl::forEachDim(derived, [&](AffineExpr operand) { isFound &= isDefined(operand); });
  });
  return isFound;
}

/// The dims of what a loop gathers, for one without a step: the least ones where its steps say
/// them.
std::vector<uint32_t> FlowBuilder::dimsOfNone(dl::WhileOp loop) {
  SmallVector<dl::Range> ranges = dl::symbolRanges(module);
  std::vector<uint32_t> rows;
  for (Value stack : loop.getResults().drop_front(loop.getInitial().size()))
    for (AffineExpr dim : llvm::drop_begin(dl::getDims(cast<RankedTensorType>(stack.getType())))) {
      auto range = dl::rangeOf(dim, ranges);
      int64_t least = range ? std::max<int64_t>(range->min, 0) : 0;
      rows.push_back(
          expressions.add(isDefined(dim) ? dim : dl::constantDim(least, dim.getContext())));
    }
  return rows;
}

void FlowBuilder::addWhile(dl::WhileOp loop, uint32_t block) {
  Block &body = loop.getBodyBlock();
  auto &step = add<schema::LoopStepT>(block);
  step.empty_dims = dimsOfNone(loop);
  if (loop.getTrips())
    step.trips = static_cast<int32_t>(slot(loop.getTrips()));
  if (loop.getCondition())
    step.condition = static_cast<int32_t>(slot(loop.getCondition()));
  step.initial = slotsOf(loop.getInitial());
  ValueRange carried(loop.getCarried());
  step.arguments = slotsOf(carried);
  if (!loop.getStep().use_empty())
    step.step = static_cast<int32_t>(slot(loop.getStep()));
  step.body = addBlock(body, carried);
  if (loop.getGoesOn())
    step.next_condition = static_cast<int32_t>(slot(loop.getGoesOn()));
  step.next = slotsOf(loop.getNext());
  step.gathered = slotsOf(loop.getGathered());
  step.results = slotsOf(loop.getResults().take_front(carried.size()));
  step.stacks = slotsOf(loop.getResults().drop_front(carried.size()));
  // The steps that are done say how long a stack is.
  for (auto [each, stack] : llvm::zip_equal(step.gathered, step.stacks)) {
    flow.slots[stack]->dims = flow.slots[each]->dims;
    flow.slots[stack]->dims.insert(flow.slots[stack]->dims.begin(), -1);
  }
  defineSymbols(loop.getResults(), block);
}

LogicalResult FlowBuilder::addStep(Operation *op, uint32_t block) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](dl::CallOp call) { return addCall(call, block); })
      .Case([&](dl::ReadOp read) { return addRead(read, block), success(); })
      .Case([&](dl::IfOp branch) { return addIf(branch, block), success(); })
      .Case([&](dl::WhileOp loop) { return addWhile(loop, block), success(); })
      .Default([](Operation *other) {
        return other->emitOpError("is no step of a flow; expected a call, branch, loop or read");
      });
}

LogicalResult FlowBuilder::build(func::FuncOp function) {
  slotsOf(function.getArguments());
  addBlock(function.front(), {});
  Operation *end = function.front().getTerminator();
  for (auto [position, value] : llvm::enumerate(end->getOperands()))
    (function.getResultAttr(position, "dl.state") ? flow.next_states : flow.outputs)
        .push_back(slot(value));
  return failure(hasFailed);
}

LogicalResult buildFlow(ModuleOp module, ArrayRef<CompiledSegment> segments,
                        schema::ModuleT &table) {
  auto function = *module.getOps<func::FuncOp>().begin();
  ExpressionTable expressions;
  table.model = module.getSymName().value_or(function.getSymName()).str();
  addSymbols(module, table, expressions);
  addCache(module, table, expressions);
  auto add = [&](std::vector<std::unique_ptr<schema::ValueT>> &list, StringAttr name, Type type) {
    auto tensor = cast<RankedTensorType>(type);
    list.push_back(std::make_unique<schema::ValueT>());
    list.back()->name = name ? name.str() : std::string();
    list.back()->dtype = dtypeOf(tensor.getElementType());
    list.back()->dims = expressions.addAll(dl::getDims(tensor));
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    add(function.getArgAttr(i, "dl.state") ? table.states : table.inputs,
        function.getArgAttrOfType<StringAttr>(i, "dl.name"), function.getArgumentTypes()[i]);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!function.getResultAttr(i, "dl.state"))
      add(table.outputs, function.getResultAttrOfType<StringAttr>(i, "dl.name"),
          function.getResultTypes()[i]);
  table.flow = std::make_unique<schema::FlowT>();
  if (failed(FlowBuilder(module, segments, expressions, *table.flow).build(function)))
    return failure();
  table.expressions = expressions.getNodes();
  return success();
}

} // namespace dlc::codegen
