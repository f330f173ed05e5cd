//===- QuantizeCommand.cpp - dlc quantize: a model with weights in few bits ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kExamples =
    R"(Writes a .dl file and a safetensors file, for 'dlc compile'. The weights of
matmuls (with int8 and fp8 also of convolutions) become integers and scales,
named after the weight: .codes, .scale, .zero. The text computes with them by
ordinary operators.

Examples:
  dlc quantize model.dl --scheme w4 -o q.dl
  dlc quantize model.dl --scheme w4 --calib samples.npz -o q.dl         GPTQ
  dlc quantize model.dl --scheme w4 --calib samples.npz --smooth auto -o q.dl
  dlc quantize model.dl --scheme int8 --calib samples.npz -o q.dl
  dlc quantize model.dl --scheme int8 --activation-grid symmetric \
      --granularity tensor --calib samples.npz -o q.dl
  dlc quantize model.dl --scheme w4 --weight-grid symmetric --group 64 -o q.dl
  dlc quantize model.onnx --scheme w8 --keep-f32 'head.*' -o q.dl
  dlc compile q.dl -o q.bin

Exit codes: 0 ok, 1 error in the model or nothing to quantize, 2 usage, 3 it has
parts that dlc cannot import, 5 a file that cannot be read or written.)";

static constexpr const char *kFiles = "Input and output";

void dlc::addQuantizeCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<QuantizeOptions>();
  CLI::App *command =
      app.add_subcommand("quantize", "Store the weights of a model in few bits, in new files");
  setExamples(*command, kExamples);
  command->add_option("model", options->input, ".dl or .onnx")->required();
  setHelp(command->add_option("-o,--output", options->output, "The .dl file to write")->required(),
          kFiles, "FILE", R"(The weights go to a safetensors file next to it.)");

  const char *group = "Quantization and sparsity";
  std::vector<QuantizationScheme> schemes = choicesOf<QuantizationScheme>(kQuantizationSchemes);
  schemes.erase(schemes.begin()); // none
  setHelp(addChoice(*command, "--scheme", options->scheme, schemes, schemesThat([](const auto &) {
            return true;
          }))->required(),
          group, "SCHEME", linesOn(kQuantizationSchemes, /*first=*/1));
  addQuantizationOptions(*command, *options);
  setHelp(command->add_option("--calib", options->calibration.data,
                              "Calibration data: .npz, one array per input"),
          "Quantization and sparsity", "FILE",
          R"(Each array is named after an input and has one row per sample. A few hundred
samples like those of real use are enough.)");
  setHelp(command
              ->add_option("--calib-batch", options->calibration.batch,
                           "Calibration samples per run [16]")
              ->check(checkPositive, "POSITIVE"),
          "Quantization and sparsity", "N");

  setHelp(command->add_option("--keep-f32", options->keepF32, "Keep these layers in f32")
              ->allow_extra_args(false),
          group, "GLOB", R"(Globs as for 'dlc compile --keep-f32'.)");
  setHelp(
      command->add_option("--model", options->model, "Which model of the file, if it has several"),
      kFiles, "NAME");
  setHelp(command->add_option("--report", options->report, "The table as JSON"), kFiles, "FILE");
  setHelp(command->add_flag("--force", options->force, "Replace files that exist"), kFiles, "");
  setHelp(command->add_flag("-q,--quiet", options->quiet, "Print no table"), kFiles, "");
  addOnnxOptions(*command, options->constInputs, options->states);
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.quantize(*options); };
  });
}
