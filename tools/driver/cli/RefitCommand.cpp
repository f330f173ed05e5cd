//===- RefitCommand.cpp - dlc refit: new weights in a compiled model ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights lie in the package as their files store them; what the model makes of them (folding,
// packing, transposing) is its init program, which runs at load. So new bytes and new hashes are
// all that is needed, and the file is the one that a compile with the new weights would have
// written.
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/InputFiles.h"
#include "frontend/arrays/ShardedWeights.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/core/package/Hash.h"
#include "runtime/schema/ModuleHeader.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/run/Package.h"

#include "llvm/Support/MathExtras.h"

#include <CLI/CLI.hpp>

#include <cstring>
#include <map>
#include <memory>
#include <set>

using namespace dlc::frontend;

namespace {
struct RefitOptions {
  std::string model, output;
  std::vector<std::string> weights;
  bool quiet = false;
};
} // namespace

static constexpr const char *kExamples =
    R"(Names, shapes and dtypes must be the same as in the files that the model was
compiled with.

Examples:
  dlc refit model.bin --weights trained.safetensors
  dlc refit model.bin --weights trained.safetensors -o next.bin
  dlc refit model.bin --weights part1.npz --weights part2.npz)";

namespace dlc {
namespace {

/// A tensor that replaces a weight.
struct Source {
  const WeightFile *file;
  const StoredTensor *tensor;
};

class Refit {
public:
  explicit Refit(const RefitOptions &options) : options(options) {}
  int run();

private:
  int openFiles();
  void find(const schema::Weight &weight);
  int replace(const schema::Weight &weight);
  void rehash();
  std::string unusedNames() const;
  const std::string &outputPath() const {
    return options.output.empty() ? options.model : options.output;
  }

