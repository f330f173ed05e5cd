//===- OptionChecks.h - Checks of what options are given ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_BASE_OPTIONCHECKS_H
#define DLC_TOOLS_DRIVER_BASE_OPTIONCHECKS_H

#include <string>
#include <vector>

namespace CLI {
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

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_BASE_OPTIONCHECKS_H
