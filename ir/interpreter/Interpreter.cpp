//===- Interpreter.cpp - What a dl function computes, by definition -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interpreter/Interpreter.h"

#include "ir/analysis/FusionLegality.h"
#include "ir/analysis/view/ViewLayout.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "ir/dl/control/Flow.h"
#include "ir/interpreter/LineRunner.h"
#include "ir/interpreter/NestRunner.h"
#include "ir/interpreter/RecurrenceRunner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dlc {

static std::string dimsText(ArrayRef<int64_t> dims) {
  std::string text = "[";
  for (int64_t dim : dims)
    text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

static SmallVector<int64_t> evaluateDims(RankedTensorType type, ArrayRef<int64_t> symbols) {
  SmallVector<int64_t> dims;
  for (AffineExpr dim : dl::getDims(type))
    dims.push_back(evaluateDim(dim, symbols));
  return dims;
}

/// Fails unless `tensor` has the dims of `type` under `symbols`, and its dtype.
static LogicalResult checkArgument(func::FuncOp function, unsigned position, const Tensor &tensor,
                                   ArrayRef<int64_t> symbols) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[position]);
  SmallVector<int64_t> expected = evaluateDims(type, symbols);
  if (type.getElementType() == tensor.getElementType() &&
      ArrayRef<int64_t>(expected) == tensor.getDims())
    return success();
  return function.emitError("input ")
         << position << " is expected as " << dimsText(expected) << " of " << type.getElementType()
         << ", got " << dimsText(tensor.getDims()) << " of " << tensor.getElementType();
}

void bindComputed(ModuleOp module, SmallVectorImpl<int64_t> &symbols) {
  SmallVector<dl::SymbolAttr> declared = dl::symbolsOf(module);
  symbols.resize(declared.size());
  for (auto [position, symbol] : llvm::enumerate(declared))
    if (symbol.isCounted())
      symbols[position] = evaluateDim(symbol.getMost().getResult(0), symbols);
    else if (symbol.isDerived())
      symbols[position] = dl::valueOf(symbol.getDerived(), symbols);
}

/// `tensor` cut to `dims`, which are nowhere larger.
static Tensor cutTo(const Tensor &tensor, ArrayRef<int64_t> dims) {
  if (tensor.getDims() == dims)
    return tensor;
  Tensor cut(tensor.getElementType(), dims);
  SmallVector<int64_t> index(dims.size());
  for (int64_t at = 0; at < cut.size(); ++at) {
    int64_t from = 0, rest = at;
    for (int64_t dim = dims.size() - 1; dim >= 0; --dim) {
      index[dim] = rest % dims[dim];
      rest /= dims[dim];
    }
    for (auto [place, size] : llvm::zip(index, tensor.getDims()))
      from = from * size + place;
    if (tensor.isFloat())
      cut.floats()[at] = tensor.floats()[from];
    else
      cut.ints()[at] = tensor.ints()[from];
  }
  return cut;
}

/// What a caller gets of what the function returns.
static FailureOr<SmallVector<Tensor>> cutResults(func::FuncOp function, SmallVector<Tensor> results,
                                                 ArrayRef<int64_t> symbols) {
  auto module = function->getParentOfType<ModuleOp>();
  llvm::SmallBitVector counted = module ? dl::countedSymbols(module) : llvm::SmallBitVector();
  if (counted.none())
    return results;
  SmallVector<int64_t> real(symbols);
  SmallVector<Tensor> kept;
  SmallVector<Type> types;
  int next = counted.find_first();
  for (auto [position, result] : llvm::enumerate(results)) {
    if (!function.getResultAttr(position, "dl.count")) {
      kept.push_back(result);
      types.push_back(function.getResultTypes()[position]);
      continue;
    }
    int64_t count = result.ints()[0];
    if (count < 0 || count > symbols[next])
      return function.emitError("counts ")
             << count << " elements of a dim of " << symbols[next] << " at most";
    real[next] = count;
    next = counted.find_next(next);
  }
  for (auto [result, type] : llvm::zip(kept, types))
    result = cutTo(result, evaluateDims(cast<RankedTensorType>(type), real));
  return kept;
}

