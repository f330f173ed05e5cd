//===- OptionChecks.h - Checks of what options are given ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_BASE_OPTIONCHECKS_H
#define DLC_TOOLS_DRIVER_BASE_OPTIONCHECKS_H

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
} // namespace CLI

namespace dlc {

/// Checks of the numbers that options take: a sentence on what is wrong, empty where nothing is or
/// the text is no number.
std::string checkPositive(const std::string &text);
std::string checkNotNegative(const std::string &text);
/// Takes a number from `from` to `to`, which --help shows.
CLI::Validator checkRange(double from, double to);
/// Takes one of `values`, which --help lists; of another it says which of them was probably meant.
CLI::Validator checkOneOf(const std::vector<std::string> &values);
/// Adds an option that takes one of `values`; `choose` gets the position of the one given.
CLI::Option *addChoice(CLI::App &command, const std::string &name,
                       const std::vector<std::string> &values, std::function<void(size_t)> choose,
                       const std::string &text);
/// Adds an option that sets `value`, an enum or an optional of one, to one of `choices`, which
/// nameOf names.
template <class Value, class Enum>
CLI::Option *addChoice(CLI::App &command, const std::string &name, Value &value,
                       const std::vector<Enum> &choices, const std::string &text) {
  std::vector<std::string> names;
  for (Enum choice : choices)
    names.emplace_back(nameOf(choice));
  return addChoice(
      command, name, names, [&value, choices](size_t at) { value = choices[at]; }, text);
}

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_BASE_OPTIONCHECKS_H
