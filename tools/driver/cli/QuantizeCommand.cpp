//===- QuantizeCommand.cpp - dlc quantize: a model with weights in few bits ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kFooter =
    R"(Writes a .dl file and a safetensors file beside it, for dlc compile. The weights of matrix products become integers and scales, named
after the weight (.codes, .scale, .zero), and so do those of convolutions with int8; the text says by plain operators what numbers they stand for. In the text blocks and
loops are those that names of nodes show, as dlc import writes it.

Schemes:
  w8       8 bits, a scale for each row; --granularity and --weight-grid choose otherwise
  w4       4 bits, a scale and a zero point for each --group neighbours of a row, or as these two choose
  int8     products and convolutions of integers of 8 bits, as dlc compile --quantize int8 makes them; needs --calib
  dynamic  matrix products of integers of 8 bits, with ranges of rows that are found when the model runs
  fp8      products and convolutions of floats of 8 bits (e4m3), as dlc compile --quantize fp8 makes them; needs --calib

Examples:
  dlc quantize model.dl --scheme w4 -o q.dl                       each weight the nearest of 16 numbers; the weights go to q.safetensors
  dlc quantize model.dl --scheme w4 --calib samples.npz -o q.dl   errors of rounding made up for on these samples (GPTQ)
  dlc quantize model.dl --scheme w4 --calib samples.npz --smooth auto -o q.dl   and channels of activations scaled first (AWQ)
  dlc quantize model.dl --scheme int8 --calib samples.npz -o q.dl
  dlc quantize model.dl --scheme int8 --activation-grid symmetric --granularity tensor --calib samples.npz -o q.dl
  dlc quantize model.dl --scheme w4 --weight-grid symmetric --group 64 -o q.dl
  dlc quantize model.onnx --scheme w8 --keep-f32 'head.*' -o q.dl
  dlc compile q.dl -o q.bin

Exit codes: 0 ok, 1 error in the model or nothing to quantize, 2 wrong call, 3 it has parts that dlc cannot import, 5 a file that cannot be read or written.)";

void dlc::addQuantizeCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<QuantizeOptions>();
  CLI::App *command =
      app.add_subcommand("quantize", "Store the weights of a model in few bits, in new files");
  command->footer(kFooter);
  command->add_option("model", options->input, "The model, a .dl or .onnx file")->required();
  command->add_option("-o,--output", options->output, "The .dl file to write")->required();
  std::vector<QuantizationScheme> schemes = choicesOf<QuantizationScheme>(kQuantizationSchemes);
  schemes.erase(schemes.begin()); // none
  addChoice(*command, "--scheme", options->scheme, schemes, "How weights are stored, see below")
      ->required();
  addQuantizationOptions(*command, *options);
  command->add_option("--calib", options->calibration.data,
                      "Data to fit the weights to: an .npz with an array by the name of each "
                      "input, one row a sample; a few hundred that are like those to come");
  command
      ->add_option("--calib-batch", options->calibration.batch,
                   "Samples of --calib that are run at once, at most")
      ->check(checkPositive, "POSITIVE")
      ->capture_default_str();
  command
      ->add_option("--keep-f32", options->keepF32,
                   "Layers whose weights stay as they are: a glob over paths of layers, names of "
                   "ONNX nodes and names of ops; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--model", options->model, "Which model of the file, where it has several");
  command->add_option("--report", options->report, "A .json file for the table");
  command->add_flag("--force", options->force,
                    "Replace the .dl file and its weights where they exist already");
  command->add_flag("-q,--quiet", options->quiet, "Print no table");
  addOnnxOptions(*command, options->constInputs, options->states);
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.quantize(*options); };
  });
}
