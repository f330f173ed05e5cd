//===- FormatCommand.cpp - dlc fmt: the canonical layout of models ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kExamples =
    R"(Keeps comments and breaks lines at 100 characters. A comma after the last
argument puts each argument on its own line. A file with a syntax error is not
changed.

Examples:
  dlc fmt model.dl blocks.dl      rewrite these files
  dlc fmt --check *.dl            for CI: exit 1 if a file would change
  dlc fmt --stdout model.dl
  dlc fmt - < model.dl            from stdin to stdout, for editors)";

void dlc::addFormatCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<FormatOptions>();
  CLI::App *command = app.add_subcommand("fmt", "Put the text of models into its canonical layout");
  setExamples(*command, kExamples);
  command->add_option("files", options->files, ".dl files; '-' is stdin")->required();
  const char *group = "Input and output";
  auto *check =
      setHelp(command->add_flag("--check", options->check, "Only name the files that would change"),
              group, "");
  setHelp(command->add_flag("--stdout", options->toOutput, "Print the result, change no file"),
          group, "")
      ->excludes(check);
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.format(*options); };
  });
}
