//===- ImportCommand.cpp - dlc import: foreign models as text -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kFooter =
    R"(The text has layers, and blocks and loops where modules repeat. Its weights lie in a safetensors file under the names that the model
gives them. Files that exist are left as they are, unless --force says that they may be replaced.

Examples:
  dlc import model.onnx -o model.dl                                 the weights go to model.safetensors
  dlc import model.onnx -o model.dl --weights trained.safetensors
  dlc import model.onnx -o model.dl --min-shapes ids:1x4            no fewer: other dims keep their ranges
  dlc compile model.onnx -o model.bin                               needs no text in between

Exit codes: 0 ok, 1 error in the model, 2 wrong call, 3 it has parts that dlc cannot import, 5 a file that cannot be read or written.)";

void dlc::addImportCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<ImportAsTextOptions>();
  CLI::App *command =
      app.add_subcommand("import", "Turn an ONNX model into a .dl text and safetensors");
  command->footer(kFooter);
  command
      ->add_option("model", options->input, "The model, an .onnx file, or a .dl text to write anew")
      ->required();
  command->add_option("-o,--output", options->output, "The .dl file to write")->required();
  command->add_option(
      "--weights", options->weights,
      "The safetensors file to write, beside the .dl file (default: named after it)");
  command->add_flag("--force", options->force,
                    "Replace the .dl file and its weights where they exist already");
  addOnnxOptions(*command, options->constInputs, options->states);
  addShapeOptions(*command, options->shapes);
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.importAsText(*options); };
  });
}
