//===- Bisect.cpp - What keeps a model in 16 bits from holding a bound --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/precision/Bisect.h"

#include "codegen/Passes.h"
#include "frontend/arrays/InputFiles.h"
#include "ir/dl/base/DimNeeds.h"
#include "tools/driver/base/Json.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/measure/KernelProfile.h"
#include "tools/driver/precision/PhaseErrors.h"
#include "tools/driver/precision/PrecisionSearch.h"
#include "tools/driver/source/Import.h"

#include <unistd.h>

using namespace mlir;

namespace dlc {
namespace {

class Bisection {
public:
  explicit Bisection(const BisectOptions &options) : options(options) {}
  int run();

private:
  void showProgress(const std::string &what) const;
  int reportGuilty(const PhaseErrors &phases) const;
  int reportLayers(const PhaseErrors &phases, const PrecisionSearch &search) const;

  const BisectOptions &options;
  PrecisionGoal goal;
  ImportedModel model;
};

} // namespace

void Bisection::showProgress(const std::string &what) const {
  if (!isatty(STDERR_FILENO))
    return;
  std::string line = what.empty() ? "\r\033[K" : "\r\033[Kdlc: " + what + " ...";
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

int Bisection::reportGuilty(const PhaseErrors &phases) const {
  std::string name = errorName(goal.metric, false);
  if (options.json) {
    Json json;
    json.beginObject().string("pass", phases.getGuilty()).real("error", phases.getError());
    json.real("max_error", goal.maxError).string("metric", nameOf(goal.metric)).endObject();
    if (int code = finishOutput(json.take()))
      return code;
  }
  return fail(kAccuracy,
              "in f32, before anything is made narrower, phase 'simplify' moves the outputs out of "
              "the bound: after its pass '" +
                  phases.getGuilty() + "' they are; at its end the " + name +
                  format(" is %.3g, the bound %.3g", phases.getError(), goal.maxError));
}

/// The pattern as a word of a shell.
static std::string quoted(const std::string &pattern) {
  std::string text = "'";
  for (char c : pattern)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

int Bisection::reportLayers(const PhaseErrors &phases, const PrecisionSearch &search) const {
  std::vector<std::string> patterns = search.patterns();
  if (options.json) {
    Json json;
    json.beginObject().real("simplify_error", phases.getError()).beginArray("keep_f32");
    for (const std::string &pattern : patterns)
      json.string(pattern);
    json.endArray();
    search.addTo(json);
    return finishOutput(json.endObject().take());
  }
  std::string text = format("In f32, phase 'simplify' makes a %s of %.3g\n",
                            errorName(goal.metric, false), phases.getError()) +
                     search.asText();
  if (patterns.empty())
    return finishOutput(text + "The bound holds with no layer kept in f32\n");
  for (auto [i, pattern] : llvm::enumerate(patterns))
    text += (i ? " --keep-f32 " : "--keep-f32 ") + quoted(pattern);
  return finishOutput(text + "\n");
}

int Bisection::run() {
  goal.dtype = options.precision;
  goal.metric = options.errorMetric;
  goal.maxError = options.maxError;
  goal.data = options.calibration.data;
  goal.batch = options.calibration.batch;
  goal.keepF32 = options.keepF32;
  goal.byName = true;
  frontend::noteInputFile(options.input);
  ImportRequest request{options.input, options.weights, false, false, options.model};
  request.constInputs = options.constInputs;
  request.states = options.states;
  request.shapes = options.shapes;
  auto progress = [this](const std::string &what) { showProgress(what); };
  progress("import");
  if (int code = importModel(request, model)) {
    progress("");
    return code;
  }
  dl::recordNeeds(*model.module);
  PhaseErrors phases(goal, progress);
  int code = phases.run(*model.module);
  if (code != kOk || !phases.getGuilty().empty()) {
    progress("");
    return code != kOk ? code : reportGuilty(phases);
  }
  auto kept = LayerPatterns::create(goal.keepF32);
  std::string problem = kept ? kept->unmatchedIn(*model.module) : llvm::toString(kept.takeError());
  if (!problem.empty()) {
    progress("");
    return fail(kUsage, "--keep-f32: " + problem);
  }
  PrecisionSearch search(goal, "bisect", progress);
  code = search.run(*model.module);
  progress("");
  return code != kOk ? code : reportLayers(phases, search);
}

int bisectModel(const BisectOptions &options) { return Bisection(options).run(); }

} // namespace dlc
