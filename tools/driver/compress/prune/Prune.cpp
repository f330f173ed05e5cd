//===- Prune.cpp - dlc prune: the smallest weights become zero ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/prune/Prune.h"

#include "frontend/Frontend.h"
#include "frontend/arrays/InputFiles.h"
#include "passes/Passes.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/compress/prune/CalibratedPruning.h"
#include "tools/driver/compress/prune/PruneChannels.h"
#include "tools/driver/compress/prune/PruneLowRank.h"
#include "tools/driver/compress/prune/PruneReport.h"
#include "tools/driver/compress/prune/PrunedModel.h"
#include "tools/driver/compress/prune/ReorderChannels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {

namespace {

class Pruning {
public:
  explicit Pruning(const PruneOptions &given) : options(given) {}
  int run();

private:
  int checkOptions() const;
  int chooseMethod();
  int findWeights(const LayerPatterns &skipped);
  int skip(const LayerPatterns &skipped);
  std::string whyUnfit(const PrunableWeight &weight) const;
  int choose();
  void pruneByMagnitude();
  int prune();
  bool isCalibrated() const { return options.method == "wanda" || options.method == "sparsegpt"; }

  PruneOptions options;
  PrunedModel model;
  OwningOpRef<ModuleOp> plain;         // a copy of the module in which only plain products are left
  std::vector<PrunableWeight> weights; // those with a place
  std::vector<ChosenWeight> chosen;    // those of them that are pruned
  PruneReport report;                  // in the order of `weights`
};

} // namespace

/// The methods of a pattern, the one first that it takes without data and then the one with data.
static SmallVector<StringRef> methodsOf(StringRef pattern) {
  if (pattern == "channels")
    return {"l2", "obs", "l1"};
  if (pattern == "low-rank")
    return {"svd"};
  if (pattern == "global")
    return {"magnitude", "wanda"};
  return {"magnitude", "sparsegpt", "wanda"};
}

static bool needsData(StringRef method) {
  return method == "wanda" || method == "sparsegpt" || method == "obs";
}

int Pruning::chooseMethod() {
  const bool hasData = !options.calibration.data.empty();
  SmallVector<StringRef> methods = methodsOf(options.pattern);
  if (options.method.empty())
    options.method = methods[hasData && methods.size() > 1].str();
  if (!llvm::is_contained(methods, options.method))
    return fail(kUsage, "--method " + options.method + " does not go with --pattern " +
                            options.pattern + "; expected one of " + llvm::join(methods, ", "));
  if (needsData(options.method) && !hasData)
    return fail(kUsage, "--method " + options.method +
                            " needs to see what the layers read; add --calib FILE.npz, an array by "
                            "the name of each input, one row a sample, some hundred rows");
  if (options.allocation != "uniform" && options.method != "sparsegpt")
    return fail(kUsage, "--allocation " + options.allocation +
                            " measures what zeros change of a layer's output; expected --method "
                            "sparsegpt with it, which is the default with --calib FILE.npz");
  if (options.steps != 1 && options.method != "sparsegpt")
    return fail(kUsage, "--steps lets the weights that are left take over between two masks; "
                        "expected --method sparsegpt with it, which is the default with --calib "
                        "FILE.npz");
  if (hasData && options.method == "magnitude")
    return fail(kUsage, "--method magnitude looks at the weights alone; leave --calib out, or "
                        "give --method " +
                            methods[1].str());
  return kOk;
}

int Pruning::checkOptions() const {
  if (options.pattern == "2:4" && options.sparsity.value_or(0.5) != 0.5)
    return fail(kUsage, "--pattern 2:4 makes two of each four weights zero, which is --sparsity "
                        "0.5; leave --sparsity out");
  const bool isSmaller = options.pattern == "channels" || options.pattern == "low-rank";
  if (isSmaller && !options.sparsity)
    return fail(kUsage, "--pattern " + options.pattern +
                            " needs --sparsity, the share of the multiplications to "
                            "take away, such as 0.3");
  if (options.pattern != "2:4" && !options.sparsity)
    return fail(kUsage,
                "--pattern " + options.pattern +
                    " needs --sparsity, the share of the weights to make zero, such as 0.5");
  if (options.pattern != "2:4" && options.permute)
    return fail(kUsage, "--permute gives channels an order for two zeros of each four; expected "
                        "--pattern 2:4 with it");
  const bool isEven = options.pattern == "layer" || options.pattern == "block";
  if (!isEven && options.allocation != "uniform")
    return fail(kUsage, "--allocation divides the zeros among layers that could all have the same "
                        "share; expected --pattern layer or block with it");
  if (!isEven && options.steps != 1)
    return fail(kUsage, "--steps raises the share of zeros of each layer step by step; expected "
                        "--pattern layer or block with it");
  if (options.pattern != "channels" && options.channelMultiple != 1)
    return fail(kUsage, "--multiple counts channels; expected --pattern channels");
  if (int code = checkTextName(options.output))
    return code;
  if (int code = checkStates(options.input, options.states))
    return code;
  if (!options.constInputs.empty() && !isOnnx(options.input))
    return fail(kUsage, "--const-input belongs to an ONNX model; '" + options.input + "' is none");
  frontend::noteInputFile(options.input);
  if (int code = checkNew(options.output, options.force))
    return code;
  if (options.report.empty())
    return kOk;
  if (namesSameFile(options.report, options.output))
    return fail(kUsage, "--report and -o name one file, '" + options.output +
                            "'; name another for the report");
  return checkOutput(options.report);
}

