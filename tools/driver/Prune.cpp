//===- Prune.cpp - dlc prune: the smallest weights become zero -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/Prune.h"

#include "frontend/SiblingFile.h"
#include "frontend/dl/FileNames.h"
#include "frontend/weights/InputFiles.h"
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"
#include "passes/compress/PrunableWeights.h"
#include "tools/driver/ImportAsText.h"
#include "tools/driver/Output.h"
#include "tools/driver/PruneReport.h"
#include "tools/driver/WeightImage.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace dlc {

namespace {

/// A weights file to be written.
struct File {
  std::string path;
  WeightImage image;
};

/// Where a dl.weight's numbers are.
struct Place {
  std::string path; // in the new model
  size_t file;
  const frontend::StoredTensor *tensor;
  bool isTransposed; // against the op
};

class Pruning {
public:
  explicit Pruning(const PruneOptions &options) : options(options) {}
  int run();

private:
  int checkOptions() const;
  int readText();
  int readOnnx();
  int addFile(const std::string &path, llvm::Expected<WeightImage> image);
  int findWeights(const LayerPatterns &skipped);
  int skip(const LayerPatterns &skipped);
  std::optional<SumRuns> runsOf(const PrunableWeight &weight, const Place &place) const;
  StoredNumbers numbersOf(const Place &place);
  int prune();
  int write();

  const PruneOptions &options;
  ImportedModel model;
  std::string text; // of the new model
  std::vector<File> files;
  llvm::StringMap<Place> places;       // by the name of a dl.weight
  std::vector<PrunableWeight> weights; // those with a place
  PruneReport report;                  // in the order of `weights`
};

} // namespace

