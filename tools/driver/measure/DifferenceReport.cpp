//===- DifferenceReport.cpp - Figures of a difference, as text and as JSON ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/measure/DifferenceReport.h"

#include "tools/driver/measure/KernelProfile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unistd.h>

namespace dlc {

static long long wide(int64_t number) { return static_cast<long long>(number); }

std::string asTable(const std::vector<std::vector<std::string>> &rows) {
  std::string text;
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      size_t width = 0;
      for (const auto &other : rows)
        width = std::max(width, other[i].size());
      line += row[i] + std::string(i + 1 < row.size() ? width + 2 - row[i].size() : 0, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::string decibels(double value) {
  return std::isinf(value) && value > 0 ? "exact" : format("%.1f", value);
}

std::string describeNotFinite(const OutputDifference &difference) {
  return format("%lld of its %lld numbers are NaN and %lld infinite on one side only, "
                "the first at ",
                wide(difference.numNaN()), wide(difference.numElements()),
                wide(difference.numUnlikeInfinities())) +
         difference.worst();
}

std::string describeExcess(double error, double most, const char *what,
                           const OutputDifference &difference) {
  std::string times = most > 0 ? format(", %.3g times", error / most) : std::string(", above");
  return std::string("the ") + what + format(" is %.3g", error) + times +
         format(" the bound of %.3g", most) +
         (difference.worst().empty() ? "" : "; furthest off at ") + difference.worst();
}

void writeFigures(Json &json, const OutputDifference &d) {
  json.integer("elements", d.numElements());
  json.real("max_abs", d.maxAbsolute()).real("max_rel", d.maxRelative());
  json.real("sqnr_db", d.signalToNoise()).real("cosine", d.cosine());
  json.integer("nan", d.numNaN()).integer("unlike_infinities", d.numUnlikeInfinities());
  json.string("worst", d.worst());
}

void showSamples(int64_t done, int64_t total) {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point shown = Clock::now();
  static bool isShown = false;
  if (!isatty(STDERR_FILENO) || (done < total && Clock::now() - shown < std::chrono::seconds(1)))
    return;
  std::string line = "\r\033[K";
  if (done < total)
    line += "dlc: sample " + std::to_string(done) + "/" + std::to_string(total) + " ...";
  if (done < total || isShown)
    (void)!write(STDERR_FILENO, line.data(), line.size());
  isShown = done < total;
  shown = Clock::now();
}

} // namespace dlc