FailureOr<SmallVector<int64_t>> bindSymbols(func::FuncOp function, ArrayRef<Tensor> inputs) {
  SmallVector<dl::Range> ranges = dl::symbolRanges(function->getParentOfType<ModuleOp>());
  if (inputs.size() != function.getNumArguments())
    return function.emitError("expected ")
           << function.getNumArguments() << " inputs, got " << inputs.size();
  // A dim that is a symbol, or a multiple of one, says what it is; a symbol that no argument shows
  // takes its smallest value.
  SmallVector<int64_t> symbols;
  for (dl::Range range : ranges)
    symbols.push_back(range.min);
  for (auto [type, input] : llvm::zip(function.getArgumentTypes(), inputs))
    for (auto [dim, size] : llvm::zip(dl::getDims(cast<RankedTensorType>(type)), input.getDims()))
      if (auto [symbol, step, offset] = dl::asStepped(dim);
          symbol && symbol.getPosition() < symbols.size() && size >= offset)
        symbols[symbol.getPosition()] = (size - offset) / step;
  bindComputed(function->getParentOfType<ModuleOp>(), symbols);
  SmallVector<dl::SymbolAttr> declared = dl::symbolsOf(function->getParentOfType<ModuleOp>());
  bool isRead = llvm::any_of(declared, [](dl::SymbolAttr symbol) { return symbol.isRead(); });
  for (auto [position, range] : llvm::enumerate(ranges)) {
    if (isRead && (declared[position].isRead() || declared[position].isDerived()))
      continue; // the steps of the model say what these are
    if (symbols[position] < range.min || symbols[position] > range.max)
      return function.emitError("symbol ") << position << " is expected between " << range.min
                                           << " and " << range.max << ", got " << symbols[position];
  }
  for (auto [position, input] : llvm::enumerate(inputs))
    if (failed(checkArgument(function, position, input, symbols)))
      return failure();
  return symbols;
}

namespace {

class Interpreter {
public:
  Interpreter(ArrayRef<int64_t> symbols, const InterpreterOptions &options)
      : symbols(symbols), options(options) {}

  /// Runs the ops of `block`; the operands of its terminator. `outer` holds values of the blocks
  /// around it.
  FailureOr<SmallVector<Tensor>>
  runBlock(Block &block, ArrayRef<Tensor> arguments, bool isObserved,
           const DenseMap<Value, Tensor> &outer = DenseMap<Value, Tensor>());

private:
  FailureOr<SmallVector<Tensor>> runOp(Operation &op, ArrayRef<Tensor> operands);
  FailureOr<SmallVector<Tensor>> runDecomposition(Operation &op, ArrayRef<Tensor> operands);
  FailureOr<Tensor> readWeight(dl::WeightOp op);
  /// Lets `old`, and the views of it, hold what has been written to its memory: a later read of the
  /// old value gets the new one, as it would on a device.
  LogicalResult overwrite(Value old, const Tensor &written, DenseMap<Value, Tensor> &values);
  FailureOr<SmallVector<Tensor>> runStep(Operation &op, ArrayRef<Tensor> operands,
                                         const DenseMap<Value, Tensor> &values);
  FailureOr<SmallVector<Tensor>> runWhile(dl::WhileOp op, ArrayRef<Tensor> operands,
                                          const DenseMap<Value, Tensor> &values);
  /// Lets the symbols with `read` that are dims of `values` be those of `tensors`.
  LogicalResult defineSymbols(Operation *op, ValueRange values, ArrayRef<Tensor> tensors);
  LogicalResult define(Operation *op, unsigned symbol, int64_t value);

