//===- StepBuilder.cpp - From a model to its loss, gradients and update -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/step/StepBuilder.h"

#include "frontend/Spelling.h"
#include "ir/dl/gradient/Differentiate.h"
#include "passes/precision/LayerPatterns.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/train/step/Loss.h"
#include "tools/driver/train/step/Update.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {

using frontend::quote;

/// Notes how the weight begins.
void StepBuilder::noteFirst(dl::WeightOp weight) {
  step.weights.push_back(firstWeightOf(weight.getResult()));
  if (step.weights.back().kind != FirstWeight::Stored)
    return;
  auto bytes = readWeightBytes(weight);
  canRead &= succeeded(bytes);
  if (canRead)
    step.weights.back().bytes = std::move(*bytes);
}

/// Keeps one dl.weight op for each weight.
void StepBuilder::shareWeights() {
  llvm::StringMap<dl::WeightOp> first;
  for (auto op : llvm::make_early_inc_range(function.getOps<dl::WeightOp>())) {
    auto [entry, isNew] = first.try_emplace(op.getName(), op);
    if (isNew) {
      op->moveBefore(&function.front(), function.front().begin());
      continue;
    }
    op.replaceAllUsesWith(entry->second.getResult());
    op.erase();
  }
}

/// Whether the weight is a mean or variance that a norm has kept.
static bool isStatistic(dl::WeightOp weight) {
  return llvm::any_of(weight->getUses(), [](OpOperand &use) {
    return isa<dl::BatchNormOp>(use.getOwner()) &&
           (use.getOperandNumber() == 1 || use.getOperandNumber() == 2);
  });
}

/// Chooses the weights that are trained; with the means and variances that norms have kept, if

/// `withStatistics`.
int StepBuilder::chooseWeights(bool withStatistics) {
  auto patterns = LayerPatterns::create(options.trained);
  if (!patterns)
    return fail(kUsage, "--train " + llvm::toString(patterns.takeError()));
  SmallVector<std::string> names;
  SmallVector<dl::WeightOp> weights;
  for (auto weight : function.getOps<dl::WeightOp>())
    if (weight.getType().getElementType().isF32() && (withStatistics || !isStatistic(weight)))
      weights.insert(weights.begin(), weight);
  for (dl::WeightOp weight : weights) {
    names.push_back(weight.getName().str());
    if (options.trained.empty() || patterns->matches(weight.getName()))
      trained.push_back(weight.getResult());
  }
  if (names.empty())
    return fail(kUsage, "the model has no weights in f32 to train");
  for (const std::string &pattern : options.trained) {
    auto one = LayerPatterns::create({pattern});
    if (llvm::none_of(names, [&](const std::string &name) { return one->matches(name); }))
      return fail(kUsage, "--train " + quote(pattern) + " matches no weight; the model has " +
                              llvm::join(names, ", "));
  }
  return kOk;
}

/// How many elements there are, as a tensor without dims.

/// The norm takes the mean and variance of the batch, and keeps a moving average of these, as

/// torch.nn.BatchNorm2d does.

/// Norms whose weights are trained use the statistics of the batch.

/// Returns what a layer does in training if dlc cannot do it, and an empty text otherwise.

/// Makes each dropout draw from the state `generator`.
int StepBuilder::addLoss() {
  Snippet snippet(model, "--loss");
  LossInputs used;
  if (int code = makeLoss(options, function, snippet, used))
    return code;
  if (int code = snippet.import())
    return code;
  // The targets follow the inputs of the model.
  unsigned place = 0;
  while (place < function.getNumArguments() && !function.getArgAttr(place, "dl.state"))
    ++place;
  SmallVector<Value> values(used.values.begin(), used.values.end());
  OpBuilder builder(end);
  for (auto [index, target] : llvm::enumerate(used.targets)) {
    Type type = snippet.types()[used.values.size() + index];
    auto name = builder.getNamedAttr("dl.name", builder.getStringAttr(target.name));
    if (failed(function.insertArgument(place, type, builder.getDictionaryAttr(name),
                                       function.getLoc())))
      return kModelError;
    values.push_back(function.getArgument(place++));
  }
  step.classes = used.classes;
  outputs = snippet.build(builder, values);
  for (const Declared &output : snippet.outputs)
    outputNames.push_back(output.name);
  return kOk;
}

/// Returns the loss times 2^(16 + e), where e is a state of the step.
Value StepBuilder::scaled(dl::Builder &builder, Value loss) {
  exponent = addState(kScaleExponent, RankedTensorType::get({}, builder.getF32Type()));
  dl::Term power(builder.make<dl::Exp2Op>(exponent), builder);
  return (dl::Term(loss, builder) * (power * 65536.0)).value();
}

