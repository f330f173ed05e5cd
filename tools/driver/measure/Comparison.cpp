//===- Comparison.cpp - Two sources of outputs on the same samples ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/measure/Comparison.h"

#include "tools/driver/base/OptionChecks.h"
#include "tools/driver/base/OptionHelp.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/measure/DifferenceReport.h"
#include "tools/driver/measure/ErrorMetric.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace dlc {

/// Samples where no data are given.
static constexpr int64_t kRandomSamples = 16;

void ComparisonOptions::declare(CLI::App &command) {
  const char *group = "Comparison";
  setHelp(command.add_option("--data", data, "Inputs: .npz, one array per input [random]"), group,
          "FILE",
          R"(Each array is named after an input and has one row per sample. An .npy will do
if there is one input.)");
  setHelp(command.add_option("--labels", labels, "Right class of each sample: .npy or .npz"), group,
          "FILE",
          R"(Adds the accuracy of both sides and how many answers changed. An .npz holds the
array 'labels'.)");
  setHelp(command.add_option("--output", outputs, "Compare only this output [all]")
              ->allow_extra_args(false),
          group, "NAME");
  setHelp(addChoice(command, "--metric", metric, choicesOf<ErrorMetric>(kErrorMetricNames),
                    std::string("rel, abs, cosine, top1 [") + nameOf(metric) + "]"),
          group, "NAME",
          R"(What --max-error bounds.
rel     largest difference, divided by the largest magnitude of the output
abs     largest difference
cosine  1 - cosine of the angle between the two outputs
top1    share of answers that differ; with --labels, the accuracy lost)");
  setHelp(
      command.add_option("--max-error", maxError, "Exit with 4 if an output exceeds this error")
          ->check(checkPositive, "POSITIVE"),
      group, "X");
  setHelp(command.add_option("--batch", batch, "Samples per run [" + std::to_string(batch) + "]")
              ->check(checkPositive, "POSITIVE"),
          group, "N", R"(At most as many as the models' ranges allow.)");
  setHelp(command.add_flag("--layers", layers, "Compare kernel by kernel"), group, "",
          R"(The reference's kernel computes its result from what the model's kernel has
read, so that an error shows where it is made.)");
  setHelp(command.add_flag("--json", json, "Print JSON"), group, "");
}

int Comparison::openData(const std::vector<dlc_module *> &modules) {
  feed.setBatch(options.batch);
  if (options.data.empty()) {
    if (!options.labels.empty())
      return fail(kUsage, "--labels are those of --data, which is not given");
    complain("warning: no --data is given: " + std::to_string(kRandomSamples) +
             " random inputs say little about what real ones give");
    return feed.fillRandom(kRandomSamples, modules);
  }
  if (int code = feed.open(options.data, modules.front()))
    return code;
  for (size_t i = 1; i < modules.size(); ++i)
    if (int code = feed.addModule(modules[i]))
      return code;
  return readLabels();
}

int Comparison::readLabels() {
  if (options.labels.empty())
    return kOk;
  HostTensor array;
  std::string problem;
  if (int code = readTensor(options.labels, "labels", array, problem))
    return fail(code, problem);
  bool isInteger = (array.dtype >= DLC_I64 && array.dtype <= DLC_U8) ||
                   (array.dtype >= DLC_U16 && array.dtype <= DLC_U64);
  if (!isInteger || array.dims.empty() || array.size() != feed.numSamples() ||
      array.dims[0] != feed.numSamples())
    return fail(kUsage, "--labels '" + options.labels + "' holds " + array.describe() +
                            "; expected " + std::to_string(feed.numSamples()) +
                            " integers, one for each sample of '" + options.data + "'");
  for (int64_t i = 0; i < array.size(); ++i)
    labels.push_back(static_cast<int64_t>(array.at(i)));
  return kOk;
}