  SmallVector<int64_t> symbols;
  const InterpreterOptions &options;
};

FailureOr<Tensor> Interpreter::readWeight(dl::WeightOp op) {
  if (!options.readWeight)
    return op.emitError("weight '")
           << op.getName() << "' cannot be read: the interpreter got no weights";
  FailureOr<Tensor> tensor = options.readWeight(op);
  if (failed(tensor))
    return failure();
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<int64_t> expected = evaluateDims(type, symbols);
  if (tensor->getElementType() != type.getElementType() ||
      tensor->getDims() != ArrayRef<int64_t>(expected))
    return op.emitError("weight '")
           << op.getName() << "' is expected as " << type << ", got " << dimsText(tensor->getDims())
           << " of " << tensor->getElementType();
  return tensor;
}

FailureOr<SmallVector<Tensor>> Interpreter::runDecomposition(Operation &op,
                                                             ArrayRef<Tensor> operands) {
  // A copy of the op on arguments of a block of its own becomes the ops that define it.
  Block block;
  IRMapping mapping;
  for (Value operand : op.getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, block.addArgument(operand.getType(), op.getLoc()));
  SmallVector<Tensor> arguments(block.getNumArguments());
  for (auto [operand, tensor] : llvm::zip_equal(op.getOperands(), operands))
    arguments[cast<BlockArgument>(mapping.lookup(operand)).getArgNumber()] = tensor;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&block); // the block has no parent to tell the context
  Operation *copy = builder.clone(op, mapping);
  SmallVector<Value> results = decompose(cast<DecomposableOpInterface>(copy));
  copy->erase();
  builder.setInsertionPointToEnd(&block);
  dl::YieldOp::create(builder, op.getLoc(), results);
  return runBlock(block, arguments, /*isObserved=*/false);
}

FailureOr<SmallVector<Tensor>> Interpreter::runOp(Operation &op, ArrayRef<Tensor> operands) {
  if (auto weight = dyn_cast<dl::WeightOp>(op)) {
    FailureOr<Tensor> tensor = readWeight(weight);
    if (failed(tensor))
      return failure();
    return SmallVector<Tensor>{*tensor};
  }
  if (auto fusion = dyn_cast<dl::FusionOp>(op))
    return runBlock(fusion.getBodyBlock(), operands, /*isObserved=*/false);
  if (isa<DecomposableOpInterface>(op))
    return runDecomposition(op, operands);
  if (auto recurrent = dyn_cast<RecurrentOpInterface>(op)) {
    SmallVector<Tensor> results = runRecurrence(recurrent, operands, symbols);
    for (Tensor &result : results)
      if (options.roundResults)
        for (double &number : result.floats())
          number = roundTo(result.getElementType(), number);
    return results;
  }
  if (auto lines = dyn_cast<LineOpInterface>(op)) {
    Tensor result = runLines(lines, operands, symbols);
    if (result.isFloat() && options.roundResults)
      for (double &number : result.floats())
        number = roundTo(result.getElementType(), number);
    return SmallVector<Tensor>{result};
  }
  auto loops = dyn_cast<LoopNestOpInterface>(op);
  if (!loops)
    return op.emitError("'") << op.getName()
                             << "' cannot be interpreted: expected an op of dl, as before outline";
  Tensor result = runLoopNest(loops, operands, symbols);
  Type element = result.getElementType();
  bool isConversion = operands.size() == 1 && operands.front().getElementType() != element;
  if (result.isFloat() && (options.roundResults || isConversion))
    for (double &number : result.floats())
      number = roundTo(element, number);
  return SmallVector<Tensor>{result};
}

//===- Branches, loops and reads --------------------------------------------------------------===//

LogicalResult Interpreter::define(Operation *op, unsigned symbol, int64_t value) {
  auto module = op->getParentOfType<ModuleOp>();
  dl::SymbolAttr declared = dl::symbolsOf(module)[symbol];
  if (value < declared.getMin() || value > declared.getMax())
    return op->emitError("the model computes ")
           << declared.getName() << " = " << value << "; expected " << declared.getMin() << " to "
           << declared.getMax();
  symbols[symbol] = value;
  bindComputed(module, symbols);
  return success();
}

