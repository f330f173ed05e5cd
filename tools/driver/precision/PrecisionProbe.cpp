//===- PrecisionProbe.cpp - What a choice of layers in 16 bits costs on data --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/precision/PrecisionProbe.h"

#include "passes/Passes.h"
#include "tools/driver/base/Output.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Random inputs where no data are given.
static constexpr int64_t kRandomSamples = 16;
/// Outputs in f32 that are kept instead of being computed for each choice anew.
static constexpr size_t kMostReferenceBytes = size_t(256) << 20;

int PrecisionProbe::open(ModuleOp module, const NarrowingPlan &made) {
  plan = &made;
  seen.assign(made.layers.size(), {kInfinity, -kInfinity});
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext());
  SimulatePrecisionOptions simulate;
  simulate.dtype = nameOf(goal.dtype);
  simulate.keepF32.assign(goal.keepF32.begin(), goal.keepF32.end());
  manager.addNestedPass<func::FuncOp>(createSimulatePrecision(simulate));
  if (failed(manager.run(*copy)))
    return kInternal;
  auto package = compileCpuProgram(*copy);
  if (failed(package))
    return kUnsupported;
  if (int code = program.open(*package))
    return code;
  if (!goal.reference.empty())
    if (int code = original.open(goal.reference))
      return code;
  feed.setBatch(goal.batch);
  if (!goal.data.empty())
    return feed.open(goal.data, program.getModule());
  complain("warning: no --calib is given: " + std::to_string(kRandomSamples) +
           " random inputs say little about what real ones give");
  return feed.fillRandom(kRandomSamples, {program.getModule()});
}

int PrecisionProbe::runSimulated(const std::vector<dlc_tensor> &inputs, const Choice &choice) {
  HostTensor mask = {DLC_BOOL, {static_cast<int64_t>(plan->conditions.size())}, {}};
  for (const std::vector<unsigned> &condition : plan->conditions)
    mask.data.push_back(
        llvm::all_of(condition, [&](unsigned layer) { return choice.test(layer); }));
  std::vector<dlc_tensor> all = {mask.view()};
  all.insert(all.end(), inputs.begin(), inputs.end());
  return program.run(all);
}

void PrecisionProbe::noteRanges() {
  for (size_t i = 0; i < seen.size(); ++i) {
    double low = program.outputs[2 * i].at(0), high = program.outputs[2 * i + 1].at(0);
    // A NaN among the numbers makes both of them NaN, and stays.
    seen[i].low = low < seen[i].low || std::isnan(low) ? low : seen[i].low;
    seen[i].high = high > seen[i].high || std::isnan(high) ? high : seen[i].high;
  }
}

/// NaN holds no bound, whatever the precision.
int PrecisionProbe::checkReference(const Outputs &outputs) const {
  for (auto [i, output] : llvm::enumerate(outputs))
    if (int64_t count = output.countNaN())
      return fail(
          kModelError,
          llvm::formatv("on this data output '{0}' of the model in f32 holds NaN ({1} of its "
                        "{2} numbers), which no bound holds for; expected numbers",
                        program.outputNames[numOwnOutputs() + i], count, output.size())
              .str());
  return kOk;
}

int PrecisionProbe::forEachBatch(
    llvm::function_ref<int(const std::vector<dlc_tensor> &, SampleRange, const Outputs &)> visit) {
  std::vector<dlc_tensor> inputs;
  SampleRange range = {0, 0};
  feed.rewind();
  for (size_t batch = 0; feed.next(inputs); ++batch, range.first += range.rows) {
    range.rows = feed.rows();
    Outputs computed;
    if (batch >= references.size()) {
      if (int code = runSimulated(inputs, Choice(plan->layers.size())))
        return code;
      noteRanges();
      auto begin = program.outputs.begin() + static_cast<ptrdiff_t>(numOwnOutputs());
      computed.assign(begin, program.outputs.end());
      if (!goal.reference.empty()) {
        if (int code = original.run(inputs))
          return code;
        computed = original.outputs;
      }
      if (int code = checkReference(computed))
        return code;
      size_t bytes = 0;
      for (const HostTensor &output : computed)
        bytes += output.data.size();
      if (batch == references.size() && referenceBytes + bytes <= kMostReferenceBytes) {
        references.emplace_back().swap(computed);
        referenceBytes += bytes;
      }
    }
    if (int code = visit(inputs, range, batch < references.size() ? references[batch] : computed))
      return code;
  }
  return kOk;
}

int PrecisionProbe::measure(ArrayRef<Choice> choices, std::vector<double> &errors,
                            const std::string &what) {
  std::vector<OutputErrors> all(choices.size());
  int code = forEachBatch([&](const std::vector<dlc_tensor> &inputs, SampleRange range,
                              const Outputs &reference) -> int {
    for (auto [i, choice] : llvm::enumerate(choices)) {
      progress(llvm::formatv("{0}, choice {1} of {2}, sample {3} of {4}", what, i + 1,
                             choices.size(), range.first + range.rows, feed.numSamples())
                   .str());
      if (int failure = runSimulated(inputs, choice))
        return failure;
      all[i].add(ArrayRef(program.outputs).drop_front(numOwnOutputs()), reference, range);
    }
    return kOk;
  });
  if (code != kOk)
    return code;
  errors.clear();
  for (const OutputErrors &one : all) {
    if (goal.metric == ErrorMetric::top1 && !one.hasAnswers())
      return fail(kUsage, "--error-metric top1: no output is a row of classes for each sample");
    errors.push_back(one.largest(goal.metric));
  }
  return kOk;
}

int PrecisionProbe::measure(const std::string &package, double &error) {
  CpuProgram compiled;
  OutputErrors errors;
  if (int code = compiled.open(package))
    return code;
  int code = forEachBatch([&](const std::vector<dlc_tensor> &inputs, SampleRange range,
                              const Outputs &reference) -> int {
    if (int failure = compiled.run(inputs))
      return failure;
    errors.add(compiled.outputs, reference, range);
    return kOk;
  });
  error = errors.largest(goal.metric);
  return code;
}

} // namespace dlc
