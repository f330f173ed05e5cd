//===- FormatCommand.cpp - dlc fmt: the canonical layout of models ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kFooter =
    R"(Comments stay where they are, lines are broken at 100 characters, and a comma behind the last argument puts each
argument on a line of its own. A file with a syntax error stays as it is.

Examples:
  dlc fmt model.dl blocks.dl      rewrite these files, where they differ
  dlc fmt --check *.dl            name the files that differ, change nothing; exit 1 if there are any
  dlc fmt --stdout model.dl       print the result
  dlc fmt - < model.dl            from standard input to standard output, as editors like it)";

void dlc::addFormatCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<FormatOptions>();
  CLI::App *command = app.add_subcommand("fmt", "Put the text of models into its canonical layout");
  command->footer(kFooter);
  command->add_option("files", options->files, ".dl files; '-' is standard input")->required();
  auto *check =
      command->add_flag("--check", options->check, "Name the files that differ; change nothing");
  command->add_flag("--stdout", options->toOutput, "Print the result; change nothing")
      ->excludes(check);
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.format(*options); };
  });
}
