//===- CommandLine.cpp - dlc's subcommands ---------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/CommandLine.h"

#include "runtime/include/dlc/runtime.h"
#include "tools/driver/ExitCode.h"
#include "tools/driver/Output.h"

#include <CLI/CLI.hpp>

static constexpr const char *kFooter = R"(Examples:
  dlc check model.dl                            all errors of a model, without compiling it
  dlc fmt model.dl                              the model's text in its canonical layout
  dlc compile model.dl -o model.bin             one file for the CPU and for any NVIDIA GPU
  dlc import model.onnx -o model.dl             an ONNX model as text, with its weights beside it
  dlc run model.bin --input x=@x.npy --output y=@y.npy
  dlc bench model.bin                           latency, throughput, time of each kernel
  dlc inspect model.bin --source conv2d_relu    the CUDA C++ of a kernel
  dlc refit model.bin --weights new.safetensors new weights, without compiling

'dlc COMMAND --help' explains each. Exit codes: 0 ok, 1 error in the model, 2 usage, 3 unsupported, 4 accuracy check
failed, 5 device, runtime or I/O, 6 damaged or incompatible file, 70 internal error.)";

void dlc::addOnnxOptions(CLI::App &command, std::vector<std::string> &constInputs,
                         std::vector<std::string> &states) {
  command
      .add_option("--const-input", constInputs,
                  "NAME=@FILE.npy: an input of an ONNX model, such as a shape, that these numbers "
                  "take the place of; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("--state", states,
                  "INPUT=OUTPUT: an input of an ONNX model that stays in it from run to run as a "
                  "state, and the output that is its next value, as in h0=hn or "
                  "'past.*=present.*'; may be repeated")
      ->allow_extra_args(false);
}

int dlc::runCommandLine(int argc, char **argv, const Compiler &compiler) {
  reserveStandardFiles();
  CLI::App app("dlc: compiles neural networks to fast code, and runs it", "dlc");
  app.set_version_flag("--version", std::string("dlc ") + dlc_version());
  app.footer(kFooter);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  Action action;
  addCheckCommand(app, action, compiler);
  addFormatCommand(app, action, compiler);
  addCompileCommand(app, action, compiler, {argv, argv + argc});
  addImportCommand(app, action, compiler);
  addRunCommand(app, action);
  addBenchCommand(app, action);
  addInspectCommand(app, action, compiler);
  addRefitCommand(app, action);
  addDoctorCommand(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &asked) { // --help, --version
    std::ostringstream text, none;
    app.exit(asked, text, none);
    return finishOutput(text.str());
  } catch (const CLI::ParseError &error) {
    std::ostringstream none, text;
    app.exit(error, none, text);
    complain(text.str());
    return kUsage;
  }
  return action();
}