int Pruning::checkOptions() const {
  if (options.pattern == "2:4" && options.sparsity.value_or(0.5) != 0.5)
    return fail(kUsage, "--pattern 2:4 makes two of each four weights zero, which is --sparsity "
                        "0.5; leave --sparsity out");
  if (options.pattern != "2:4" && !options.sparsity)
    return fail(kUsage,
                "--pattern " + options.pattern +
                    " needs --sparsity, the share of the weights to make zero, such as 0.5");
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

int Pruning::addFile(const std::string &path, llvm::Expected<WeightImage> image) {
  if (!image)
    return fail(kModelError, llvm::toString(image.takeError()));
  files.push_back({path, std::move(*image)});
  return kOk;
}

/// A .dl model: its own text, in which the weights files have other names.
int Pruning::readText() {
  auto source = readSource(options.input, {});
  if (!source)
    return fail(kModelError, llvm::toString(source.takeError()));
  std::string before = (*source)->getBuffer().str();
  auto named = fileNamesOf(std::move(*source), *model.context);
  if (!named)
    return kModelError;
  if (StringRef folder = llvm::sys::path::parent_path(options.input);
      named->hasIncludes && folder != llvm::sys::path::parent_path(options.output))
    return fail(kUsage,
                "'" + options.input +
                    "' includes files of its folder; write the pruned model there too: -o " +
                    (folder.empty() ? "" : folder.str() + "/") +
                    llvm::sys::path::filename(options.output).str());
  llvm::StringMap<std::string> renamed; // names in the text, of which several may be one
  for (const FileName &file : named->weights)
    renamed[file.name];
  llvm::StringMap<size_t> byPath; // of the files that were read
  for (const FileName &file : named->weights) {
    std::string &name = renamed[file.name];
    if (!name.empty())
      continue;
    auto input = siblingFile(options.input, "weights", file.name, "");
    if (!input)
      return fail(kModelError, llvm::toString(input.takeError()));
    byPath[*input] = files.size();
    const std::string number = "-" + std::to_string(files.size() + 1);
    std::string path = weightsBeside(options.output, renamed.size() > 1 ? number : "");
    name = llvm::sys::path::filename(path).str();
    if (int code = addFile(path, WeightImage::of(StringRef(*input))))
      return code;
  }
  text = withWeightFiles(before, *named, renamed);
  model.module->walk([&](dl::WeightOp op) {
    size_t file = byPath.at(op.getFile().value_or(""));
    StringRef name = op.getSource().value_or(op.getName());
    places[op.getName()] = {op.getName().str(), file, files[file].image.find(name), false};
  });
  return kOk;
}

/// An ONNX model: what dlc import writes.
int Pruning::readOnnx() {
  const std::string path = weightsBeside(options.output);
  ImportedText imported;
  if (int code = textOf(model, options.output, path, imported))
    return code;
  text = std::move(imported.text);
  if (imported.weights.empty())
    return kOk;
  if (int code = addFile(path, WeightImage::of(std::move(imported.weightsFile), path)))
    return code;
  for (const onnx::NamedWeight &weight : imported.weights)
    places[cast<dl::WeightOp>(weight.weight).getName()] = {
        weight.path, 0, files.front().image.find(weight.path), weight.isTransposed};
  return kOk;
}

/// Looks for the weights in a copy of the module, in which only plain products are left.
int Pruning::findWeights(const LayerPatterns &skipped) {
  OwningOpRef<ModuleOp> copy = model.module->clone();
  PassManager manager(model.context.get(), ModuleOp::getOperationName());
  manager.addNestedPass<func::FuncOp>(createDecomposeOps());
  if (failed(manager.run(*copy)))
    return kModelError;
  for (PrunableWeight &weight : findPrunableWeights(*copy, skipped))
    if (places.contains(weight.name))
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
    names.push_back(StringRef(places[weight.name].path).rsplit('.').first.str());
  for (PrunableWeight &weight : weights) {
    const std::string &path = names.emplace_back(places[weight.name].path);
    StringRef layer = StringRef(path).rsplit('.').first;
    if (weight.whyKept.empty() && (skipped.matches(path) || skipped.matches(layer)))
      weight.whyKept = "named by --skip";
  }
  std::string unmatched = skipped.unmatchedIn(*model.module, names);
  return unmatched.empty() ? static_cast<int>(kOk) : fail(kUsage, "--skip: " + unmatched);
}

/// As the file holds the weight.
std::optional<SumRuns> Pruning::runsOf(const PrunableWeight &weight, const Place &place) const {
  if (!weight.runs || !place.isTransposed)
    return weight.runs;
  const auto columns = static_cast<uint64_t>(place.tensor->shape[0]), // of the op's weight
      rows = static_cast<uint64_t>(place.tensor->shape[1]);
  if (weight.runs->length == rows && weight.runs->stride == columns)
    return SumRuns{rows, 1};
  if (weight.runs->length == columns && weight.runs->stride == 1)
    return SumRuns{columns, rows};
  return std::nullopt;
}

StoredNumbers Pruning::numbersOf(const Place &place) {
  FloatStorage type = FloatStorage::f32;
  switch (place.tensor->type) {
  case frontend::ElementType::f16:
    type = FloatStorage::f16;
    break;
  case frontend::ElementType::bf16:
    type = FloatStorage::bf16;
    break;
  case frontend::ElementType::f64:
    type = FloatStorage::f64;
    break;
  default:
    break;
  }
  return {type, files[place.file].image.bytesOf(*place.tensor)};
}

int Pruning::prune() {
  std::vector<StoredNumbers> chosen;
  std::vector<size_t> indices; // of the chosen ones
  std::vector<ZeroMask> masks(weights.size());
  std::string reasons;
  for (auto [i, weight] : llvm::enumerate(weights)) {
    const Place &place = places[weight.name];
    auto runs = runsOf(weight, place);
    if (options.pattern == "2:4" && weight.whyKept.empty()) {
      if (!runs)
        weight.whyKept = "its sums read it in no regular runs";
      else if (runs->length % 4 != 0)
        weight.whyKept = "sums over " + std::to_string(runs->length) + ", no multiple of 4";
    }
    report.weights.push_back({place.path, place.tensor, {}, weight.whyKept});
    if (!weight.whyKept.empty()) {
      reasons += (reasons.empty() ? "" : ", ") + place.path + " (" + weight.whyKept + ")";
      continue;
    }
    chosen.push_back(numbersOf(place));
    indices.push_back(i);
    if (options.pattern == "2:4")
      masks[i] = smallestTwoOfFour(chosen.back(), *runs);
    else if (options.pattern == "layer")
      masks[i] = std::move(smallestNumbers(chosen.back(), *options.sparsity).front());
  }
  if (chosen.empty())
    return fail(kModelError, "no weight of '" + options.input + "' can be pruned: " + reasons);
  if (options.pattern == "global")
    for (auto [i, mask] : llvm::zip_equal(indices, smallestNumbers(chosen, *options.sparsity)))
      masks[i] = std::move(mask);
  for (auto [weight, mask, pruned] : llvm::zip_equal(weights, masks, report.weights)) {
    pruned.effect = makeZero(numbersOf(places[weight.name]), mask);
    if (pruned.effect.zerosAfter == pruned.effect.numbers && pruned.effect.removedSquares > 0)
      complain("warning: nothing is left of " + pruned.path +
               "; keep it by --skip, or prune each weight alike by --pattern layer");
  }
  return kOk;
}

int Pruning::write() {
  std::vector<NewFile> all;
  for (const File &file : files) {
    if (!options.report.empty() && namesSameFile(options.report, file.path))
      return fail(kUsage, "--report names '" + options.report +
                              "', where the pruned weights go; name another file for the report");
    all.push_back({file.path, file.image.bytes()});
  }
  all.push_back({options.output, text});
  if (!options.report.empty())
    if (int code = checkOutput(options.report)) // all inputs are known now
      return code;
  if (int code = writeNewFiles(all, options.force))
    return code;
  if (!options.report.empty())
    if (int code = writeFile(options.report, jsonOf(report, options)))
      return code;
  return options.quiet ? static_cast<int>(kOk) : finishOutput(tableOf(report));
}

int Pruning::run() {
  if (int code = checkOptions())
    return code;
  auto skipped = LayerPatterns::create(options.skip);
  if (!skipped)
    return fail(kUsage, "--skip: " + llvm::toString(skipped.takeError()));
  ImportRequest request{options.input, {}, false, false, options.model};
  request.constInputs = options.constInputs;
  request.states = options.states;
  if (int code = importModel(request, model))
    return code;
  if (int code = isOnnx(options.input) ? readOnnx() : readText())
    return code;
  if (int code = findWeights(*skipped))
    return code;
  if (int code = prune())
    return code;
  return write();
}

int pruneModel(const PruneOptions &options) { return Pruning(options).run(); }

} // namespace dlc
