//===- TrainCommand.cpp - dlc train: weights from data ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kExamples =
    R"(Trains the weights of a model: those of its file or, with --from-scratch or
where it names none, new ones drawn from --seed as PyTorch's layers draw them.
After each epoch the weights are written under their names: PyTorch and 'dlc
compile --weights' read them. Ctrl-C saves what has been learnt.

Examples:
  dlc train mnist.dl --data train.npz --validate test.npz \
      --loss 'cross_entropy(logits, labels)' --optimizer 'Adam(lr=1e-3)' \
      --metric 'accuracy(logits, labels)' --epochs 5 -o mnist.safetensors
  dlc train vgg16.dl --weights vgg16.safetensors --train 'head.*' \
      --data images.npz --loss 'cross_entropy(y, t)' -o head.safetensors
  dlc compile mnist.dl --weights mnist.safetensors -o mnist.bin

Exit codes: 0 ok, 1 error in the model or a loss that is NaN, 2 usage, 3 it has
parts that dlc cannot import or differentiate, 5 the device, or a file that
cannot be read or written, 6 a damaged file.)";

static constexpr const char *kFiles = "Input and output";

void dlc::addTrainCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App *command = app.add_subcommand("train", "Train the weights of a model");
  setExamples(*command, kExamples);
  setHelp(command->add_option("-o,--output", options->output, "The .safetensors file to write")
              ->required(),
          kFiles, "FILE", "");
  setHelp(command->add_option("--data", options->data, "The samples")
              ->required()
              ->allow_extra_args(false),
          kFiles, "FILE",
          R"(An .npz of arrays by the names of the inputs and targets, one row a sample;
or INPUT=FILE for each, an .npy or a file of MNIST's format.)");
  setHelp(command->add_option("--validate", options->validation, "Samples that are not learnt")
              ->allow_extra_args(false),
          kFiles, "FILE", R"(As --data. Their loss and metrics are shown after each epoch.)");
  setHelp(command->add_option("--checkpoint", options->checkpoint, "All that --resume needs"),
          kFiles, "FILE",
          R"(Weights, moments and random numbers, written after each epoch and
on Ctrl-C.)");
  setHelp(command->add_option("--resume", options->resume, "A checkpoint to go on from"), kFiles,
          "FILE", R"(The rest of the run gives the bits of one that was not interrupted.)");
  setHelp(command->add_option("--log", options->log, "A line of JSON for each epoch"), kFiles,
          "FILE", "");
  setHelp(command->add_flag("--force", options->force, "Replace files that exist"), kFiles, "");
  setHelp(command->add_flag("-q,--quiet", options->quiet, "Print nothing"), kFiles, "");
  addTrainedModel(*command, *options);
  const char *group = "Training";
  setHelp(command->add_option("--epochs", options->epochs, "How often each sample is seen [1]")
              ->check(checkRange(1, 1 << 20)),
          group, "N", "");
  setHelp(command->add_option("--batch", options->batch, "Samples in a step")
              ->check(checkRange(1, 1 << 20)),
          group, "N",
          R"(Default: 64, or as many as there are and the model takes. The last
step of an epoch has the rest.)");
  setHelp(command->add_option("--seed", options->seed, "Of weights, order and dropout [0]"), group,
          "N", R"(The same seed gives the same bits on one machine.)");
  setHelp(command->add_flag("--no-shuffle", options->inOrder, "Samples in the order of the file"),
          group, "");
  setHelp(addChoice(*command, "--precision", options->precision,
                    std::vector{Precision::f32, Precision::f16, Precision::bf16},
                    "f32, f16, bf16 [f32]"),
          group, "TYPE",
          R"(The type of values between layers. Weights, and what the optimizer keeps,
stay in f32. f16 scales the loss.)");
  options->device.declare(*command);
  command->callback([&action, options, &compiler] {
    options->training.scalesLoss |= options->precision == Precision::f16;
    action = [options, &compiler] { return compiler.train(*options); };
  });
}
