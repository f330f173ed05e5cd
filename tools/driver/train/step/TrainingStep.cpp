//===- TrainingStep.cpp - A model becomes one step of its training ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/step/TrainingStep.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/train/step/StepBuilder.h"
#include "tools/driver/train/step/Update.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {

int StepBuilder::addGradients() {
  shareWeights();
  if (int code = chooseWeights(/*withStatistics=*/false))
    return code;
  if (int code = addLoss())
    return code;
  if (int code = useBatchStatistics())
    return code;
  if (int code = dropElements())
    return code;
  return differentiate();
}

int StepBuilder::build() {
  if (int code = addGradients())
    return code;
  if (int code = addUpdate())
    return code;
  if (!canRead)
    return kModelError; // reported
  return finish();
}

void StepBuilder::takeWeights() {
  Builder builder(function.getContext());
  unsigned place = 0;
  while (place < function.getNumArguments() && !function.getArgAttr(place, "dl.state"))
    ++place;
  for (Value weight : trained) {
    noteFirst(weight.getDefiningOp<dl::WeightOp>());
    auto name = builder.getNamedAttr("dl.name", builder.getStringAttr(step.weights.back().name));
    (void)function.insertArgument(place, weight.getType(), builder.getDictionaryAttr(name),
                                  function.getLoc());
    Value input = function.getArgument(place++);
    weight.replaceAllUsesWith(input);
    std::replace(gradients.begin(), gradients.end(), weight, input);
  }
}

int StepBuilder::buildGradients() {
  if (int code = addGradients())
    return code;
  for (auto [weight, gradient] : llvm::zip_equal(trained, gradients))
    outputNames.push_back(weight.getDefiningOp<dl::WeightOp>().getName().str() + ".grad");
  takeWeights();
  if (!canRead)
    return kModelError; // reported
  outputs.append(gradients);
  return finish();
}

int StepBuilder::buildUpdate() {
  if (int code = addGradients())
    return code;
  Snippet snippet(model, "--optimizer");
  SmallVector<std::string> names;
  if (int code = makeUpdate(options, trained, snippet, names, /*givesWeights=*/true))
    return code;
  if (int code = snippet.import())
    return code;
  SmallVector<std::string> arguments, results;
  for (StringRef suffix : {".grad", ""})
    for (Value weight : trained)
      arguments.push_back((weight.getDefiningOp<dl::WeightOp>().getName() + suffix).str());
  arguments.append(names);
  for (Value weight : trained) {
    noteFirst(weight.getDefiningOp<dl::WeightOp>());
    results.push_back(step.weights.back().name + ".next");
  }
  results.append(names);
  OwningOpRef<ModuleOp> update = snippet.take();
  func::FuncOp whole = *update->getOps<func::FuncOp>().begin();
  for (auto [index, name] : llvm::enumerate(arguments))
    whole.setArgAttr(index, "dl.name", StringAttr::get(whole.getContext(), name));
  for (auto [index, name] : llvm::enumerate(results))
    whole.setResultAttr(index, "dl.name", StringAttr::get(whole.getContext(), name));
  model.module = std::move(update);
  return canRead ? kOk : kModelError;
}

int StepBuilder::buildEvaluation() {
  shareWeights();
  if (step.weights.empty()) {
    if (int code = chooseWeights(/*withStatistics=*/true))
      return code;
    for (Value weight : trained)
      noteFirst(weight.getDefiningOp<dl::WeightOp>());
    if (!canRead)
      return kModelError; // reported
  }
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

std::string irOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().enableDebugInfo(true));
  return text + "\n";
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

int makeGradients(ImportedModel &model, const TrainingOptions &options, TrainingStep &step) {
  return StepBuilder(model, options, step).buildGradients();
}

int makeUpdate(ImportedModel &model, const TrainingOptions &options, TrainingStep &step) {
  return StepBuilder(model, options, step).buildUpdate();
}

int makeEvaluation(ImportedModel &model, const TrainingOptions &options, TrainingStep &step) {
  return StepBuilder(model, options, step).buildEvaluation();
}

} // namespace dlc
