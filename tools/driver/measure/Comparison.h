//===- Comparison.h - Two sources of outputs on the same samples --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by `compare` and `verify`: the options, the loop over a data set, the report and the
// bound.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_MEASURE_COMPARISON_H
#define DLC_TOOLS_DRIVER_MEASURE_COMPARISON_H

#include "tools/driver/base/OptionValues.h"
#include "tools/driver/measure/AnswerTally.h"
#include "tools/driver/run/ModelRun.h"
#include "tools/driver/run/SampleFeed.h"

#include <functional>
#include <optional>

namespace dlc {

struct ComparisonOptions {
  std::string data;   // empty: random inputs
  std::string labels; // empty: none
  ErrorMetric metric = ErrorMetric::rel;
  std::vector<std::string> outputs; // empty: all
  std::optional<double> maxError;
  int64_t batch = SampleFeed::kDefaultBatch;
  bool json = false;
  bool layers = false; // judge the values between kernels: LayerComparison
  /// Declares the options on a subcommand.
  void declare(CLI::App &command);
};

class Comparison {
public:
  /// How far an output of a dtype may lie off; nothing where no bound is set.
  using Bound = std::function<std::optional<double>(dlc_dtype)>;

  /// `beforeName` and `afterName` are what the report calls the sources: "a" and "b".
  Comparison(const ComparisonOptions &options, std::string beforeName, std::string afterName)
      : options(options), beforeName(std::move(beforeName)), afterName(std::move(afterName)) {}

  /// Opens the data, or makes random inputs with a warning, for models that have the same inputs.
  int openData(const std::vector<dlc_module *> &modules);
  SampleFeed &getFeed() { return feed; }
  /// Runs both sources on all samples; `after` is the model whose outputs are judged. An ExitCode,
  /// reported.
  int run(ModelRun &after, OutputSource &before);
  /// Prints the report with a line for each of `sources`, and judges the outputs: kAccuracy where
  /// one is further off than its bound, with an error that says by how much and where.
  int report(const std::vector<std::string> &sources, const Bound &bound);

private:
  struct Output {
    std::string name;
    dlc_dtype dtype = DLC_F32;
    size_t before = 0, after = 0; // positions in the sources
    OutputDifference difference;
    bool isAnswer = false; // a row of classes for each sample
    AnswerTally answers;
  };

  int chooseOutputs(const ModelRun &after, const OutputSource &before);
  int readLabels();
  int checkLabels();
  int add(const ModelRun &after, const OutputSource &before, SampleRange range);
  const Output *labelled() const;
  double errorOf(const Output &output) const;
  std::string judge(const Output &output, double most, std::string &held) const;
  void warn() const;
  std::string asText(const std::vector<std::string> &sources) const;
  std::string asJson(const std::vector<std::string> &sources, const Bound &bound) const;

  ComparisonOptions options;
  std::string beforeName, afterName;
  SampleFeed feed;
  std::vector<Output> chosen;
  std::vector<int64_t> labels;
  int64_t samples = 0, batches = 0;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_MEASURE_COMPARISON_H
