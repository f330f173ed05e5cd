//===- PrecisionSearch.cpp - The fewest layers in f32 with which a bound holds ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/precision/PrecisionSearch.h"

#include "ir/dl/DLOps.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "passes/precision/NarrowingRules.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/measure/KernelProfile.h"

#include <cmath>

using namespace mlir;

namespace dlc {

static FloatType typeOf(Precision dtype, MLIRContext *context) {
  return cast<FloatType>(dl::dtypeNamed(nameOf(dtype), context));
}

static double largestOf(FloatType type) {
  return APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
}

int PrecisionSearch::measureAlone() {
  std::vector<Choice> choices(layers.size(), Choice(layers.size()));
  for (size_t i = 0; i < layers.size(); ++i)
    choices[i].set(i);
  std::vector<double> errors;
  if (int code = probe.measure(choices, errors, "layers"))
    return code;
  for (auto [layer, seen, alone] : llvm::zip_equal(layers, probe.ranges(), errors)) {
    layer.seen = seen;
    layer.alone = alone;
  }
  return kOk;
}

/// What another reference is off already with all layers in f32 must be within the bound.
int PrecisionSearch::checkReference() {
  std::vector<double> errors;
  if (goal.reference.empty())
    return kOk;
  if (int code = probe.measure(Choice(layers.size()), errors, "layers in f32"))
    return code;
  if (errors.front() <= goal.maxError)
    return kOk;
  return miss(std::string("what --quantize does to the model makes a ") +
              errorName(goal.metric, false) +
              format(" of %.3g with all else in f32, %.3g times the bound of %.3g", errors.front(),
                     errors.front() / goal.maxError, goal.maxError));
}

/// Where no choice holds the bound: an error, or a warning where the goal takes the nearest one.
int PrecisionSearch::miss(const std::string &what) {
  const std::string text = option + ": " + what;
  if (!goal.bestEffort) // dlc bisect writes nothing anyway
    return fail(kAccuracy, text + "; nothing is written" +
                               (goal.byName ? "" : "; --best-effort writes what comes nearest"));
  isMissed = true;
  complain("warning: " + text + "; written all the same, as --best-effort asks");
  return kOk;
}

int PrecisionSearch::holds(const Choice &narrow, bool &result) {
  std::vector<double> errors;
  if (int code = probe.measure(narrow, errors, "search"))
    return code;
  result = errors.front() <= goal.maxError;
  return kOk;
}

/// Not even `layer`, which costs least, runs in 16 bits within the bound; it is what comes nearest.
int PrecisionSearch::missUnreachable(ModuleOp module, size_t layer, double least, Choice &narrow) {
  if (int code = miss(std::string("no layer can run in ") + nameOf(goal.dtype) +
                      " within the bound: the one that costs least, '" + layers[layer].name +
                      "', makes a " + errorName(goal.metric, false) +
                      format(" of %.3g alone, %.3g times the bound of %.3g", least,
                             least / goal.maxError, goal.maxError)))
    return code;
  narrow.reset();
  narrow.set(layer);
  return compileAndMeasure(module, narrow);
}

/// Finds the layers that run in 16 bits by simulation.
int PrecisionSearch::search(ModuleOp module, Choice &narrow) {
  // The fewest of the costliest that have to be kept.
  size_t fewest = 0, most = order.size();
  auto withKept = [&](size_t number) {
    Choice choice(layers.size());
    for (size_t layer : ArrayRef(order).drop_back(number))
      choice.set(layer);
    return choice;
  };
  while (fewest < most) {
    size_t middle = (fewest + most) / 2;
    bool isEnough = false;
    if (int code = holds(withKept(middle), isEnough))
      return code;
    (isEnough ? most : fewest) = isEnough ? middle : middle + 1;
  }
  if (fewest == order.size())
    return missUnreachable(module, order.front(), layers[order.front()].alone, narrow);
  narrow = withKept(fewest);
  // Errors of different layers may cancel out, or hide each other: some may be taken back.
  for (size_t layer : ArrayRef(order).take_back(fewest)) {
    bool isFree = false;
    narrow.set(layer);
    if (int code = holds(narrow, isFree))
      return code;
    if (!isFree)
      narrow.reset(layer);
  }
  return kOk;
}

void PrecisionSearch::mark(ModuleOp module, const Choice &narrow) const {
  auto function = *module.getOps<func::FuncOp>().begin();
  LayerPatterns kept = llvm::cantFail(LayerPatterns::create(goal.keepF32)); // run() has asked
  NarrowingPlan own = planNarrowing(function, typeOf(goal.dtype, module.getContext()), kept);
  for (auto [i, layer] : llvm::enumerate(own.layers))
    for (Operation *op : layer.ops)
      if (!narrow.test(i))
        op->setAttr(kKeepF32, UnitAttr::get(module.getContext()));
}

std::vector<std::string> PrecisionSearch::patternsFor(const Choice &narrow) const {
  std::vector<std::string> texts;
  for (auto [i, layer] : llvm::enumerate(layers))
    if (!narrow.test(i))
      texts.push_back(LayerPatterns::matchingOnly(layer.name));
  return texts;
}

std::vector<std::string> PrecisionSearch::patterns() const {
  Choice narrow(layers.size());
  for (auto [i, layer] : llvm::enumerate(layers))
    narrow[i] = layer.runsNarrow;
  return patternsFor(narrow);
}

/// Compiles the model as chosen and runs that, which sets `error`.
int PrecisionSearch::compileAndMeasure(ModuleOp module, const Choice &narrow) {
  progress("compiling");
  CpuProgramOptions options;
  options.precision = goal.dtype;
  options.keepF32 = goal.keepF32;
  OwningOpRef<ModuleOp> copy = module.clone();
  if (goal.byName)
    llvm::append_range(options.keepF32, patternsFor(narrow));
  else
    mark(*copy, narrow);
  auto package = compileCpuProgram(*copy, options);
  if (failed(package))
    return kUnsupported;
  return probe.measure(*package, error);
}

/// Keeps more layers, the costliest first, twice as many each time, until the bound holds.
int PrecisionSearch::keepMore(ModuleOp module, Choice &narrow) {
  for (size_t step = 1;; step *= 2) {
    if (int code = compileAndMeasure(module, narrow))
      return code;
    if (error <= goal.maxError)
      return kOk;
    size_t left = step, last = order.front();
    for (size_t layer : llvm::reverse(order))
      if (narrow.test(layer) && left > 0) {
        narrow.reset(layer);
        last = layer;
        --left;
      }
    if (narrow.none())
      return missUnreachable(module, last, error, narrow);
  }
}

/// The op's name, and what it is a part of: "linear of gated_mlp".
static std::string shownOp(Operation *op) {
  std::string name = op->getName().stripDialect().str();
  if (auto role = op->getAttrOfType<StringAttr>(dl::kRole))
    name += " of " + role.str();
  else if (isa<dl::AttentionOp>(op->getParentOp()))
    name += " of " + op->getParentOp()->getName().stripDialect().str();
  return name;
}

int PrecisionSearch::run(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  FloatType type = typeOf(goal.dtype, module.getContext());
  auto kept = LayerPatterns::create(goal.keepF32);
  if (!kept)
    return fail(kUsage, "--keep-f32: " + llvm::toString(kept.takeError()));
  plan = planNarrowing(function, type, *kept);
  if (plan.layers.empty())
    return fail(kModelError, option +
                                 ": the model has no product, convolution or recurrence of "
                                 "f32 that could run in 16 bits" +
                                 (goal.keepF32.empty() ? "" : " and that --keep-f32 leaves"));
  for (const NarrowingPlan::Layer &layer : plan.layers)
    layers.push_back({layer.name, shownOp(layer.ops.front()), {}});
  progress("precision");
  if (int code = probe.open(module, plan))
    return code;
  if (int code = checkReference())
    return code;
  if (int code = measureAlone())
    return code;
  for (size_t i = 0; i < layers.size(); ++i) {
    LayerPrecision &layer = layers[i];
    double largest = largestOf(type);
    // An infinity, such as that of a mask, is one in 16 bits, too.
    layer.overflows = (std::isfinite(layer.seen.low) && layer.seen.low < -largest) ||
                      (std::isfinite(layer.seen.high) && layer.seen.high > largest);
    if (!layer.overflows)
      order.push_back(i);
  }
  if (order.empty())
    return fail(
        kAccuracy,
        option +
            format(": on this data every layer reads or gives numbers beyond %.6g, ",
                   largestOf(type)) +
            "which " + nameOf(goal.dtype) + " does not hold" +
            (goal.dtype == Precision::f16 ? "; take bf16, which has the range of f32" : "") +
            "; nothing is written");
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(layers[a].alone, a) < std::pair(layers[b].alone, b);
  });
  Choice narrow(layers.size());
  for (size_t layer : order)
    if (!isMissed) // what --quantize did is too much already
      narrow.set(layer);
  if (int code = compileAndMeasure(module, narrow))
    return code;
  if (error > goal.maxError && !isMissed)
    if (int code = search(module, narrow))
      return code;
  if (error > goal.maxError && !isMissed)
    if (int code = keepMore(module, narrow))
      return code;
  for (size_t i = 0; i < layers.size(); ++i)
    layers[i].runsNarrow = narrow.test(i);
  mark(module, narrow);
  return kOk;
}

} // namespace dlc
