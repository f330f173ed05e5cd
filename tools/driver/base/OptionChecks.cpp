//===- OptionChecks.cpp - Checks of what options are given --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/OptionChecks.h"

#include "frontend/Spelling.h"

#include <CLI/CLI.hpp>

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdlib>

namespace dlc {

std::string checkPositive(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  return *end || value > 0 ? std::string() // what is no number is told when it is converted
                           : "expected a number above 0, got '" + text + "'";
}

std::string checkNotNegative(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  return *end || value >= 0 ? std::string() : "expected 0 or more, got '" + text + "'";
}

CLI::Validator checkRange(double from, double to) {
  auto text = [](double bound) {
    std::string written;
    llvm::raw_string_ostream(written) << llvm::format("%.15g", bound);
    return written;
  };
  auto check = [=](std::string &given) {
    char *end = nullptr;
    double value = std::strtod(given.c_str(), &end);
    return *end || (value >= from && value <= to) ? std::string()
                                                  : "expected a number from " + text(from) +
                                                        " to " + text(to) + ", got '" + given + "'";
  };
  return {check, text(from) + ".." + text(to)};
}

CLI::Validator checkOneOf(const std::vector<std::string> &values) {
  std::string list;
  for (const std::string &value : values)
    list += (list.empty() ? "" : ", ") + value;
  auto check = [values, list](std::string &text) {
    if (std::find(values.begin(), values.end(), text) != values.end())
      return std::string();
    std::string hint =
        frontend::didYouMean(text, std::vector<llvm::StringRef>(values.begin(), values.end()));
    return frontend::quote(text) + " is none of " + list + hint;
  };
  return {check, "{" + list + "}"};
}

CLI::Option *addChoice(CLI::App &command, const std::string &name,
                       const std::vector<std::string> &values, std::function<void(size_t)> choose,
                       const std::string &text) {
  auto take = [values, choose = std::move(choose)](const std::string &given) {
    choose(static_cast<size_t>(std::find(values.begin(), values.end(), given) - values.begin()));
  };
  return command.add_option_function<std::string>(name, take, text)->check(checkOneOf(values));
}

} // namespace dlc
