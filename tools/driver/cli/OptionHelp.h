//===- OptionHelp.h - What --help and dlc help say of an option ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --help prints an option as one line of at most 80 columns, in groups; the option's description is
// that line. `dlc help COMMAND` prints examples, and `dlc help COMMAND --NAME` the details.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_CLI_OPTIONHELP_H
#define DLC_TOOLS_DRIVER_CLI_OPTIONHELP_H

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace dlc {

/// Lists the option under `group`, with `value` ("FILE") for its value; empty for a flag. `details`
/// says what each value does and what the option needs and excludes; empty: the line says it all.
CLI::Option *setHelp(CLI::Option *option, const char *group, const char *value,
                     const std::string &details = "");

/// The examples of `dlc help COMMAND`.
void setExamples(CLI::App &command, const std::string &examples);

/// Lays out the --help of `app` and of its commands.
void layOutHelp(CLI::App &app);

/// `dlc help WORDS`: no word, a command, or a command and its options. Returns the text; an empty
/// one with a sentence in `problem` if a word names nothing.
std::string helpOn(CLI::App &app, const std::vector<std::string> &words, std::string &problem);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CLI_OPTIONHELP_H