int StepBuilder::differentiate() {
  llvm::DenseSet<Value> held(llvm::from_range, trained);
  dl::Builder builder(end);
  Value loss = options.scalesLoss ? scaled(builder, outputs.front()) : outputs.front();
  SmallVector<Operation *> ops = dl::opsBetween(held, {loss});
  dl::GradientChoices choices;
  choices.keepsGates = !options.onGpu;
  if (auto unknown =
          dl::differentiate(builder, ops, loss, trained, gradients, [] { return true; }, choices)) {
    unknown->op->emitError("has no derivative that dlc knows: it is ")
        << unknown->form << unknown->advice;
    return kUnsupported;
  }
  SmallVector<Value> reached, of;
  for (auto [weight, gradient] : llvm::zip_equal(trained, gradients))
    if (gradient) {
      reached.push_back(weight);
      of.push_back(gradient);
    }
  if (reached.empty())
    return fail(kUsage, "--loss " + quote(options.loss) +
                            " depends on no weight that is trained; expected one of an output of "
                            "the model");
  trained = reached;
  gradients = of;
  return kOk;
}

Value StepBuilder::addState(StringRef name, Type type) {
  Builder builder(function.getContext());
  auto attributes =
      builder.getDictionaryAttr({builder.getNamedAttr("dl.name", builder.getStringAttr(name)),
                                 builder.getNamedAttr("dl.state", builder.getUnitAttr())});
  unsigned place = function.getNumArguments();
  (void)function.insertArgument(place, type, attributes, function.getLoc());
  return function.getArgument(place);
}

/// Replaces each trained weight by the state of its name.
void StepBuilder::useStates(ArrayRef<Value> states, ArrayRef<std::string> names) {
  for (Value weight : trained) {
    noteFirst(weight.getDefiningOp<dl::WeightOp>());
    auto *name = llvm::find(names, step.weights.back().name);
    Value state = states[name - names.begin()];
    weight.replaceAllUsesWith(state);
    std::replace(gradients.begin(), gradients.end(), weight, state);
  }
}

int StepBuilder::addUpdate() {
  Snippet snippet(model, "--optimizer");
  SmallVector<std::string> names; // of the states
  if (int code = makeUpdate(options, trained, snippet, names))
    return code;
  if (int code = snippet.import())
    return code;
  SmallVector<Value> held;
  for (auto [name, type] : llvm::zip_equal(names, snippet.types().drop_front(trained.size())))
    held.push_back(name == kScaleExponent ? exponent : addState(name, type));
  useStates(held, names);
  SmallVector<Value> values = gradients;
  values.append(held);
  OpBuilder builder(end);
  SmallVector<Value> made = snippet.build(builder, values);
  for (auto [state, value] : llvm::zip_equal(held, ArrayRef(made).drop_front()))
    setNext(state, value);
  return kOk;
}

/// The outputs become the loss and the metrics; states have their next values.
int StepBuilder::finish() {
  Builder builder(function.getContext());
  SmallVector<Value> results = outputs;
  SmallVector<DictionaryAttr> attributes;
  for (const std::string &name : outputNames)
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr("dl.name", builder.getStringAttr(name))));
  llvm::DenseMap<Value, Value> next(nexts.begin(), nexts.end());
  SmallVector<std::pair<Value, DictionaryAttr>> old; // of the model's own states, in their order
  for (auto [index, result] : llvm::enumerate(end->getOperands()))
    if (function.getResultAttr(index, "dl.state"))
      old.push_back({result, function.getResultAttrDict(index)});
  size_t own = 0;
  for (BlockArgument argument : function.getArguments()) {
    if (!function.getArgAttr(argument.getArgNumber(), "dl.state"))
      continue;
    Value value = next.lookup(argument);
    results.push_back(value ? value : old[own].first);
    attributes.push_back(value ? function.getArgAttrDict(argument.getArgNumber())
                               : old[own++].second);
  }
  end->setOperands(results);
  function.setType(FunctionType::get(function.getContext(), function.front().getArgumentTypes(),
                                     llvm::to_vector(TypeRange(ValueRange(results)))));
  function.setAllResultAttrs(attributes);
  return eraseUnused();
}

/// Adds the loss and the gradients to the model.

/// Makes each trained weight an input with its name, after the other inputs.

/// Removes the symbols that the data decide. Fails if the step needs one of them.
int StepBuilder::dropSymbolsOfData() {
  llvm::SmallBitVector ofData = symbolsOfData(*model.module);
  int first = ofData.find_first();
  if (first < 0)
    return kOk;
  bool isLeft = false;
  function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        isLeft |= llvm::any_of(dl::getDims(tensor),
                               [&](AffineExpr dim) { return dl::mentions(dim, ofData); });
  });
  auto symbols = (*model.module)->getAttrOfType<ArrayAttr>("dl.symbols");
  if (isLeft)
    return fail(kUnsupported, "--loss " + quote(options.loss) +
                                  " needs sizes that the data decide; dlc trains models whose "
                                  "sizes follow from those of their inputs");
  (*model.module)
      ->setAttr("dl.symbols",
                ArrayAttr::get(symbols.getContext(), symbols.getValue().take_front(first)));
  return kOk;
}

int StepBuilder::eraseUnused() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  if (int code = dropSymbolsOfData())
    return code;
  return failed(verify(*model.module)) ? kModelError : kOk;
}

} // namespace dlc
