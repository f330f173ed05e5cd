//===- TuneCommand.cpp - dlc tune: the fastest plans, measured ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kFooter =
    R"(dlc chooses how each kernel runs by estimates. This command times, on this machine, the plans with the smallest estimates beside the
chosen one, in turn, and writes a file with those that are faster. 'dlc compile --plans' reads it: the same model, options and file give
the same bytes on every machine. A plan is known by what its kernel computes, not by its name: a model that changes in one layer keeps
the plans of the others. Give the options of 'dlc compile' here, too: they decide which kernels there are.

Examples:
  dlc tune model.dl --target cpu -o model.plans
  dlc compile model.dl --target cpu --plans model.plans -o model.bin
  dlc tune model.dl --target cpu --threads 4 --duration 3 -o model.plans      with more threads and runs
  dlc tune model.onnx --target sm_90a --precision f16 --shapes x:8x3x224x224 -o h100.plans
  dlc tune model.dl --target cuda --device cuda:1 --candidates 6 -o model.plans)";

/// Returns an error message if `name` is not a target to tune for, and an empty string if it is.
static std::string checkTarget(const std::string &name) {
  return name == "cpu" || name == "cuda" || name.starts_with("sm_")
             ? std::string()
             : "'" + name +
                   "' is no target; expected cpu, cuda or a GPU architecture such as sm_90a";
}

void dlc::addTuneCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<TuneOptions>();
  options->targets = {"cpu"};
  CLI::App *command = app.add_subcommand(
      "tune", "Measure which plan of each kernel is the fastest on this machine");
  command->footer(kFooter);
  command->add_option("model", options->input, "The model: .dl or .onnx")->required();
  command->add_option("-o,--output", options->output, "File of plans to write")->required();
  command
      ->add_option("--target", options->targets.front(),
                   "What the kernels are for: cpu, cuda, or one GPU architecture such as sm_90a")
      ->check(checkTarget)
      ->capture_default_str();
  addProgramOptions(*command, *options);
  command
      ->add_option("--candidates", options->candidates,
                   "Plans of a kernel that are tried beside its own, at most")
      ->check(checkRange(1, 16))
      ->capture_default_str();
  command
      ->add_option("--duration", options->seconds,
                   "Seconds that the model runs in each round, at least")
      ->check(checkNotNegative, "NONNEGATIVE")
      ->capture_default_str();
  command->add_option("--input", options->inputs, "As for 'dlc run'; default: random")
      ->allow_extra_args(false);
  options->device.declare(*command);
  command->add_flag("-q,--quiet", options->quiet, "Print no table");
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.tune(*options); };
  });
}
