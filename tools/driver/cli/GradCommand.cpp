//===- GradCommand.cpp - dlc grad: the step of a training as text -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kExamples =
    R"(Writes a model whose run is one step of training: forward, backward and the
update of the weights. The weights and what the optimizer keeps are its states;
its inputs are a batch and its outputs the loss and the metrics. It compiles and
runs like any model.

Examples:
  dlc grad mnist.dl --loss 'cross_entropy(logits, labels)' \
      --optimizer 'Adam(lr=1e-3)' -o step.dl
  dlc grad vgg16.dl --loss 'cross_entropy(logits, labels)' --train 'head.*' \
      --weights vgg16.safetensors -o step.dl
  dlc compile step.dl -o step.bin

Exit codes: 0 ok, 1 error in the model, 2 usage, 3 it has parts that dlc cannot
import or differentiate, 5 a file that cannot be read or written.)";

static constexpr const char *kFiles = "Input and output", *kTraining = "Training";

void dlc::addTrainedModel(CLI::App &command, TrainedModel &model) {
  command.add_option("model", model.input, ".dl or .onnx")->required();
  setHelp(command.add_option("--weights", model.weights, "Files of the first weights")
              ->allow_extra_args(false),
          kFiles, "FILE", R"(Default: those that the model names or holds.)");
  setHelp(command.add_option("--model", model.model, "Which model of the file, if it has several"),
          kFiles, "NAME");
  addShapeOptions(command, model.shapes);
  TrainingOptions &options = model.training;
  const char *group = kTraining;
  setHelp(command.add_option("--loss", options.loss, "What becomes small")->required(), group,
          "CALL", R"(A call of the language over outputs and inputs of the model:
'cross_entropy(logits, labels)'. A name that the model does not have is a
target, an input of the step. 'dlc list "*loss*"' shows the functions.)");
  setHelp(command.add_option("--metric", options.metrics, "What is shown besides the loss")
              ->allow_extra_args(false),
          group, "CALL", R"('accuracy(logits, labels)'; several times for several.)");
  setHelp(command.add_option("--target", options.targets, "The type of a target")
              ->allow_extra_args(false),
          group, "TYPE", R"('labels: i64[N]'. Default: of losses of classes i64 without the dim of
classes, else the type of the loss's first tensor.)");
  setHelp(command.add_option("--optimizer", options.optimizer, "How weights are updated"), group,
          "CALL", R"(PyTorch's name and arguments: SGD, Adam, AdamW, RMSprop, Adagrad, Adadelta or
Lion, such as 'SGD(lr=0.1, momentum=0.9)'. Default: SGD. The arguments are
expressions over 'step', which counts from 1: 'SGD(lr=0.1 *
cosine_decay(step, 5000))'.)");
  setHelp(command.add_option("--clip-norm", options.clipNorm, "The largest norm of the gradients")
              ->check(CLI::PositiveNumber),
          group, "NUMBER", R"(Of all weights together; larger ones are scaled down to it.)");
  setHelp(command.add_option("--clip-value", options.clipValue, "The largest number of a gradient")
              ->check(CLI::PositiveNumber),
          group, "NUMBER", R"(Others become it, with their sign.)");
  setHelp(
      command.add_flag("--scale-loss", options.scalesLoss, "Scale the loss, for gradients in f16"),
      group, "",
      R"(As torch.amp.GradScaler does: by 2^16 at first. A step whose gradients
overflow changes nothing and halves the scale.)");
  setHelp(command.add_flag("--from-scratch", model.fromScratch, "Draw the first weights"), group,
          "", R"(No file of weights is read. A .dl model that names none needs no such flag.)");
  setHelp(command.add_option("--train", options.trained, "Which weights are trained")
              ->allow_extra_args(false),
          group, "GLOB",
          R"(A glob over names of weights, 'head.*'. Default: all in f32. Others stay as
they are, and so do the norms beside them.)");
  setHelp(addChoice(command, "--norms", options.norms,
                    choicesOf<NormStatistics>(kNormStatisticsNames),
                    "Statistics of batch norms that are trained [batch]"),
          group, "batch|stored",
          R"(batch: those of the batch, of which an average is kept. stored: those of the
model, which stay as they are.)");
}

void dlc::addGradCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<GradOptions>();
  CLI::App *command = app.add_subcommand("grad", "Write the step of a training as a model");
  setExamples(*command, kExamples);
  setHelp(command->add_option("-o,--output", options->output, "The file to write")->required(),
          kFiles, "FILE",
          R"(.dl: text; weights that are not trained go to a safetensors file next to
it. .mlir: IR, for any step; 'dlc compile --compile-from=import' reads it.)");
  setHelp(command->add_option("--first-states", options->firstStates,
                              "Write what the states begin with"),
          kFiles, "FILE",
          R"(A .safetensors file of weights by name; all other states begin with zeros.)");
  setHelp(command->add_flag("--force", options->force, "Replace files that exist"), kFiles, "");
  addTrainedModel(*command, *options);
  setHelp(addChoice(*command, "--part", options->part, choicesOf<StepPart>(kStepPartNames),
                    "What is written [step]"),
          kTraining, "PART", R"(step        forward, backward and update; the weights are states
gradients   the loss, the metrics and the gradients; the weights are inputs
update      new weights of gradients and weights; moments are states
evaluation  the loss and metrics of inference; the weights that --train
            chooses, and the statistics of norms, are states)");
  setHelp(command->add_option("--seed", options->seed, "Of weights that are drawn [0]"), kTraining,
          "N", "");
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.grad(*options); };
  });
}
