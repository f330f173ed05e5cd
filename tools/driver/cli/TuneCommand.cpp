//===- TuneCommand.cpp - dlc tune: the fastest plans, measured ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kExamples =
    R"(dlc chooses the plan of each kernel by estimates. This command measures, on this
machine, the plans with the smallest estimates and writes the faster ones to a
file for 'dlc compile --plans'. The same model, options and file give the same
bytes on every machine. A plan is found by what its kernel computes, so a model
that changes in one layer keeps the plans of the others. Give the same options
as to 'dlc compile': they decide which kernels there are.

Examples:
  dlc tune model.dl --target cpu -o model.plans
  dlc compile model.dl --target cpu --plans model.plans -o model.bin
  dlc tune model.dl --target cpu --threads 4 --duration 3 -o model.plans
  dlc tune model.onnx --target sm_90a --precision f16 \
      --shapes x:8x3x224x224 -o h100.plans
  dlc tune model.dl --target cuda --device cuda:1 --candidates 6 -o model.plans)";

/// Returns an error message if `name` is not a target to tune for, and an empty string if it is.
static std::string checkTarget(const std::string &name) {
  return name == "cpu" || name == "cuda" || name.starts_with("sm_")
             ? std::string()
             : "'" + name +
                   "' is no target; expected cpu, cuda or a GPU architecture such as sm_90a";
}

static constexpr const char *kFiles = "Input and output";

void dlc::addTuneCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<TuneOptions>();
  options->targets = {"cpu"};
  CLI::App *command = app.add_subcommand(
      "tune", "Measure which plan of each kernel is the fastest on this machine");
  setExamples(*command, kExamples);
  command->add_option("model", options->input, ".dl or .onnx")->required();

  setHelp(command->add_option("-o,--output", options->output, "File of plans to write")->required(),
          kFiles, "FILE");
  setHelp(command
              ->add_option("--target", options->targets.front(),
                           "cpu, cuda, or one GPU such as sm_90a [cpu]")
              ->check(checkTarget),
          kFiles, "TARGET");
  addProgramOptions(*command, *options);
  const char *group = "Measurement";
  setHelp(command->add_option("--candidates", options->candidates, "Other plans per kernel [6]")
              ->check(checkRange(1, 16)),
          group, "N", R"(At most so many are measured, those with the smallest estimates.)");
  setHelp(command->add_option("--duration", options->seconds, "Shortest time of a round [1]")
              ->check(checkNotNegative, "NONNEGATIVE"),
          group, "SECONDS");
  setHelp(command->add_option("--input", options->inputs, "As for 'dlc run' [random]")
              ->allow_extra_args(false),
          group, "SPEC");
  options->device.declare(*command);
  setHelp(command->add_flag("-q,--quiet", options->quiet, "Print no table"), kFiles, "");
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.tune(*options); };
  });
}