/// Looks for the weights in a copy of the module, in which only plain products are left.
int Pruning::findWeights(const LayerPatterns &skipped) {
  plain = model.module().clone();
  PassManager manager(plain->getContext(), ModuleOp::getOperationName());
  manager.addNestedPass<func::FuncOp>(createDecomposeOps());
  if (failed(manager.run(*plain)))
    return kModelError;
  for (PrunableWeight &weight : findPrunableWeights(*plain, skipped))
    if (model.find(weight.name))
      weights.push_back(std::move(weight));
  if (weights.empty())
    return fail(kModelError, "'" + options.input +
                                 "' has no weight that a matrix product or a convolution "
                                 "multiplies with; there is nothing to prune");
  return skip(skipped);
}

/// Keeps what --skip names by the paths that the table shows, too: those of an ONNX model's nodes
/// are other ones.
int Pruning::skip(const LayerPatterns &skipped) {
  std::vector<std::string> names; // layers first: a message lists some
  for (const PrunableWeight &weight : weights)
    names.push_back(StringRef(model.find(weight.name)->path).rsplit('.').first.str());
  for (PrunableWeight &weight : weights) {
    const std::string &path = names.emplace_back(model.find(weight.name)->path);
    StringRef layer = StringRef(path).rsplit('.').first;
    if (!skipped.matches(path) && !skipped.matches(layer))
      continue;
    weight.isSkipped = true;
    if (weight.whyKept.empty())
      weight.whyKept = "named by --skip";
  }
  std::string unmatched = skipped.unmatchedIn(model.module(), names);
  return unmatched.empty() ? static_cast<int>(kOk) : fail(kUsage, "--skip: " + unmatched);
}

/// Why the pattern or the method cannot take the weight; empty where they can.
std::string Pruning::whyUnfit(const PrunableWeight &weight) const {
  const bool isGrouped = options.pattern == "2:4";
  if (isGrouped) {
    auto runs = PrunedModel::runsInFile(*model.find(weight.name), weight.runs);
    if (!runs)
      return "its sums read it in no regular runs";
    if (runs->length % 4 != 0)
      return "sums over " + std::to_string(runs->length) + ", no multiple of 4";
  }
  if (options.pattern == "block" && weight.readings.empty())
    return "a product reads it in no plain matrix";
  return isCalibrated() ? whyNotCalibrated(weight, isGrouped) : "";
}

/// The weights that become sparser; each has its line of the report.
int Pruning::choose() {
  std::string reasons;
  for (PrunableWeight &weight : weights) {
    const PrunedModel::Place &place = *model.find(weight.name);
    if (weight.whyKept.empty())
      weight.whyKept = whyUnfit(weight);
    report.weights.push_back({place.path, place.tensor, {}, weight.whyKept});
    if (!weight.whyKept.empty())
      reasons += (reasons.empty() ? "" : ", ") + place.path + " (" + weight.whyKept + ")";
  }
  for (auto [weight, line] : llvm::zip_equal(weights, report.weights)) {
    const PrunedModel::Place &place = *model.find(weight.name);
    if (weight.whyKept.empty())
      chosen.push_back({&weight, &place, &line});
    else
      line.effect = makeZero(model.numbersOf(place), {});
  }
  return chosen.empty()
             ? fail(kModelError, "no weight of '" + options.input + "' can be pruned: " + reasons)
             : static_cast<int>(kOk);
}

void Pruning::pruneByMagnitude() {
  std::vector<StoredNumbers> numbers;
  for (const ChosenWeight &weight : chosen)
    numbers.push_back(model.numbersOf(*weight.place));
  std::vector<ZeroMask> masks;
  if (options.pattern == "global")
    masks = smallestNumbers(numbers, *options.sparsity);
  for (auto [i, weight] : llvm::enumerate(chosen)) {
    if (options.pattern == "2:4")
      masks.push_back(smallestTwoOfFour(
          numbers[i], *PrunedModel::runsInFile(*weight.place, weight.weight->runs)));
    else if (options.pattern == "block")
      masks.push_back(smallestBlocks(
          numbers[i], PrunedModel::blocksInFile(*weight.place, *weight.weight), *options.sparsity));
    else if (options.pattern == "layer")
      masks.push_back(std::move(smallestNumbers(numbers[i], *options.sparsity).front()));
    weight.report->effect = makeZero(numbers[i], masks[i]);
  }
}

int Pruning::prune() {
  if (int code = choose())
    return code;
  if (options.permute)
    if (int code =
            reorderChannels(model, *plain, weights, chosen, options, report.reordering.emplace()))
      return code;
  if (!isCalibrated())
    pruneByMagnitude();
  else if (int code = pruneCalibrated(model, *plain, chosen, options))
    return code;
  for (const PrunedWeight &pruned : report.weights)
    if (pruned.effect.zerosAfter == pruned.effect.numbers && pruned.effect.removedSquares > 0)
      complain("warning: nothing is left of " + pruned.path +
               "; keep it by --skip, or prune each weight alike by --pattern layer");
  return kOk;
}

int Pruning::run() {
  if (int code = checkOptions())
    return code;
  if (int code = chooseMethod())
    return code;
  auto skipped = LayerPatterns::create(options.skip);
  if (!skipped)
    return fail(kUsage, "--skip: " + llvm::toString(skipped.takeError()));
  if (int code = model.open(options))
    return code;
  if (int code = findWeights(*skipped))
    return code;
  if (options.pattern == "channels")
    return pruneChannels(model, *plain, weights, options);
  if (options.pattern == "low-rank")
    return pruneLowRank(model, *plain, weights, options);
  if (int code = prune())
    return code;
  if (int code = model.write(options))
    return code;
  return finishReport(report, options);
}

int pruneModel(const PruneOptions &options) { return Pruning(options).run(); }

} // namespace dlc
