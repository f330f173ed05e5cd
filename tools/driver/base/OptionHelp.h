//===- OptionHelp.h - What --help and dlc help say of an option ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --help prints an option as one line of at most 80 columns, in groups; the option's description is
// that line. `dlc help COMMAND` prints examples, and `dlc help COMMAND --NAME` the details.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_BASE_OPTIONHELP_H
#define DLC_TOOLS_DRIVER_BASE_OPTIONHELP_H

#include <algorithm>
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

/// Returns `text`, of one line or more, after `name` in a column of `width`.
std::string entryOf(const std::string &name, const std::string &text, size_t width);
/// Returns the help of each record from `first` on, after its name.
template <class Record, size_t count>
std::string linesOn(const Record (&records)[count], size_t first = 0) {
  size_t width = 0;
  for (size_t i = first; i < count; ++i)
    width = std::max(width, std::string(records[i].name).size() + 1);
  std::string text;
  for (size_t i = first; i < count; ++i)
    text += entryOf(records[i].name, records[i].help, width);
  return text;
}

/// The text of `dlc help COMMAND`: what the command does beyond its line in --help, and examples.
void setExamples(CLI::App &command, const std::string &examples);

/// Lays out the --help of `app` and of its commands.
void layOutHelp(CLI::App &app);

/// `dlc help WORDS`: no word, a command, or a command and its options. Returns the text; an empty
/// one with a sentence in `problem` if a word names nothing.
std::string helpOn(CLI::App &app, const std::vector<std::string> &words, std::string &problem);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_BASE_OPTIONHELP_H
