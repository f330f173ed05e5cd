//===- BisectCommand.cpp - dlc bisect: which layers need f32 ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/measure/ErrorMetric.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kFooter =
    R"(The model runs on the CPU, on the data, in f32 and with layers in 16 bits; nothing is written. First the passes that run in f32 are
held to the bound: where one of them moves the outputs out of it, bisect names the pass. Then a table says what each layer costs alone,
and the fewest layers with which the bound holds are printed as options for dlc compile. Where each layer goes into several ops, they
go by one name. In the table a layer that reads or gives numbers beyond 65504 overflows f16.

Examples:
  dlc bisect model.dl --calib samples.npz --max-error 1e-3
  dlc bisect model.onnx --calib samples.npz --max-error 0.01 --error-metric top1 --precision bf16
  dlc bisect model.dl --calib samples.npz --max-error 1e-3 --json

Exit codes: 0 ok, 1 error in the model, 2 wrong call, 3 it has parts that dlc cannot compile, 4 a pass is out of the bound, or each layer is by itself.)";

void dlc::addBisectCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<BisectOptions>();
  CLI::App *command = app.add_subcommand(
      "bisect", "Find the layers that must stay in f32 for a model in 16 bits to hold a bound");
  command->footer(kFooter);
  command->add_option("model", options->input, "The model, a .dl or .onnx file")->required();
  command
      ->add_option("--calib", options->calibration.data,
                   "Data to run: an .npz with an array by the name of each input, one row a sample")
      ->required();
  command
      ->add_option("--max-error", options->maxError,
                   "How far each output may lie off that in f32, by --error-metric")
      ->check(checkPositive, "POSITIVE")
      ->required();
  addChoice(*command, "--error-metric", options->errorMetric,
            choicesOf<ErrorMetric>(kErrorMetricNames),
            "rel (largest difference, as a part of the largest magnitude), abs (largest "
            "difference), cosine (1 - cosine), top1 (part of the answers that differ)")
      ->default_str("rel");
  addChoice(*command, "--precision", options->precision,
            std::vector{Precision::f16, Precision::bf16}, "The type of 16 bits")
      ->default_str("f16");
  command
      ->add_option("--calib-batch", options->calibration.batch,
                   "Samples of --calib that are run at once, at most")
      ->check(checkPositive, "POSITIVE")
      ->capture_default_str();
  command
      ->add_option("--keep-f32", options->keepF32,
                   "Layers that stay in f32 in any case, as for dlc compile; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--model", options->model, "Which model of the file, where it has several");
  command
      ->add_option(
          "--weights", options->weights,
          "Safetensors or npz file, instead of the one that the model names; may be repeated")
      ->allow_extra_args(false);
  addOnnxOptions(*command, options->constInputs, options->states);
  addShapeOptions(*command, options->shapes);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.bisect(*options); };
  });
}
