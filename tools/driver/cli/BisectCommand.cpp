//===- BisectCommand.cpp - dlc bisect: which layers need f32 ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/measure/ErrorMetric.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kExamples =
    R"(Runs the model on the CPU, on data, in f32 and with layers in 16 bits. Writes no
file. First checks the passes that run in f32, and names one that exceeds the
bound. Then prints the error that each layer makes alone, and the fewest layers
that must stay in f32, as options for 'dlc compile'. A layer that reads or
computes numbers beyond 65504 is marked: it overflows f16.

Examples:
  dlc bisect model.dl --calib samples.npz --max-error 1e-3
  dlc bisect model.onnx --calib samples.npz --max-error 0.01 \
      --error-metric top1 --precision bf16
  dlc bisect model.dl --calib samples.npz --max-error 1e-3 --json

Exit codes: 0 ok, 1 error in the model, 2 usage, 3 it has parts that dlc cannot
compile, 4 a pass exceeds the bound, or every layer does so alone.)";

static constexpr const char *kFiles = "Input and output";

void dlc::addBisectCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<BisectOptions>();
  CLI::App *command =
      app.add_subcommand("bisect", "Find the layers that must stay in f32 to meet an error bound");
  setExamples(*command, kExamples);
  command->add_option("model", options->input, ".dl or .onnx")->required();

  const char *group = "Precision";
  setHelp(command
              ->add_option("--calib", options->calibration.data,
                           "Data to run: .npz, one array per input")
              ->required(),
          "Precision", "FILE", R"(Each array is named after an input and has one row per sample.)");
  setHelp(command
              ->add_option("--calib-batch", options->calibration.batch,
                           "Calibration samples per run [16]")
              ->check(checkPositive, "POSITIVE"),
          "Precision", "N");

  setHelp(command->add_option("--max-error", options->maxError, "Error bound for the outputs")
              ->check(checkPositive, "POSITIVE")
              ->required(),
          group, "X", R"(The largest error of any output, compared with the f32 model.)");
  setHelp(addChoice(*command, "--error-metric", options->errorMetric,
                    choicesOf<ErrorMetric>(kErrorMetricNames), "rel, abs, cosine, top1 [rel]"),
          group, "NAME",
          R"(What --max-error bounds.
rel     largest difference, divided by the largest magnitude of the output
abs     largest difference
cosine  1 - cosine of the angle between the two outputs
top1    share of samples whose largest element is at another place)");
  setHelp(addChoice(*command, "--precision", options->precision,
                    std::vector{Precision::f16, Precision::bf16}, "f16, bf16 [f16]"),
          group, "TYPE");
  setHelp(command->add_option("--keep-f32", options->keepF32, "Keep these layers in f32")
              ->allow_extra_args(false),
          group, "GLOB", R"(Globs as for 'dlc compile --keep-f32'.)");
  setHelp(
      command->add_option("--model", options->model, "Which model of the file, if it has several"),
      kFiles, "NAME");
  setHelp(
      command
          ->add_option("--weights", options->weights, "Weights to use instead of the model's own")
          ->allow_extra_args(false),
      kFiles, "FILE", R"(A safetensors or npz file; a later file takes precedence.)");
  addOnnxOptions(*command, options->constInputs, options->states);
  addShapeOptions(*command, options->shapes);
  setHelp(command->add_flag("--json", options->json, "Print JSON"), kFiles, "");
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.bisect(*options); };
  });
}