LogicalResult Interpreter::defineSymbols(Operation *op, ValueRange values,
                                         ArrayRef<Tensor> tensors) {
  SmallVector<dl::SymbolAttr> declared = dl::symbolsOf(op->getParentOfType<ModuleOp>());
  for (auto [value, tensor] : llvm::zip_equal(values, tensors))
    for (auto [dim, size] :
         llvm::zip_equal(dl::getDims(cast<RankedTensorType>(value.getType())), tensor.getDims()))
      if (auto symbol = dyn_cast<AffineSymbolExpr>(dim);
          symbol && declared[symbol.getPosition()].isRead() &&
          failed(define(op, symbol.getPosition(), size)))
        return failure();
  for (auto [value, tensor] : llvm::zip_equal(values, tensors)) {
    SmallVector<int64_t> expected = evaluateDims(cast<RankedTensorType>(value.getType()), symbols);
    if (ArrayRef<int64_t>(expected) != tensor.getDims())
      return op->emitError("expected a tensor of ")
             << dimsText(expected) << ", got " << dimsText(tensor.getDims());
  }
  return success();
}

FailureOr<SmallVector<Tensor>> Interpreter::runWhile(dl::WhileOp op, ArrayRef<Tensor> operands,
                                                     const DenseMap<Value, Tensor> &values) {
  std::optional<int64_t> trips;
  if (op.getTrips()) {
    trips = operands.front().ints()[0];
    operands = operands.drop_front();
  }
  bool goesOn = true;
  if (op.getCondition()) {
    goesOn = operands.front().ints()[0] != 0;
    operands = operands.drop_front();
  }
  SmallVector<Tensor> carried(operands);
  SmallVector<SmallVector<Tensor>> gathered(op.getGathered().size());
  Type i64 = IntegerType::get(op.getContext(), 64);
  for (int64_t step = 0; goesOn && step < trips.value_or(INT64_MAX); ++step) {
    SmallVector<Tensor> arguments{Tensor(i64, {})};
    arguments.front().ints()[0] = step;
    arguments.append(carried);
    if (failed(defineSymbols(op, ValueRange(op.getCarried()), carried)))
      return failure();
    auto yielded = runBlock(op.getBodyBlock(), arguments, /*isObserved=*/false, values);
    if (failed(yielded))
      return failure();
    ArrayRef<Tensor> rest = *yielded;
    if (op.getCondition()) {
      goesOn = rest.front().ints()[0] != 0;
      rest = rest.drop_front();
    }
    llvm::copy(rest.take_front(carried.size()), carried.begin());
    for (auto [list, tensor] : llvm::zip_equal(gathered, rest.drop_front(carried.size())))
      list.push_back(tensor);
  }
  for (auto [value, list] : llvm::zip_equal(op.getGathered(), gathered)) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> dims{static_cast<int64_t>(list.size())};
    llvm::append_range(dims, list.empty() ? evaluateDims(type, symbols)
                                          : SmallVector<int64_t>(list.front().getDims()));
    Tensor stack(type.getElementType(), dims);
    int64_t at = 0;
    for (const Tensor &tensor : list) {
      if (tensor.getDims() != list.front().getDims())
        return op.emitError("gathers tensors of ")
               << dimsText(list.front().getDims()) << " and " << dimsText(tensor.getDims());
      if (tensor.isFloat())
        llvm::copy(tensor.floats(), stack.floats().begin() + at);
      else
        llvm::copy(tensor.ints(), stack.ints().begin() + at);
      at += tensor.size();
    }
    carried.push_back(std::move(stack));
  }
  return carried;
}

