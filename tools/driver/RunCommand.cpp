//===- RunCommand.cpp - dlc run: a model on given inputs -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/CommandLine.h"
#include "tools/driver/Output.h"
#include "tools/driver/Session.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace {
struct RunOptions {
  std::string model;
  std::vector<std::string> inputs, outputs, expected;
  double atol = 1e-5, rtol = 1e-4;
  int64_t top = 0;
  bool steps = false, resetState = false;
  dlc::DeviceOptions device;
};
} // namespace

static constexpr const char *kFooter =
    R"(The NAME of an input or output may be left out where there is only one.

Examples:
  dlc run model.bin --input x=@x.npy --output y=@y.npy
  dlc run model.bin --input @batch.npz --print-top 5       the array 'x' of the archive
  dlc run model.bin --input x=8x1x28x28xf32=random         shape, dtype, then random or zeros
  dlc run model.bin --input x=@x.npy --expected-output y=@ref.npy --rtol 1e-4
  dlc run model.bin --input x=@x.npy --device cuda:1
  dlc run decoder.bin --input token=@tokens.npy --steps --output logits=@logits.npy
                                                           a run for each token; states live on between them)";

namespace dlc {

/// The files that outputs shall be written to or compared with: positions beside specs; an ExitCode.
static int resolveFiles(const Session &session, const std::vector<std::string> &texts,
                        const char *option, std::vector<std::pair<int, std::string>> &files) {
  for (const std::string &text : texts) {
    std::string problem;
    auto spec = TensorSpec::parse(text, problem);
    if (!spec || spec->file.empty())
      return fail(kUsage,
                  std::string(option) + " '" + text + "' names no file; expected NAME=@FILE.npy");
    int index = session.findOutput(spec->name);
    if (index < 0)
      return kUsage;
    files.emplace_back(index, spec->file);
  }
  return kOk;
}

static int runModel(const RunOptions &options) {
  Session session;
  if (int code = session.open(options.model, options.device))
    return code;
  std::vector<std::pair<int, std::string>> outputs, references;
  if (int code = resolveFiles(session, options.outputs, "--output", outputs))
    return code;
  if (int code = resolveFiles(session, options.expected, "--expected-output", references))
    return code;
  for (auto &[index, path] : outputs)
    if (std::string why = whyNotWritable(path); !why.empty())
      return fail(kDevice, why);
  if (int code = session.setInputs(options.inputs, /*fillMissing=*/false))
    return code;
  if (int code = options.steps ? session.setSteps() : 0)
    return code;
  if (options.resetState)
    session.resetInEachStep();
  if (int code = session.bind())
    return code;
  if (int code = session.fillInputs())
    return code;
  if (int code = session.run())
    return code;
  if (int code = session.cutOutputs())
    return code;

  for (auto &[index, path] : outputs)
    if (std::string problem; !writeTensor(path, session.output(index), problem))
      return fail(kDevice, problem);
  std::string text;
  int result = kOk;
  for (auto &[index, path] : references) {
    const std::string &name = session.outputNames()[index];
    HostTensor reference;
    std::string problem;
    if (int code = readTensor(path, name, reference, problem))
      return fail(code, problem);
    auto difference = findDifference(session.output(index), reference, options.atol, options.rtol);
    if (!difference) {
      text += name + ": as expected\n";
      continue;
    }
    result = fail(kAccuracy, "output '" + name + "'" + *difference);
  }
  for (size_t i = 0; i < session.outputNames().size(); ++i) {
    if (options.top > 0)
      text += describeTop(session.outputNames()[i], session.output(i), options.top);
    else if (outputs.empty() && references.empty())
      text += describeValues(session.outputNames()[i], session.output(i));
  }
  return finishOutput(text, result);
}

} // namespace dlc

void dlc::addRunCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = app.add_subcommand("run", "Run a compiled model");
  command->footer(kFooter);
  command->add_option("model", options->model, "The compiled model, model.bin")->required();
  command
      ->add_option("--input", options->inputs,
                   "NAME=@FILE.npy, NAME=@FILE.npz, NAME=8x3x32x32xf32=random, NAME=zeros")
      ->allow_extra_args(false);
  command->add_option("--output", options->outputs, "NAME=@FILE.npy; '@-' is standard output")
      ->allow_extra_args(false);
  command
      ->add_option("--expected-output", options->expected,
                   "NAME=@FILE.npy to compare with; exit 4 if it differs")
      ->allow_extra_args(false);
  command->add_option("--atol", options->atol, "Absolute tolerance of the comparison")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--rtol", options->rtol, "Tolerance relative to the expected value")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--print-top", options->top,
                   "Print the K largest values of each row, with their positions")
      ->check(CLI::PositiveNumber);
  auto *steps = command->add_flag("--steps", options->steps,
                                  "The inputs have one dim more, the steps of a stream: run once "
                                  "for each; so have the outputs. "
                                  "The model's states are kept from step to step");
  command
      ->add_flag("--reset-state", options->resetState,
                 "States are zero at the begin of each step, too")
      ->needs(steps);
  options->device.declare(*command);
  command->add_flag("--checked", options->device.checked,
                    "CPU: guard pages round every buffer, filled with NaN; for tests, slow");
  command->callback([&action, options] { action = [options] { return runModel(*options); }; });
}