  const RefitOptions &options;
  std::shared_ptr<rt::Module> module;
  std::vector<WeightFile> files;
  std::string fileNames;
  std::map<std::string, Source> tensors; // by name
  std::set<std::string> used;
  std::vector<std::string> problems;
  std::set<uint64_t> placed; // offsets at which new bytes stand
  std::string bytes;
};

} // namespace

/// The weight's name in the file that it came from.
static std::string sourceOf(const schema::Weight &weight) {
  return weight.source() ? weight.source()->str() : weight.name()->str();
}

static std::string describe(const schema::Weight &weight) {
  std::string out = std::string(rt::nameOf(weight.dtype())) + "[";
  for (size_t i = 0; weight.dims() && i < weight.dims()->size(); ++i)
    out += (i ? "," : "") + std::to_string(weight.dims()->Get(i));
  return out + "]";
}

int Refit::openFiles() {
  for (const std::string &path : options.weights) {
    auto opened = openWeights(path);
    if (!opened) {
      std::string why = llvm::toString(opened.takeError());
      return fail(why.starts_with("cannot read") ? kDevice : kModelError, why);
    }
    fileNames += (fileNames.empty() ? "" : ", ") + rt::quoted(path);
    for (WeightFile &file : *opened)
      files.push_back(std::move(file));
  }
  for (const WeightFile &file : files)
    for (const StoredTensor &tensor : file.tensors())
      if (!tensors.try_emplace(tensor.name, Source{&file, &tensor}).second)
        problems.push_back(rt::quoted(tensor.name) + " is in two of the files " + fileNames +
                           "; expected it in one");
  return kOk;
}

void Refit::find(const schema::Weight &weight) {
  std::string source = sourceOf(weight), what = "weight " + rt::quoted(weight.name()->str());
  if (source != weight.name()->str())
    what += " (" + rt::quoted(source) + " in its file)";
  auto found = tensors.find(source);
  if (found == tensors.end()) {
    problems.push_back(what + " " + describe(weight) + " is not in " + fileNames);
    return;
  }
  used.insert(source);
  const StoredTensor &tensor = *found->second.tensor;
  std::string expected = describe(weight), got = describe(tensor.type, tensor.shape);
  if (expected != got)
    problems.push_back(what + " is " + got + " in " + rt::quoted(found->second.file->path()) +
                       "; the model was compiled for " + expected);
}

int Refit::replace(const schema::Weight &weight) {
  const Source &source = tensors.at(sourceOf(weight));
  auto data = source.file->data(*source.tensor);
  if (!data)
    return fail(kModelError, llvm::toString(data.takeError()));
  const schema::Segment &segment = *weight.data();
  uint64_t offset = segment.offset();
  // Weights of equal bytes share them; one that is another now gets a place of its own.
  if (!placed.insert(offset).second && segment.bytes() > 0 &&
      std::memcmp(bytes.data() + offset, data->bytes.data(), segment.bytes()) != 0) {
    offset = llvm::alignTo(bytes.size(), schema::kSegmentAlignment);
    bytes.resize(offset + segment.bytes());
  }
  if (segment.bytes() > 0)
    std::memcpy(bytes.data() + offset, data->bytes.data(), segment.bytes());
  if (uint64_t count = countNaN(source.tensor->type, data->bytes))
    complain("warning: weight " + rt::quoted(weight.name()->str()) + " holds " +
             std::to_string(count) + (count == 1 ? " NaN" : " NaNs") + " among its " +
             std::to_string(segment.bytes() / sizeOf(source.tensor->type)) + " numbers in " +
             rt::quoted(source.file->path()));
  rt::Hash128 hash = rt::hashBytes(data->bytes.data(), data->bytes.size());
  schema::Segment changed(offset, segment.bytes(), hash.low, hash.high);
  // The same place of the copy.
  const auto *begin = module->bytes(schema::Segment(0, 0, 0, 0));
  std::memcpy(bytes.data() + (reinterpret_cast<const uint8_t *>(&segment) - begin), &changed,
              sizeof(changed));
  return kOk;
}

void Refit::rehash() {
  schema::ModuleHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.fileBytes = bytes.size();
  rt::Hash128 table = rt::hashBytes(bytes.data() + schema::kTableOffset, header.tableBytes);
  header.tableHash[0] = table.low;
  header.tableHash[1] = table.high;
  rt::Hash128 own = rt::hashBytes(&header, offsetof(schema::ModuleHeader, headerHash));
  header.headerHash[0] = own.low;
  header.headerHash[1] = own.high;
  std::memcpy(bytes.data(), &header, sizeof(header));
}

std::string Refit::unusedNames() const {
  constexpr size_t kMaxShown = 10;
  std::string names;
  size_t count = 0;
  for (const auto &[name, source] : tensors)
    if (!used.contains(name) && ++count <= kMaxShown)
      names += (names.empty() ? "" : ", ") + rt::quoted(name);
  if (count > kMaxShown)
    names += " and " + std::to_string(count - kMaxShown) + " others";
  return names;
}

int Refit::run() {
  int code = kOk;
  if (!(module = openPackage(options.model, code)))
    return code;
  frontend::changeInPlace(options.model);
  std::vector<const schema::Weight *> weights;
  std::set<std::string> names; // segments of a model may share a weight
  for (const rt::Module *part : partsOf(*module)) {
    if (const auto *list = part->table().weights())
      for (const schema::Weight *weight : *list) {
        weights.push_back(weight);
        names.insert(weight->name()->str());
      }
    if (const auto *command = part->table().fitted_by())
      return fail(kUnsupported, rt::quoted(options.model) +
                                    " holds weights in few bits, or without their blocks of "
                                    "zeros, as they were when it was compiled; make it anew from "
                                    "the new weights: " +
                                    command->str());
  }
  if (weights.empty())
    return fail(kUsage, "the model " + rt::quoted(options.model) + " has no weights to replace");
  if (int failed = openFiles())
    return failed;
  if (int failed = checkOutput(outputPath()))
    return failed;
  for (const schema::Weight *weight : weights)
    find(*weight);
  std::string unused = unusedNames();
  if (!problems.empty()) {
    std::set<std::string> told; // each once, also of a weight that several segments have
    for (const std::string &problem : problems)
      if (told.insert(problem).second)
        complain("error: " + problem);
    if (!unused.empty())
      complain("note: the model does not use " + unused);
    complain("note: " + rt::quoted(outputPath()) +
             " is left as it was; for weights of other names, shapes or dtypes compile the model "
             "again");
    return kModelError;
  }
  const uint8_t *begin = module->bytes(schema::Segment(0, 0, 0, 0));
  bytes.assign(reinterpret_cast<const char *>(begin), module->fileBytes());
  for (const schema::Weight *weight : weights)
    if (int failed = replace(*weight))
      return failed;
  rehash();
  if (int failed = writeFile(outputPath(), bytes))
    return failed;
  if (!options.quiet) {
    if (!unused.empty())
      complain("note: the model does not use " + unused);
    complain(outputPath() + ": " + std::to_string(names.size()) + " weights replaced");
  }
  return kOk;
}

} // namespace dlc

void dlc::addRefitCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<RefitOptions>();
  CLI::App *command =
      app.add_subcommand("refit", "Replace the weights of a compiled model, without compiling it");
  setExamples(*command, kExamples);
  command->add_option("model", options->model, "The compiled model, model.bin")->required();

  const char *group = "Input and output";
  setHelp(command->add_option("--weights", options->weights, "The new weights")
              ->required()
              ->allow_extra_args(false),
          group, "FILE", R"(A safetensors or npz file.)");
  setHelp(command->add_option("-o,--output", options->output,
                              "File to write; '-' is stdout [the model itself]"),
          group, "FILE");
  setHelp(command->add_flag("-q,--quiet", options->quiet, "Print nothing on success"), group, "");
  command->callback([&action, options] { action = [options] { return Refit(*options).run(); }; });
}