int Comparison::chooseOutputs(const ModelRun &after, const OutputSource &before) {
  std::vector<std::string> names = options.outputs.empty() ? after.outputNames() : options.outputs;
  for (const std::string &name : names) {
    int index = after.findOutput(name);
    if (index < 0)
      return kUsage;
    Output output;
    output.name = after.outputNames()[static_cast<size_t>(index)];
    const auto &others = before.outputNames();
    auto other = std::find(others.begin(), others.end(), output.name);
    output.after = static_cast<size_t>(index);
    output.before = static_cast<size_t>(other - others.begin());
    chosen.push_back(output);
  }
  return kOk;
}

const Comparison::Output *Comparison::labelled() const {
  if (labels.empty())
    return nullptr;
  auto found =
      std::find_if(chosen.begin(), chosen.end(), [](const Output &o) { return o.isAnswer; });
  return found == chosen.end() ? nullptr : &*found;
}

/// Called for the first batch, which shows what the outputs look like.
int Comparison::checkLabels() {
  auto answers =
      std::count_if(chosen.begin(), chosen.end(), [](const Output &o) { return o.isAnswer; });
  if (answers == 0 && (options.metric == ErrorMetric::top1 || !labels.empty()))
    return fail(kUsage, std::string(labels.empty() ? "--metric top1" : "--labels") +
                            ": no output is a row of classes for each sample");
  if (answers > 1 && !labels.empty())
    return fail(kUsage,
                "--labels: several outputs are rows of classes; name the one that is meant by "
                "--output");
  return kOk;
}

int Comparison::add(const ModelRun &after, const OutputSource &before, SampleRange range) {
  bool isFirst = range.first == 0;
  for (Output &output : chosen) {
    const HostTensor &expected = before.outputs()[output.before],
                     &actual = after.outputs()[output.after];
    output.dtype = actual.dtype;
    if (actual.dims != expected.dims)
      return fail(kAccuracy, "output '" + output.name + "' is " + actual.describe() +
                                 " from sample " + std::to_string(range.first) + " on, expected " +
                                 expected.describe());
    output.difference.add(actual, expected, range);
    output.isAnswer =
        (isFirst || output.isAnswer) && AnswerTally::numClasses(actual, range.rows) > 0;
  }
  if (int code = isFirst ? checkLabels() : kOk)
    return code;
  for (Output &output : chosen) {
    if (!output.isAnswer)
      continue;
    const HostTensor &actual = after.outputs()[output.after];
    int64_t classes = AnswerTally::numClasses(actual, range.rows);
    const int64_t *right = labels.empty() ? nullptr : labels.data() + range.first;
    for (int64_t i = 0; right && i < range.rows; ++i)
      if (right[i] < 0 || right[i] >= classes)
        return fail(kUsage, "--labels '" + options.labels + "': the label of sample " +
                                std::to_string(range.first + i) + " is " +
                                std::to_string(right[i]) + "; expected 0 to " +
                                std::to_string(classes - 1) + ", the classes of output '" +
                                output.name + "'");
    output.answers.add(before.outputs()[output.before], actual, range.rows, right);
  }
  return kOk;
}

int Comparison::run(ModelRun &after, OutputSource &before) {
  if (int code = chooseOutputs(after, before))
    return code;
  std::vector<dlc_tensor> inputs;
  int64_t total = feed.numSamples() - feed.numLeftOut();
  int code = kOk;
  for (feed.rewind(); code == kOk && feed.next(inputs); ++batches) {
    SampleRange range = {samples, feed.rows()};
    code = after.advance(inputs, range, nullptr);
    if (code == kOk)
      code = before.advance(inputs, range, &after.outputs());
    if (code == kOk)
      code = add(after, before, range);
    samples += range.rows;
    showSamples(code == kOk ? samples : total, total);
  }
  return code;
}

double Comparison::errorOf(const Output &output) const {
  return errorBy(options.metric, output.difference, output.answers, !labels.empty());
}

} // namespace dlc
