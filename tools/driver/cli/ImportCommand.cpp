//===- ImportCommand.cpp - dlc import: foreign models as text -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kExamples =
    R"(Writes layers, with blocks and loops where modules repeat. The weights go to a
safetensors file, under the model's own names. 'dlc compile' also takes ONNX
models directly.

Examples:
  dlc import model.onnx -o model.dl          the weights go to model.safetensors
  dlc import model.onnx -o model.dl --weights trained.safetensors
  dlc import model.onnx -o model.dl --min-shapes ids:1x4

Exit codes: 0 ok, 1 error in the model, 2 usage, 3 it has parts that dlc cannot
import, 5 a file that cannot be read or written.)";

static constexpr const char *kFiles = "Input and output";

void dlc::addImportCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<ImportAsTextOptions>();
  CLI::App *command =
      app.add_subcommand("import", "Turn an ONNX model into a .dl text and safetensors");
  setExamples(*command, kExamples);
  command->add_option("model", options->input, ".onnx, or a .dl text to write anew")->required();
  setHelp(command->add_option("-o,--output", options->output, "The .dl file to write")->required(),
          kFiles, "FILE", R"(The weights go to a safetensors file next to it.)");
  setHelp(command->add_option("--weights", options->weights, "The safetensors file to write"),
          kFiles, "FILE", R"(Default: the name of the .dl file, with .safetensors.)");
  setHelp(command->add_flag("--force", options->force, "Replace files that exist"), kFiles, "");
  addOnnxOptions(*command, options->constInputs, options->states);
  addShapeOptions(*command, options->shapes);
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.importAsText(*options); };
  });
}
