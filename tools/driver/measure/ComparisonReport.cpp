//===- ComparisonReport.cpp - What a comparison found, as text and as JSON ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/Json.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/measure/Comparison.h"
#include "tools/driver/measure/DifferenceReport.h"
#include "tools/driver/measure/ErrorMetric.h"
#include "tools/driver/measure/KernelProfile.h"

#include <algorithm>
#include <cmath>

namespace dlc {

static long long wide(int64_t number) { return static_cast<long long>(number); }

void Comparison::warn() const {
  if (int64_t left = feed.numLeftOut())
    complain("warning: the last " + std::to_string(left) +
             (left == 1 ? " sample is" : " samples are") + " left out: a run takes at least " +
             std::to_string(feed.smallestBatch()));
  for (const Output &output : chosen)
    if (!output.difference.isFinite())
      complain("warning: output '" + output.name + "': " + describeNotFinite(output.difference));
}

/// A line for `held` where the output holds its bound; an error otherwise.
std::string Comparison::judge(const Output &output, double most, std::string &held) const {
  double error = errorOf(output);
  const char *what = errorName(options.metric, !labels.empty());
  const OutputDifference &difference = output.difference;
  if (!difference.isFinite())
    return "output '" + output.name + "': " + describeNotFinite(difference);
  if (error <= most) {
    held += format("%s: the %s, %.3g, is within %.3g\n", output.name.c_str(), what, error, most);
    return {};
  }
  return "output '" + output.name + "': " + describeExcess(error, most, what, difference);
}

std::string Comparison::asText(const std::vector<std::string> &sources) const {
  std::string text;
  for (const std::string &source : sources)
    text += source + "\n";
  text += format("%lld samples in %lld runs\n", wide(samples), wide(batches));
  std::vector<std::vector<std::string>> rows = {
      {"output", "max abs", "max rel", "SQNR dB", "cosine", "same top-1"}};
  for (const Output &output : chosen) {
    const OutputDifference &d = output.difference;
    rows.push_back({output.name, format("%.3g", d.maxAbsolute()), format("%.3g", d.maxRelative()),
                    decibels(d.signalToNoise()), format("%.9f", d.cosine()),
                    output.isAnswer ? format("%.2f %%", 100 * output.answers.agreement()) : "-"});
  }
  text += asTable(rows);
  if (const Output *output = labelled()) {
    const AnswerTally &a = output->answers;
    for (auto [name, part, right] : {std::tuple(&beforeName, a.accuracyBefore(), a.rightBefore),
                                     std::tuple(&afterName, a.accuracyAfter(), a.rightAfter)})
      text += format("Accuracy of %s: %.2f %% (%lld of %lld)\n", name->c_str(), 100 * part,
                     wide(right), wide(a.rows));
    text += format("Changed sides: %lld to right, %lld to wrong; McNemar's p = %.2f\n",
                   wide(a.gained), wide(a.lost), mcNemar(a.gained, a.lost));
  }
  return text;
}

std::string Comparison::asJson(const std::vector<std::string> &sources, const Bound &bound) const {
  Json json;
  json.beginObject().beginArray("sources");
  for (const std::string &source : sources)
    json.string(source);
  json.endArray().integer("samples", samples).integer("runs", batches);
  json.integer("left_out", feed.numLeftOut()).string("metric", nameOf(options.metric));
  json.beginArray("outputs");
  for (const Output &output : chosen) {
    json.beginObject().string("name", output.name);
    writeFigures(json, output.difference);
    if (output.isAnswer)
      json.real("same_top1", output.answers.agreement());
    if (&output == labelled()) {
      const AnswerTally &a = output.answers;
      json.beginObject("labels").integer("right_before", a.rightBefore);
      json.integer("right_after", a.rightAfter).integer("to_right", a.gained);
      json.integer("to_wrong", a.lost).real("mcnemar_p", mcNemar(a.gained, a.lost)).endObject();
    }
    if (auto most = bound(output.dtype))
      json.real("error", errorOf(output)).real("bound", *most);
    json.endObject();
  }
  return json.endArray().endObject().take();
}

int Comparison::report(const std::vector<std::string> &sources, const Bound &bound) {
  std::string text = options.json ? asJson(sources, bound) : asText(sources), held;
  std::vector<std::string> problems;
  for (const Output &output : chosen)
    if (auto most = bound(output.dtype);
        most && (options.metric != ErrorMetric::top1 || output.isAnswer))
      if (std::string problem = judge(output, *most, held); !problem.empty())
        problems.push_back(problem);
  warn();
  int code = finishOutput(options.json ? text : text + held);
  for (const std::string &problem : problems) // the last word, below the table
    fail(kAccuracy, problem);
  return code || problems.empty() ? code : int(kAccuracy);
}

} // namespace dlc
