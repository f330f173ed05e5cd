//===- CheckCommand.cpp - dlc check: all errors of a model --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kExamples =
    R"(Prints all errors and warnings: syntax, shapes, unused names and weights.

Examples:
  dlc check model.dl
  dlc check model.dl --weights trained.safetensors
  dlc check model.dl --no-weights            there are no weights yet
  dlc check model.onnx                       what dlc cannot import, too
  dlc check model.dl --shapes x:1x3x224x224  errors for these shapes only
  dlc check model.dl --json                  for CI: file, line, column, message
  dlc check - < model.dl

Exit codes: 0 no errors (there may be warnings), 1 errors, 2 usage,
3 an ONNX model that dlc cannot import, 5 a file that cannot be read.)";

static constexpr const char *kFiles = "Input and output";

void dlc::addCheckCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App *command =
      app.add_subcommand("check", "Show all errors and warnings of a model, without compiling it");
  setExamples(*command, kExamples);
  command->add_option("model", options->input, ".dl or .onnx; '-' reads a .dl text from stdin")
      ->required();
  auto *weights = setHelp(
      command
          ->add_option("--weights", options->weights, "Weights to use instead of the model's own")
          ->allow_extra_args(false),
      kFiles, "FILE", R"(A safetensors or npz file; a later file takes precedence.)");
  setHelp(command->add_flag("--no-weights", options->withoutWeights, "Do not open the weights"),
          kFiles, "")
      ->excludes(weights);
  addOnnxOptions(*command, options->constInputs, options->states);
  addShapeOptions(*command, options->shapes);
  setHelp(
      command->add_option("--model", options->model, "Which model of the file, if it has several"),
      kFiles, "NAME");
  setHelp(command->add_flag("--json", options->json, "Print JSON"), kFiles, "");
  setHelp(command->add_flag("-q,--quiet", options->quiet, "Print findings without a summary"),
          kFiles, "");
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.check(*options); };
  });
}
