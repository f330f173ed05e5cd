//===- Grad.cpp - dlc grad: the step of a training as text --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/Grad.h"

#include "frontend/arrays/InputFiles.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/source/ImportAsText.h"
#include "tools/driver/train/TrainingStep.h"

using namespace mlir;

namespace dlc {

int gradModel(const GradOptions &options) {
  if (int code = checkTextName(options.output))
    return code;
  frontend::noteInputFile(options.input);
  if (int code = checkNew(options.output, options.force))
    return code;
  ImportedModel model;
  if (int code = importTrainedModel(options, model))
    return code;
  TrainingStep step;
  if (int code = makeTrainingStep(model, options.training, step))
    return code;
  if (Operation *op = onnx::opWithoutText(*model.module))
    return fail(kUnsupported, "the step has a " + op->getName().getStringRef().str() +
                                  ", which the language cannot write; 'dlc train' runs it");
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

} // namespace dlc
