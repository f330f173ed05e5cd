//===- ListCommand.cpp - dlc list: what models may be written with ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <memory>

static constexpr const char *kExamples =
    R"(Names, arguments and defaults are PyTorch's. A function whose first argument is
a tensor may be written as a method of it.

Examples:
  dlc list ops                    all functions
  dlc list ops 'conv*' linear     how to call these, and what they compute
  dlc list layers LSTM            the arguments of a layer)";

void dlc::addListCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<ListOptions>();
  CLI::App *command = app.add_subcommand("list", "Print the functions and layers of the language");
  setExamples(*command, kExamples);
  command->add_option("what", options->what, "ops or layers")
      ->required()
      ->check(checkOneOf({"ops", "layers"}));
  command->add_option("names", options->names, "Names or globs such as 'conv*' [all]");
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.list(*options); };
  });
}
