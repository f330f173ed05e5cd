//===- TrainingStep.cpp - A model becomes one step of its training ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/TrainingStep.h"

#include "frontend/Spelling.h"
#include "frontend/dl/library/Library.h"
#include "ir/dl/gradient/Differentiate.h"
#include "passes/precision/LayerPatterns.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/train/Loss.h"
#include "tools/driver/train/Optimizer.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {

using frontend::quote;

namespace {
class StepBuilder {
public:
  StepBuilder(ImportedModel &model, const TrainingOptions &options, TrainingStep &step)
      : model(model), options(options), step(step),
        function(*model.module->getOps<func::FuncOp>().begin()),
        end(function.front().getTerminator()) {}
  int build();
  int buildEvaluation();

private:
  void shareWeights();
  int chooseWeights();
  bool isTrained(Value weight) const { return llvm::is_contained(trained, weight); }
  void useBatchStatistics();
  int dropElements();
  int addLoss();
  int differentiate();
  void useStates(ArrayRef<Value> states, ArrayRef<std::string> names);
  void addClipping(Snippet &snippet) const;
  int addUpdate();
  int finish();
  int eraseUnused();
  int dropSymbolsOfData();
  void noteFirst(dl::WeightOp weight);
  /// A state of the step.
  Value addState(StringRef name, Type type);
  void setNext(Value state, Value next) { nexts.push_back({state, next}); }

  ImportedModel &model;
  const TrainingOptions &options;
  TrainingStep &step;
  func::FuncOp function;
  Operation *end;
  SmallVector<Value> trained;   // dl.weight ops
  SmallVector<Value> gradients; // of them
  SmallVector<Value> outputs;   // the loss, then the metrics
  SmallVector<std::string> outputNames;
  SmallVector<std::pair<Value, Value>> nexts; // states with their next values
  bool canRead = true;                        // the bytes of all stored weights
};
} // namespace

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

