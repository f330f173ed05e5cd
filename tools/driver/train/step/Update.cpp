//===- Update.cpp - How the weights change in a step --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/step/Update.h"

#include "ir/dl/DLOps.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/train/step/Optimizer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {

namespace {
class Update {
public:
  Update(const TrainingOptions &options, ArrayRef<Value> weights, Snippet &snippet,
         SmallVectorImpl<std::string> &names, bool givesWeights)
      : options(options), weights(weights), snippet(snippet), names(names),
        givesWeights(givesWeights) {}
  int make();

private:
  void addState(const std::string &name, const std::string &type, const std::string &ofStep);
  void addLine(std::string line) { snippet.statements.push_back(std::move(line)); }
  void unscale();
  void clip();
  void update(size_t index);
  void changeScale();
  /// Assigns a state its next value, unless the step is skipped.
  void assign(const std::string &state, const std::string &next) {
    addLine(options.scalesLoss ? llvm::formatv("{0} = where(is_finite, {1}, {0})", state, next)
                               : state + " = " + next);
  }

  const TrainingOptions &options;
  ArrayRef<Value> weights;
  Snippet &snippet;
  SmallVectorImpl<std::string> &names;
  const bool givesWeights;
  Optimizer optimizer;
};
} // namespace

void Update::addState(const std::string &name, const std::string &type, const std::string &ofStep) {
  snippet.states.push_back({name, type});
  names.push_back(ofStep);
}

/// Turns the gradients of the scaled loss into those of the loss.
void Update::unscale() {
  addState("exponent", "f32[]", kScaleExponent);
  addState("good_steps", "i64[]", "optimizer.good_steps");
  addState("skipped", "i64[]", kSkippedSteps);
  addLine("inverse = exp2(-16.0 - exponent)");
  std::string sums;
  for (size_t i = 0; i < weights.size(); ++i) {
    addLine(llvm::formatv("g{0} = g{0} * inverse", i));
    sums += llvm::formatv("{0}sum(to(isfinite(g{1}) == false, f32))", i ? " + " : "", i).str();
  }
  addLine("is_finite = " + sums + " == 0.0");
}

void Update::changeScale() {
  addLine("is_long = good_steps == 1999");
  addLine("exponent = exponent + where(is_finite, where(is_long, 1.0, 0.0), -1.0)");
  addLine("good_steps = where(is_finite, where(is_long, 0, good_steps + 1), 0)");
  addLine("skipped = skipped + where(is_finite, 0, 1)");
}

void Update::clip() {
  std::string squares;
  for (size_t i = 0; i < weights.size(); ++i) {
    std::string grad = "g" + std::to_string(i);
    if (auto most = options.clipValue)
      addLine(llvm::formatv("{0} = clamp({0}, -{1}, {1})", grad, numberText(*most)));
    squares += (i ? " + sum(" : "sum(") + grad + " * " + grad + ")";
  }
  if (auto most = options.clipNorm) {
    addLine(llvm::formatv("factor = minimum({0} / (sqrt({1}) + 1e-6), 1.0)", numberText(*most),
                          squares));
    for (size_t i = 0; i < weights.size(); ++i)
      addLine(llvm::formatv("g{0} = g{0} * factor", i));
  }
}

void Update::update(size_t index) {
  Value weight = weights[index];
  std::string number = std::to_string(index), param = "p" + number, type = dl::text(weight);
  std::string name = weight.getDefiningOp<dl::WeightOp>().getName().str();
  if (givesWeights)
    snippet.inputs.push_back({param, type});
  else
    addState(param, type, name);
  std::vector<std::string> held, next{"next_" + param};
  for (StringRef state : optimizer.statesOfWeight()) {
    held.push_back("s" + number + "_" + std::to_string(held.size()));
    next.push_back("next_" + held.back());
    addState(held.back(), type, name + "." + state.str());
  }
  addLine(llvm::join(next, ", ") + " = " + optimizer.call(param, "g" + number, held));
  if (givesWeights) {
    snippet.outputs.push_back({"new_" + param, type});
    addLine("new_" + param + " = " + next[0]);
  } else {
    assign(param, next[0]);
  }
  for (size_t i = 0; i < held.size(); ++i)
    assign(held[i], next[i + 1]);
}

int Update::make() {
  if (int code = optimizer.parse(options.optimizer))
    return code;
  if (!givesWeights) {
    snippet.outputs.push_back({"done", "f32[]"});
    addLine("done = full([], 0.0)");
  }
  for (auto [index, weight] : llvm::enumerate(weights))
    snippet.inputs.push_back({"g" + std::to_string(index), dl::text(weight)});
  if (options.scalesLoss)
    unscale();
  if (optimizer.countsSteps()) {
    addState("step", "i64[]", "optimizer.step");
    addLine("next_step = step + 1");
    assign("step", "next_step");
  }
  clip();
  for (size_t i = 0; i < weights.size(); ++i)
    update(i);
  if (options.scalesLoss)
    changeScale();
  return kOk;
}

int makeUpdate(const TrainingOptions &options, ArrayRef<Value> weights, Snippet &snippet,
               SmallVectorImpl<std::string> &names, bool givesWeights) {
  return Update(options, weights, snippet, names, givesWeights).make();
}

} // namespace dlc
