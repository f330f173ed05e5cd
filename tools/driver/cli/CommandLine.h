//===- CommandLine.h - dlc's subcommands --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_CLI_COMMANDLINE_H
#define DLC_TOOLS_DRIVER_CLI_COMMANDLINE_H

#include "tools/driver/base/OptionChecks.h"
#include "tools/driver/base/OptionHelp.h"
#include "tools/driver/cli/Compiler.h"

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace dlc {

/// Parses the arguments, runs the subcommand that they name and returns what the process exits
/// with.
int runCommandLine(int argc, char **argv, const Compiler &compiler);

/// What a subcommand has been parsed to: runs it, returns an ExitCode.
using Action = std::function<int()>;

/// Declares the options of subcommands that read ONNX files.
void addOnnxOptions(CLI::App &command, std::vector<std::string> &constInputs,
                    std::vector<std::string> &states);

/// Declares the options of subcommands that write numbers in few bits.
void addQuantizationOptions(CLI::App &command, QuantizationOptions &options);

/// Declares the options that decide which program a model becomes: its weights, shapes, precision
/// and numbers in few bits.
void addProgramOptions(CLI::App &command, CompileOptions &options);

/// Declares the options of subcommands that narrow symbolic dims by shapes of inputs.
void addShapeOptions(CLI::App &command, ShapeOptions &shapes);

// Each declares its subcommand on `app`; once that is parsed, `action` runs it.
void addCheckCommand(CLI::App &app, Action &action, const Compiler &compiler);
void addImportCommand(CLI::App &app, Action &action, const Compiler &compiler);
void addGradCommand(CLI::App &app, Action &action, const Compiler &compiler);
/// The model, --loss, --optimizer and what else makes a step of training.
void addTrainedModel(CLI::App &command, TrainedModel &model);
void addTrainCommand(CLI::App &app, Action &action, const Compiler &compiler);
void addPruneCommand(CLI::App &app, Action &action, const Compiler &compiler);
void addQuantizeCommand(CLI::App &app, Action &action, const Compiler &compiler);
void addBisectCommand(CLI::App &app, Action &action, const Compiler &compiler);
void addListCommand(CLI::App &app, Action &action, const Compiler &compiler);
void addFormatCommand(CLI::App &app, Action &action, const Compiler &compiler);
void addCompileCommand(CLI::App &app, Action &action, const Compiler &compiler,
                       std::vector<std::string> commandLine);
void addRunCommand(CLI::App &app, Action &action);
void addGenerateCommand(CLI::App &app, Action &action);
void addBenchCommand(CLI::App &app, Action &action);
void addCompareCommand(CLI::App &app, Action &action);
void addTuneCommand(CLI::App &app, Action &action, const Compiler &compiler);
void addVerifyCommand(CLI::App &app, Action &action);
void addInspectCommand(CLI::App &app, Action &action, const Compiler &compiler);
void addExplainCommand(CLI::App &app, Action &action);
void addRefitCommand(CLI::App &app, Action &action);
void addDoctorCommand(CLI::App &app, Action &action);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CLI_COMMANDLINE_H
