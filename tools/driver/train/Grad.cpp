//===- Grad.cpp - dlc grad: the step of a training as a model -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/Grad.h"

#include "frontend/arrays/InputFiles.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/source/ImportAsText.h"
#include "tools/driver/train/Checkpoint.h"
#include "tools/driver/train/step/TrainingStep.h"

using namespace mlir;

namespace dlc {

/// Writes the module as text of the language, and the weights that it keeps beside it.
static int writeText(ImportedModel &model, const GradOptions &options) {
  if (Operation *op = onnx::opWithoutText(*model.module))
    return fail(kUnsupported, "the step has a " + op->getName().getStringRef().str() +
                                  ", which the language cannot write; 'dlc train' runs it, and "
                                  "-o FILE.mlir writes it");
  const std::string weightsPath = weightsBeside(options.output);
  ImportedText text;
  if (int code = textOf(model, options.output, weightsPath, text))
    return code;
  std::vector<NewFile> files;
  if (!text.weights.empty())
    files.push_back({weightsPath, text.weightsFile});
  files.push_back({options.output, text.text});
  return writeNewFiles(files, options.force);
}

static int makePart(const GradOptions &options, ImportedModel &model, TrainingStep &step) {
  bool isHalf = options.part == StepPart::gradients || options.part == StepPart::update;
  if (isHalf && options.training.scalesLoss)
    return fail(kUsage, "--scale-loss needs a whole step; expected none with --part " +
                            std::string(nameOf(options.part)));
  switch (options.part) {
  case StepPart::step:
    return makeTrainingStep(model, options.training, step);
  case StepPart::gradients:
    return makeGradients(model, options.training, step);
  case StepPart::update:
    return makeUpdate(model, options.training, step);
  case StepPart::evaluation:
    return makeEvaluation(model, options.training, step);
  }
  llvm_unreachable("a part");
}

int gradModel(const GradOptions &options) {
  bool isIr = StringRef(options.output).ends_with(".mlir");
  if (int code = isIr ? static_cast<int>(kOk) : checkTextName(options.output))
    return code;
  frontend::noteInputFile(options.input);
  for (const std::string *path : {&options.output, &options.firstStates})
    if (int code = path->empty() ? static_cast<int>(kOk) : checkNew(*path, options.force))
      return code;
  ImportedModel model;
  if (int code = importTrainedModel(options, model))
    return code;
  TrainingStep step;
  if (int code = makePart(options, model, step))
    return code;
  if (!options.firstStates.empty())
    if (int code = writeFirstWeights(options.firstStates, step.weights,
                                     static_cast<uint64_t>(options.seed)))
      return code;
  if (!isIr)
    return writeText(model, options);
  std::string ir = irOf(*model.module);
  return writeNewFiles({{options.output, ir}}, options.force);
}

} // namespace dlc
