//===- RunCommand.cpp - dlc run: a model on given inputs ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/InputFiles.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/run/Session.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace {
struct RunOptions {
  std::string model;
  std::vector<std::string> inputs, outputs, expected;
  double atol = 1e-5, rtol = 1e-4;
  int64_t top = 0;
  bool steps = false, resetState = false;
  std::optional<uint64_t> seed;
  dlc::DeviceOptions device;
};
} // namespace

static constexpr const char *kExamples =
    R"(NAME may be left out if there is one input or output. An .npz takes all outputs
if no NAME is given, or those that are named for it. A warning names outputs
that hold NaN.

Examples:
  dlc run model.bin --input x=@x.npy --output y=@y.npy
  dlc run model.bin --input x=@x.npy --output @all.npz
  dlc run model.bin --input @batch.npz --print-top 5
  dlc run model.bin --input x=8x1x28x28xf32=random
  dlc run model.bin --input x=@x.npy --expected-output y=@ref.npy --rtol 1e-4
  dlc run model.bin --input x=@x.npy --device cuda:1
  dlc run decoder.bin --input token=@tokens.npy --steps --output logits=@l.npy)";

namespace dlc {

/// The file of an --output or --expected-output, and the outputs of the model that it holds:
/// several in an .npz.
struct OutputFile {
  std::string path;
  std::vector<size_t> outputs;
};

/// Reads the texts of --output or --expected-output; returns an ExitCode. Only what can be written
/// is taken for --output.
static int parseFiles(const std::vector<std::string> &texts, const std::string &option,
                      std::vector<TensorSpec> &specs) {
  for (const std::string &text : texts) {
    std::string problem;
    auto spec = TensorSpec::parse(text, problem);
    if (!spec || spec->file.empty())
      return fail(kUsage, option + " '" + text +
                              "' names no file; expected NAME=@FILE.npy or NAME=@FILE.npz");
    bool isArray = isArchive(spec->file) || spec->file.ends_with(".npy") || isStream(spec->file);
    if (option == "--output" && !isArray)
      return fail(kUsage, "--output '" + text +
                              "': dlc writes .npy and .npz files; expected NAME=" +
                              "@FILE.npy or NAME=@FILE.npz, or '@-' for standard output");
    specs.push_back(*spec);
  }
  return kOk;
}

/// The outputs that the specs mean, by file; an ExitCode. A spec without a name means all of them
/// where its file is an .npz.
static int resolveFiles(const Session &session, const std::vector<TensorSpec> &specs,
                        const std::string &option, std::vector<OutputFile> &files) {
  for (const TensorSpec &spec : specs) {
    std::vector<size_t> meant;
    if (spec.name.empty() && isArchive(spec.file)) {
      for (size_t i = 0; i < session.outputNames().size(); ++i)
        meant.push_back(i);
    } else {
      int index = session.findOutput(spec.name);
      if (index < 0)
        return kUsage;
      meant.push_back(static_cast<size_t>(index));
    }
    auto same = [&](const OutputFile &file) {
      return namesSameFile(file.path, spec.file) && !isStream(spec.file);
    };
    auto file = std::find_if(files.begin(), files.end(), same);
    if (file == files.end())
      file = files.insert(files.end(), {spec.file, {}});
    else if (!isArchive(spec.file))
      return fail(kUsage, option + ": '" + spec.file + "' is named for two outputs, and an .npy " +
                              "file holds one; an .npz holds several");
    for (size_t index : meant) {
      if (std::count(file->outputs.begin(), file->outputs.end(), index))
        return fail(kUsage, option + ": output '" + session.outputNames()[index] +
                                "' is named twice for '" + spec.file + "'; name it once");
      file->outputs.push_back(index);
    }
  }
  return kOk;
}

/// Adds a line to `text` for each output that is as expected; an ExitCode.
static int compare(Session &session, const std::vector<OutputFile> &references,
                   const RunOptions &options, std::string &text) {
  int result = kOk;
  for (const OutputFile &file : references)
    for (size_t index : file.outputs) {
      const std::string &name = session.outputNames()[index];
      HostTensor reference;
      std::string problem;
      if (int code = readTensor(file.path, name, reference, problem))
        return fail(code, problem);
      auto difference =
          findDifference(session.output(index), reference, options.atol, options.rtol);
      if (difference)
        result = fail(kAccuracy, "output '" + name + "'" + *difference);
      else
        text += name + ": as expected\n";
    }
  return result;
}

static int runModel(const RunOptions &options) {
  std::vector<TensorSpec> outputSpecs, referenceSpecs;
  if (int code = parseFiles(options.outputs, "--output", outputSpecs))
    return code;
  if (int code = parseFiles(options.expected, "--expected-output", referenceSpecs))
    return code;
  Session session;
  if (int code = session.open(options.model, options.device))
    return code;
  std::vector<OutputFile> outputs, references;
  if (int code = resolveFiles(session, outputSpecs, "--output", outputs))
    return code;
  if (int code = resolveFiles(session, referenceSpecs, "--expected-output", references))
    return code;
  for (const OutputFile &file : references)
    frontend::noteInputFile(file.path);
  if (int code = session.setInputs(options.inputs, /*fillMissing=*/false))
    return code;
  for (const OutputFile &file : outputs)
    if (int code = checkOutput(file.path))
      return code;
  if (int code = options.steps ? session.setSteps() : 0)
    return code;
  if (options.resetState)
    session.resetInEachStep();
  if (options.seed)
    session.drawFrom(static_cast<int64_t>(*options.seed));
  if (int code = session.bind())
    return code;
  if (int code = session.fillInputs())
    return code;
  if (int code = session.run())
    return code;
  if (int code = session.cutOutputs())
    return code;

  for (const OutputFile &file : outputs) {
    std::vector<NamedTensor> tensors;
    for (size_t index : file.outputs)
      tensors.push_back({session.outputNames()[index], &session.output(index)});
    if (int code = writeTensors(file.path, tensors))
      return code;
  }
  for (size_t i = 0; i < session.outputNames().size(); ++i)
    if (std::string found = describeNaN(session.outputNames()[i], session.output(i));
        !found.empty())
      complain("warning: " + found);
  std::string text;
  int result = compare(session, references, options, text);
  if (result != kOk && result != kAccuracy)
    return result;
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
  setExamples(*command, kExamples);
  command->add_option("model", options->model, "The compiled model, model.bin")->required();

  const char *group = "Input and output";
  setHelp(command->add_option("--input", options->inputs, "An array, or random numbers or zeros")
              ->allow_extra_args(false),
          group, "SPEC",
          R"(NAME=@FILE.npy               the array in the file
NAME=@FILE.npz               the array NAME in the archive
NAME=8x3x32x32xf32=random    shape, dtype, then random or zeros
NAME=zeros                   symbolic dims at their smallest)");
  setHelp(command->add_option("--output", options->outputs, "Write an output, or all of them")
              ->allow_extra_args(false),
          group, "SPEC",
          R"(NAME=@FILE.npy or NAME=@FILE.npz writes one, @FILE.npz all; '@-' is stdout.)");
  setHelp(command
              ->add_option("--expected-output", options->expected,
                           "Compare; exit with 4 on a difference")
              ->allow_extra_args(false),
          group, "SPEC", R"(NAME=@FILE.npy, or @FILE.npz for all outputs.)");
  setHelp(command->add_option("--atol", options->atol, "Absolute tolerance [1e-5]")
              ->check(checkNotNegative, "NONNEGATIVE"),
          group, "X");
  setHelp(command->add_option("--rtol", options->rtol, "Relative tolerance [1e-4]")
              ->check(checkNotNegative, "NONNEGATIVE"),
          group, "X");
  setHelp(command->add_option("--print-top", options->top, "Print the K largest values of each row")
              ->check(checkPositive, "POSITIVE"),
          group, "K");
  auto *steps = setHelp(
      command->add_flag("--steps", options->steps, "Run once per index of an extra first dim"),
      group, "", R"(Inputs and outputs have the extra dim. States are kept from step to step.)");
  setHelp(command->add_flag("--reset-state", options->resetState, "Reset states before each step"),
          group, "")
      ->needs(steps);
  setHelp(command->add_option("--seed", options->seed, "Seed of the model's random numbers [0]"),
          group, "N");
  options->device.declare(*command);
  setHelp(command->add_flag("--checked", options->device.checked,
                            "CPU: guard pages around buffers; for tests, slow"),
          "Device", "", R"(Buffers are filled with NaN before each run.)");
  command->callback([&action, options] { action = [options] { return runModel(*options); }; });
}
