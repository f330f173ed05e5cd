//===- CheckCommand.cpp - dlc check: all errors of a model --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kFooter = R"(Examples:
  dlc check model.dl                              syntax, shapes, unused names, and the weights that the model names
  dlc check model.dl --weights trained.safetensors
  dlc check model.dl --no-weights                 before there are any
  dlc check model.onnx                            what of it dlc cannot import, and all errors
  dlc check model.dl --shapes x:1x3x224x224       what holds for these shapes, if not for all
  dlc check model.dl --json                       for CI: each finding with file, line, column, message, notes
  dlc check - < model.dl                          standard input

Exit codes: 0 no errors (there may be warnings), 1 errors, 2 wrong call, 3 an ONNX model that dlc cannot import, 5 a file that cannot be read.)";

void dlc::addCheckCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App *command =
      app.add_subcommand("check", "Show all errors and warnings of a model, without compiling it");
  command->footer(kFooter);
  command
      ->add_option("model", options->input,
                   "The model, a .dl or .onnx file; '-' is a .dl text on standard input")
      ->required();
  auto *weights =
      command
          ->add_option(
              "--weights", options->weights,
              "Safetensors or npz file, instead of the one that the model names; may be repeated")
          ->allow_extra_args(false);
  command->add_flag("--no-weights", options->withoutWeights, "Do not open the weights")
      ->excludes(weights);
  addOnnxOptions(*command, options->constInputs, options->states);
  addShapeOptions(*command, options->shapes);
  command->add_option("--model", options->model, "Which model of the file, where it has several");
  command->add_flag("--json", options->json, "Print findings and summary as JSON");
  command->add_flag("-q,--quiet", options->quiet, "Print findings alone, no summary");
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.check(*options); };
  });
}
