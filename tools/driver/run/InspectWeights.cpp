//===- InspectWeights.cpp - What is in a file of weights ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/InspectWeights.h"

#include "frontend/arrays/WeightFile.h"
#include "runtime/core/Text.h"
#include "tools/driver/base/Json.h"
#include "tools/driver/base/Output.h"

#include <map>

using namespace dlc::frontend;

namespace dlc {

bool isWeightFile(const std::string &path) {
  return path.ends_with(".safetensors") || path.ends_with(".npz");
}

namespace {
struct Totals {
  uint64_t tensors = 0, elements = 0, bytes = 0;
};
} // namespace

static std::string describeText(const WeightFile &file, const Totals &all,
                                const std::map<std::string, Totals> &byType) {
  std::string out = "Weights " + rt::quoted(file.path()) + "\n";
  size_t width = 0;
  for (const StoredTensor &tensor : file.tensors())
    width = std::max(width, std::min<size_t>(tensor.name.size() + 2, 60));
  for (const StoredTensor &tensor : file.tensors()) {
    std::string name = rt::quoted(tensor.name);
    name.resize(std::max(name.size(), width), ' ');
    out += "  " + name + "  " + describe(tensor.type, tensor.shape) + "  " +
           rt::byteCount(tensor.bytes) + "\n";
  }
  out += "Totals\n  " + std::to_string(all.tensors) + " tensors, " + std::to_string(all.elements) +
         " numbers, " + rt::byteCount(all.bytes) + "\n";
  for (const auto &[type, totals] : byType)
    out += "  " + type + ": " + std::to_string(totals.tensors) + " tensors, " +
           std::to_string(totals.elements) + " numbers, " + rt::byteCount(totals.bytes) + "\n";
  return out;
}

static std::string describeJson(const WeightFile &file, const Totals &all) {
  Json json;
  json.beginObject().string("file", file.path()).beginArray("tensors");
  for (const StoredTensor &tensor : file.tensors()) {
    json.beginObject().string("name", tensor.name).string("dtype", nameOf(tensor.type).str());
    json.beginArray("shape");
    for (int64_t dim : tensor.shape)
      json.integer({}, dim);
    json.endArray().integer("bytes", static_cast<int64_t>(tensor.bytes)).endObject();
  }
  return json.endArray()
      .integer("numbers", static_cast<int64_t>(all.elements))
      .integer("bytes", static_cast<int64_t>(all.bytes))
      .endObject()
      .take();
}

int inspectWeights(const std::string &path, bool json) {
  auto file = WeightFile::open(path);
  if (!file) {
    std::string why = llvm::toString(file.takeError());
    return fail(why.starts_with("cannot read") ? kDevice : kIncompatible, why);
  }
  Totals all;
  std::map<std::string, Totals> byType;
  for (const StoredTensor &tensor : file->tensors())
    for (Totals *totals : {&all, &byType[nameOf(tensor.type).str()]}) {
      ++totals->tensors;
      totals->elements += tensor.bytes / sizeOf(tensor.type);
      totals->bytes += tensor.bytes;
    }
  return finishOutput(json ? describeJson(*file, all) : describeText(*file, all, byType));
}

} // namespace dlc