FailureOr<SmallVector<Tensor>> Interpreter::runStep(Operation &op, ArrayRef<Tensor> operands,
                                                    const DenseMap<Value, Tensor> &values) {
  if (auto read = dyn_cast<dl::ReadOp>(op)) {
    if (failed(define(&op, read.getSymbol(), operands.front().ints()[0])))
      return failure();
    return SmallVector<Tensor>();
  }
  FailureOr<SmallVector<Tensor>> results = failure();
  if (auto branch = dyn_cast<dl::IfOp>(op)) {
    Region &taken =
        operands.front().ints()[0] != 0 ? branch.getThenBranch() : branch.getElseBranch();
    results = runBlock(taken.front(), {}, /*isObserved=*/false, values);
  } else {
    results = runWhile(cast<dl::WhileOp>(op), operands, values);
  }
  if (failed(results) || failed(defineSymbols(&op, op.getResults(), *results)))
    return failure();
  return results;
}

LogicalResult Interpreter::overwrite(Value old, const Tensor &written,
                                     DenseMap<Value, Tensor> &values) {
  if (auto held = values.find(old); held != values.end())
    held->second = written;
  for (Operation *user : old.getUsers()) {
    if (!keepsBytes(user))
      continue;
    FailureOr<SmallVector<Tensor>> view = runOp(*user, written);
    if (failed(view) || failed(overwrite(user->getResult(0), view->front(), values)))
      return failure();
  }
  return success();
}

FailureOr<SmallVector<Tensor>> Interpreter::runBlock(Block &block, ArrayRef<Tensor> arguments,
                                                     bool isObserved,
                                                     const DenseMap<Value, Tensor> &outer) {
  DenseMap<Value, Tensor> values = outer;
  // Tensors go when their last reader has run.
  DenseMap<Value, int64_t> readers;
  for (auto [argument, tensor] : llvm::zip_equal(block.getArguments(), arguments)) {
    values[argument] = tensor;
    readers[argument] = std::distance(argument.use_begin(), argument.use_end());
  }
  for (Operation &op : block) {
    SmallVector<Tensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    if (op.hasTrait<OpTrait::IsTerminator>())
      return operands;
    bool isStep = dl::isFlowStep(&op);
    FailureOr<SmallVector<Tensor>> results =
        isStep ? runStep(op, operands, values) : runOp(op, operands);
    if (failed(results))
      return failure();
    if (isObserved && options.observe)
      options.observe(&op, *results);
    if (auto fusion = dyn_cast<dl::FusionOp>(op); fusion && fusion.getInPlace())
      if (failed(overwrite(fusion.getUpdatedInput(), results->front(), values)))
        return failure();
    auto release = [&](Value operand) {
      if (auto left = readers.find(operand); left != readers.end() && --left->second == 0)
        values.erase(operand);
    };
    op.walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), release); });
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results)) {
      values[value] = tensor;
      readers[value] = std::distance(value.use_begin(), value.use_end());
    }
  }
  llvm_unreachable("a block ends in a terminator");
}

} // namespace

FailureOr<SmallVector<Tensor>> interpretBlock(Block &block, ArrayRef<Tensor> inputs,
                                              ArrayRef<int64_t> symbols,
                                              const InterpreterOptions &options) {
  // The bodies of ops build these.
  MLIRContext *context = block.getParentOp()->getContext();
  context->getOrLoadDialect<arith::ArithDialect>();
  context->getOrLoadDialect<math::MathDialect>();
  return Interpreter(symbols, options).runBlock(block, inputs, /*isObserved=*/true);
}

FailureOr<SmallVector<Tensor>> interpret(func::FuncOp function, ArrayRef<Tensor> inputs,
                                         ArrayRef<int64_t> symbols,
                                         const InterpreterOptions &options) {
  if (function.isExternal())
    return function.emitError("has no body to interpret");
  if (inputs.size() != function.getNumArguments())
    return function.emitError("expected ")
           << function.getNumArguments() << " inputs, got " << inputs.size();
  for (auto [position, input] : llvm::enumerate(inputs))
    if (failed(checkArgument(function, position, input, symbols)))
      return failure();
  auto results = interpretBlock(function.getBody().front(), inputs, symbols, options);
  return failed(results) ? results : cutResults(function, std::move(*results), symbols);
}

} // namespace dlc
