//===- EpochReport.cpp - What a training tells while it runs ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/EpochReport.h"

#include "tools/driver/base/Output.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cstdio>
#include <unistd.h>

namespace dlc {

/// Clears what an earlier line has left.
static constexpr const char *kClearRest = "\033[K";

static std::string text(const char *format, double number) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, number);
  return buffer;
}

EpochReport::EpochReport(EpochLog &log, int64_t epoch, int64_t numBatches)
    : log(log), epoch(epoch), numBatches(numBatches) {}

void EpochReport::Means::add(const std::vector<double> &results, int64_t count) {
  sums.resize(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    sums[i] += results[i] * static_cast<double>(count);
  rows += count;
}

void EpochReport::add(const std::vector<double> &results, int64_t rows) {
  training.add(results, rows);
  ++steps;
  if (!log.options.quiet && isatty(STDERR_FILENO) &&
      Clock::now() - log.shown > std::chrono::milliseconds(100))
    show();
}

void EpochReport::addValidation(const std::vector<double> &results, int64_t rows) {
  validation.add(results, rows);
}

std::string EpochReport::describe(const Means &means, const std::string &prefix) const {
  std::string line;
  for (size_t i = 0; i < means.sums.size(); ++i)
    line += "  " + prefix + log.names[i] + " " +
            text("%.4f", means.sums[i] / static_cast<double>(means.rows));
  return line;
}

void EpochReport::show() {
  log.shown = Clock::now();
  constexpr int64_t kWidth = 24;
  int64_t done = numBatches ? steps * kWidth / numBatches : kWidth;
  double seconds = std::chrono::duration<double>(log.shown - begin).count();
  double left = seconds / static_cast<double>(steps) * static_cast<double>(numBatches - steps);
  std::string bar(static_cast<size_t>(done), '=');
  bar.resize(kWidth, ' ');
  std::string line = "\r" + std::to_string(epoch) + "/" + std::to_string(log.options.epochs) +
                     " [" + bar + "] " + std::to_string(steps) + "/" + std::to_string(numBatches) +
                     describe(training, "") + "  " +
                     text("%.0f", static_cast<double>(training.rows) / seconds) + "/s  " +
                     text("%.0f", left) + " s left" + kClearRest;
  std::fputs(line.c_str(), stderr);
}

int EpochReport::finish() {
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!log.options.quiet && isatty(STDERR_FILENO))
    std::fputs((std::string("\r") + kClearRest).c_str(), stderr);
  if (!log.options.log.empty()) {
    llvm::json::Object entry{{"epoch", epoch}, {"steps", steps}, {"seconds", seconds}};
    auto append = [&](const Means &means, const std::string &prefix) {
      for (size_t i = 0; i < means.sums.size(); ++i)
        entry[prefix + log.names[i]] = means.sums[i] / static_cast<double>(means.rows);
    };
    append(training, "");
    append(validation, "val_");
    log.lines += llvm::formatv("{0}\n", llvm::json::Value(std::move(entry))).str();
    if (int code = writeFile(log.options.log, log.lines))
      return code;
  }
  if (log.options.quiet)
    return kOk;
  return finishOutput("epoch " + std::to_string(epoch) + "/" + std::to_string(log.options.epochs) +
                      describe(training, "") + describe(validation, "val_") + "  " +
                      text("%.0f", static_cast<double>(training.rows) / std::max(seconds, 1e-9)) +
                      " samples/s  " + text("%.1f", seconds) + " s\n");
}

} // namespace dlc
