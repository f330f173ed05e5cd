//===- PrunedModel.cpp - A model whose weights change, and its files ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/prune/PrunedModel.h"

#include "frontend/Frontend.h"
#include "frontend/SiblingFile.h"
#include "frontend/dl/syntax/FileNames.h"
#include "ir/dl/DLOps.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/weights/WeightReader.h"

#include "llvm/Support/Path.h"

#include <cstring>

using namespace mlir;

namespace dlc {

/// What the weights of a copy name as their file.
static constexpr StringLiteral kHere = "pruned-model";

int PrunedModel::addFile(const std::string &path, llvm::Expected<WeightImage> image) {
  if (!image)
    return fail(kModelError, llvm::toString(image.takeError()));
  files.push_back({path, std::move(*image)});
  return kOk;
}

/// A .dl model: its own text, in which the weights files have other names.
int PrunedModel::readText(const PruneOptions &options) {
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
int PrunedModel::readOnnx(const PruneOptions &options) {
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

int PrunedModel::open(const PruneOptions &options) {
  ImportRequest request{options.input, {}, false, false, options.model};
  request.constInputs = options.constInputs;
  request.states = options.states;
  if (int code = importModel(request, model))
    return code;
  return isOnnx(options.input) ? readOnnx(options) : readText(options);
}

const PrunedModel::Place *PrunedModel::find(StringRef weight) const {
  auto found = places.find(weight);
  return found == places.end() ? nullptr : &found->second;
}

uint64_t PrunedModel::positionInFile(const Place &place, uint64_t position) {
  if (!place.isTransposed)
    return position;
  const auto columns = static_cast<uint64_t>(place.tensor->shape[0]), // of the op's weight
      rows = static_cast<uint64_t>(place.tensor->shape[1]);
  return position % columns * rows + position / columns;
}

WeightBlocks PrunedModel::blocksInFile(const Place &place, const PrunableWeight &weight) {
  WeightBlocks blocks = blocksOf(weight);
  for (uint64_t &position : blocks.positions)
    position = positionInFile(place, position);
  return blocks;
}

std::optional<SumRuns> PrunedModel::runsInFile(const Place &place, std::optional<SumRuns> runs) {
  if (!runs || !place.isTransposed)
    return runs;
  const auto columns = static_cast<uint64_t>(place.tensor->shape[0]), // of the op's weight
      rows = static_cast<uint64_t>(place.tensor->shape[1]);
  if (runs->length == rows && runs->stride == columns)
    return SumRuns{rows, 1};
  if (runs->length == columns && runs->stride == 1)
    return SumRuns{columns, rows};
  return std::nullopt;
}

StoredNumbers PrunedModel::numbersOf(const Place &place) {
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

void PrunedModel::readFromHere(ModuleOp copy) const {
  copy.walk([&](dl::WeightOp op) {
    if (!find(op.getName()))
      return;
    op.setFile(kHere);
    op.setOffset(-1);
    op.removeSourceAttr();
    op.setHash(""); // the numbers change
  });
}

std::vector<uint8_t> PrunedModel::bytesIn(const WeightImage &image, const Place &place) {
  ArrayRef<uint8_t> stored = image.bytesOf(*place.tensor);
  if (!place.isTransposed)
    return stored.vec();
  std::vector<uint8_t> bytes(stored.size());
  const uint64_t width = stored.size() / (place.tensor->shape[0] * place.tensor->shape[1]);
  for (uint64_t i = 0; i < stored.size() / width; ++i)
    std::memcpy(bytes.data() + i * width, stored.data() + positionInFile(place, i) * width, width);
  return bytes;
}

void PrunedModel::keepBefore() { filesBefore = files; }

FailureOr<std::vector<uint8_t>> PrunedModel::readNow(Operation *weight, StringRef file,
                                                     StringRef name) {
  if (file != kHere)
    return readPackedWeight(weight, file, name);
  const bool isBefore = name.consume_back(kBefore);
  const Place &place = *find(name);
  return isBefore ? bytesIn(filesBefore[place.file].image, place) : bytesNow(place);
}

int PrunedModel::write(const PruneOptions &options) {
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
  return writeNewFiles(all, options.force);
}

int PrunedModel::writeChanged(const PruneOptions &options,
                              const llvm::StringMap<std::vector<uint8_t>> &numbers,
                              ImportedText &written) {
  const std::string path = weightsBeside(options.output);
  if (!options.report.empty() && namesSameFile(options.report, path))
    return fail(kUsage, "--report names '" + options.report +
                            "', where the pruned weights go; name another file for the report");
  auto changed = [&](StringRef weight) -> const std::vector<uint8_t> * {
    auto found = numbers.find(weight);
    return found == numbers.end() ? nullptr : &found->second;
  };
  if (int code = textOf(model, options.output, path, written, changed))
    return code;
  std::vector<NewFile> all;
  if (!written.weights.empty())
    all.push_back({path, written.weightsFile});
  all.push_back({options.output, written.text});
  if (!options.report.empty())
    if (int code = checkOutput(options.report)) // all inputs are known now
      return code;
  return writeNewFiles(all, options.force);
}

} // namespace dlc