int StepBuilder::chooseWeights() {
  auto patterns = LayerPatterns::create(options.trained);
  if (!patterns)
    return fail(kUsage, "--train " + llvm::toString(patterns.takeError()));
  SmallVector<std::string> names;
  SmallVector<dl::WeightOp> weights;
  for (auto weight : function.getOps<dl::WeightOp>())
    if (weight.getType().getElementType().isF32() && !isStatistic(weight))
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
static dl::Term sizeOf(dl::Builder &b, const dl::Dims &dims) {
  AffineExpr count = dl::normalize(dl::product(dims, b.getContext()));
  return {b.make<dl::ScalarTensorOp>(dl::dimsMap({count}, b.getContext()),
                                     TypeAttr::get(b.getF32Type())),
          b};
}

/// Norms whose weights are trained take the mean and variance of the batch, and keep a moving
/// average of these, as torch.nn.BatchNorm2d does with momentum 0.1.
void StepBuilder::useBatchStatistics() {
  constexpr double kMomentum = 0.1;
  for (auto norm : llvm::make_early_inc_range(function.getOps<dl::BatchNormOp>())) {
    auto isWeight = [](Value value) { return value.getDefiningOp<dl::WeightOp>() != nullptr; };
    bool isOwn = isWeight(norm.getRunningMean()) && isWeight(norm.getRunningVar());
    bool learns = norm.getAffine().empty() ||
                  llvm::any_of(norm.getAffine(), [&](Value weight) { return isTrained(weight); });
    if (!isOwn || !learns)
      continue;
    dl::Builder b(norm);
    dl::Term x(norm.getX(), b);
    SmallVector<int64_t> axes;
    dl::Dims over;
    for (auto [axis, size] : llvm::enumerate(x.dims()))
      if (axis != 1) {
        axes.push_back(static_cast<int64_t>(axis));
        over.push_back(size);
      }
    dl::Term mean = x.make<dl::MeanOp>(ArrayRef<int64_t>(axes), false, TypeAttr());
    dl::Term variance = x.make<dl::VarOp>(ArrayRef<int64_t>(axes), false, IntegerAttr(), false);
    auto average = [&](unsigned operand, const dl::Term &now, const dl::Term &kept) {
      auto weight = norm->getOperand(operand).getDefiningOp<dl::WeightOp>();
      noteFirst(weight);
      dl::Term held(addState(weight.getName(), weight.getType()), b);
      setNext(held.value(), (held + (kept - held) * kMomentum).value());
      norm->setOperand(operand, now.value());
    };
    average(1, mean, mean);
    // The variance that is kept is that of the distribution, and not that of the batch.
    dl::Term count = sizeOf(b, over);
    average(2, variance, variance * count / where(count <= 1.0, 1.0, count - 1.0));
  }
}

/// Makes each dropout draw from the state `generator`.
int StepBuilder::dropElements() {
  Value generator;
  for (auto drop : llvm::make_early_inc_range(function.getOps<dl::DropoutOp>())) {
    Snippet snippet(model, "dropout");
    std::string type = dl::text(drop.getX());
    snippet.inputs.push_back({"x", type});
    snippet.outputs.push_back({"y", type});
    snippet.statements.push_back(
        "y = dropout(x, p=" + std::to_string(drop.getP().convertToDouble()) + ", training=true)");
    if (int code = snippet.import())
      return code;
    if (!generator) {
      generator = addState(frontend::kGenerator, snippet.types().back());
      nexts.push_back({generator, generator});
    }
    OpBuilder builder(drop);
    Value held = llvm::find_if(nexts, [&](auto &next) { return next.first == generator; })->second;
    SmallVector<Value> made = snippet.build(builder, {drop.getX(), held});
    llvm::find_if(nexts, [&](auto &next) { return next.first == generator; })->second = made[1];
    drop.replaceAllUsesWith(made[0]);
    drop.erase();
  }
  return kOk;
}

int StepBuilder::addLoss() {
  Snippet snippet(model, "--loss");
  LossInputs used;
  if (int code = makeLoss(options, function, snippet, used))
    return code;
  if (int code = snippet.import())
    return code;
  // Targets stand behind the inputs of the model.
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

int StepBuilder::differentiate() {
  llvm::DenseSet<Value> held(llvm::from_range, trained);
  SmallVector<Operation *> ops = dl::opsBetween(held, {outputs.front()});
  dl::Builder builder(end);
  dl::GradientChoices choices;
  choices.keepsGates = !options.onGpu;
  if (auto unknown = dl::differentiate(
          builder, ops, outputs.front(), trained, gradients, [] { return true; }, choices)) {
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

/// Lines that clip the gradients g0, g1, ... as torch.nn.utils.clip_grad_value_ and then
/// clip_grad_norm_ do.
void StepBuilder::addClipping(Snippet &snippet) const {
  std::string squares;
  for (size_t i = 0; i < gradients.size(); ++i) {
    std::string grad = "g" + std::to_string(i);
    if (auto most = options.clipValue)
      snippet.statements.push_back(llvm::formatv("{0} = clamp({0}, -{1}, {1})", grad, *most));
    squares += (i ? " + sum(" : "sum(") + grad + " * " + grad + ")";
  }
  if (auto most = options.clipNorm) {
    snippet.statements.push_back(
        llvm::formatv("scale = minimum({0} / (sqrt({1}) + 1e-6), 1.0)", *most, squares));
    for (size_t i = 0; i < gradients.size(); ++i)
      snippet.statements.push_back(llvm::formatv("g{0} = g{0} * scale", i));
  }
}

int StepBuilder::addUpdate() {
  Optimizer optimizer;
  if (int code = optimizer.parse(options.optimizer))
    return code;
  Snippet snippet(model, "--optimizer");
  snippet.outputs.push_back({"done", "f32[]"});
  snippet.statements.push_back("done = full([], 0.0)");
  SmallVector<std::string> names; // of the states
  if (optimizer.countsSteps()) {
    snippet.states.push_back({"step", "i64[]"});
    snippet.statements.push_back("step = step + 1");
    names.push_back("optimizer.step");
  }
  addClipping(snippet);
  for (auto [index, weight] : llvm::enumerate(trained)) {
    std::string number = std::to_string(index), param = "p" + number, grad = "g" + number;
    std::string type = dl::text(weight);
    std::string name = weight.getDefiningOp<dl::WeightOp>().getName().str();
    snippet.inputs.push_back({grad, type});
    snippet.states.push_back({param, type});
    names.push_back(name);
    std::string results = param;
    std::vector<std::string> held;
    for (StringRef state : optimizer.statesOfWeight()) {
      held.push_back("s" + number + "_" + std::to_string(held.size()));
      snippet.states.push_back({held.back(), type});
      names.push_back(name + "." + state.str());
      results += ", " + held.back();
    }
    snippet.statements.push_back(results + " = " + optimizer.call(param, grad, held));
  }
  if (int code = snippet.import())
    return code;
  SmallVector<Value> held;
  for (auto [name, type] : llvm::zip_equal(names, snippet.types().drop_front(trained.size())))
    held.push_back(addState(name, type));
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

int StepBuilder::build() {
  shareWeights();
  if (int code = chooseWeights())
    return code;
  if (int code = addLoss())
    return code;
  useBatchStatistics();
  if (int code = dropElements())
    return code;
  if (int code = differentiate())
    return code;
  if (int code = addUpdate())
    return code;
  if (!canRead)
    return kModelError; // reported
  return finish();
}

int StepBuilder::buildEvaluation() {
  shareWeights();
  if (int code = addLoss())
    return code;
  for (const FirstWeight &first : step.weights)
    for (auto weight : function.getOps<dl::WeightOp>())
      if (weight.getName() == first.name) {
        Value state = addState(first.name, weight.getType());
        weight.replaceAllUsesWith(state);
        setNext(state, state);
      }
  return finish();
}

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

int importTrainedModel(const TrainedModel &trained, ImportedModel &model) {
  ImportRequest request{trained.input, trained.weights, trained.fromScratch, false, trained.model};
  request.shapes = trained.shapes;
  request.mayLackWeights = true;
  return importModel(request, model);
}

int makeTrainingStep(ImportedModel &model, const TrainingOptions &options, TrainingStep &step) {
  return StepBuilder(model, options, step).build();
}

int makeEvaluation(ImportedModel &model, const TrainingOptions &options, const TrainingStep &step) {
  TrainingStep same = step;
  return StepBuilder(model, options, same).buildEvaluation();
}

} // namespace dlc
