//===- ShardedWeights.cpp - Weights that several files hold together ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/ShardedWeights.h"

#include "frontend/SiblingFile.h"
#include "frontend/Spelling.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace dlc::frontend {

/// LLVM's reader goes into each bracket by a call: files of strangers may not nest deeply.
static bool isShallow(StringRef json) {
  constexpr unsigned kMostNested = 16;
  unsigned depth = 0;
  bool isInString = false;
  for (size_t at = 0; at < json.size(); ++at) {
    char c = json[at];
    if (isInString)
      c == '\\' ? ++at : isInString = c != '"';
    else if (c == '"')
      isInString = true;
    else if ((c == '{' || c == '[') && ++depth > kMostNested)
      return false;
    else if (c == '}' || c == ']')
      depth -= depth > 0;
  }
  return true;
}

namespace {
/// The names of the tensors by the file that holds them.
using Shards = MapVector<std::string, std::vector<std::string>, std::map<std::string, unsigned>>;
} // namespace

static Expected<Shards> readIndex(StringRef path) {
  auto fail = [&](const Twine &what) {
    return createStringError(quote(path) + " " + what +
                             "; expected the index of a sharded checkpoint, as in {\"weight_map\": "
                             "{\"fc.weight\": \"model-00001-of-00002.safetensors\"}}");
  };
  auto buffer = mapFile(path);
  if (!buffer)
    return buffer.takeError();
  StringRef text = (*buffer)->getBuffer();
  if (text.size() > SafetensorsFile::kMaxHeaderBytes || !isShallow(text))
    return fail("is larger or nests deeper than any index");
  auto value = json::parse(text);
  if (!value)
    return fail("is no JSON: " + toString(value.takeError()));
  const json::Object *root = value->getAsObject();
  const json::Object *map = root ? root->getObject("weight_map") : nullptr;
  if (!map || map->empty())
    return fail("has no weight_map");
  std::map<std::string, std::string> files; // by tensor: a JSON object has no order
  for (const auto &[name, file] : *map) {
    auto shard = file.getAsString();
    if (!shard)
      return fail("names no file for " + quote(name));
    files.emplace(StringRef(name).str(), shard->str());
  }
  Shards shards;
  for (const auto &[name, file] : files)
    shards[file].push_back(name);
  llvm::sort(shards, llvm::less_first());
  return shards;
}

Expected<std::vector<WeightFile>> openWeights(StringRef path) {
  std::vector<WeightFile> files;
  if (!path.ends_with(".index.json")) {
    auto file = WeightFile::open(path);
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
    return std::move(files);
  }
  auto shards = readIndex(path);
  if (!shards)
    return shards.takeError();
  for (const auto &[name, tensors] : *shards) {
    auto shard = siblingFile(path, path, name, "put the files of a checkpoint into one folder");
    if (!shard)
      return shard.takeError();
    auto file = WeightFile::open(*shard);
    if (!file)
      return file.takeError();
    for (const std::string &tensor : tensors)
      if (!file->find(tensor))
        return createStringError(quote(path) + " says that " + quote(*shard) + " holds " +
                                 quote(tensor) +
                                 ", which it does not; the two are not of one "
                                 "checkpoint");
    files.push_back(std::move(*file));
  }
  return std::move(files);
}

} // namespace dlc::frontend
