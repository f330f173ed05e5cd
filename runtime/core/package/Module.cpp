//===- Module.cpp - A loaded and verified model.bin ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/package/Module.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/core/package/Hash.h"
#include "runtime/core/package/Header.h"
#include "runtime/core/package/ModuleVerifier.h"
#include "runtime/schema/ModuleHeader.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

using namespace dlc;
using namespace dlc::rt;

/// Segments up to this size are hashed at each load.
static constexpr uint64_t kHashedAtLoad = uint64_t(64) << 20;

Expected<std::shared_ptr<Module>> Module::load(const char *path, bool verifyAll) {
  std::string prefix = text(quoted(path), ": ");
  Expected<FileBytes> file = FileBytes::map(path);
  if (file.failed())
    return file.status().within(prefix);
  Expected<std::shared_ptr<Module>> module = open(file.take(), verifyAll);
  return module.failed() ? module.status().within(prefix) : module;
}

Expected<std::shared_ptr<Module>> Module::loadMemory(const void *data, size_t bytes,
                                                     bool verifyAll) {
  Expected<FileBytes> file = FileBytes::copy(data, bytes);
  if (file.failed())
    return file.status();
  return open(file.take(), verifyAll);
}

Expected<std::shared_ptr<Module>> Module::open(FileBytes file, bool verifyAll) {
  std::shared_ptr<Module> module(new Module(std::make_shared<const FileBytes>(std::move(file))));
  DLC_TRY(module->verify(verifyAll));
  return module;
}

void Module::describeValues() {
  auto nameDims = [&](const schema::Value *value) {
    std::vector<std::string> &dims = names[value];
    for (size_t i = 0; value->dims() && i < value->dims()->size(); ++i) {
      uint32_t index = value->dims()->Get(i);
      dims.push_back(exprs.constant(index) ? std::string() : exprs.print(index));
    }
  };
  for (const auto *values : {root->inputs(), root->outputs(), root->states()})
    if (values)
      std::for_each(values->begin(), values->end(), nameDims);
  outputCount = root->outputs() ? root->outputs()->size() : 0;
  for (size_t i = 0; root->symbols() && i < root->symbols()->size(); ++i)
    outputCount -= root->symbols()->Get(i)->counted();
}

Status Module::verify(bool verifyAll) {
  DLC_TRY(checkHeader(file->data(), file->size()));
  schema::ModuleHeader header;
  std::memcpy(&header, file->data(), sizeof(header));
  const uint8_t *table = file->data() + schema::kTableOffset;
  flatbuffers::Verifier structure(table, header.tableBytes, kMaxDepth, kMaxTables);
  if (!schema::VerifyModuleBuffer(structure))
    return refuseModule("table", "its structure is broken");
  root = schema::GetModule(table);
  uint64_t segmentsBegin = schema::kTableOffset + header.tableBytes;
  Expected<VerifiedModule> verified = verifyModule(*root, segmentsBegin, file->size());
  if (verified.failed())
    return verified.status();
  exprs = std::move(verified->expressions);
  describeValues();
  for (size_t i = 0; i < verified->segments.size(); ++i) {
    std::shared_ptr<Module> child(new Module(file));
    child->root = root->segments()->Get(i);
    child->exprs = std::move(verified->segments[i]);
    child->describeValues();
    children.push_back(std::move(child));
  }
  DLC_TRY(checkGaps(segmentsBegin));
  return checkHashes(verifyAll);
}

/// Bytes between segments are zero: nothing can hide in them, and damage to them is seen.
Status Module::checkGaps(uint64_t begin) const {
  std::vector<NamedSegment> segments = segmentsOf(*root);
  std::sort(segments.begin(), segments.end(), [](const NamedSegment &a, const NamedSegment &b) {
    return a.segment->offset() < b.segment->offset();
  });
  auto isZero = [&](uint64_t from, uint64_t to) {
    return std::all_of(file->data() + from, file->data() + to,
                       [](uint8_t byte) { return byte == 0; });
  };
  uint64_t end = begin;
  for (const NamedSegment &named : segments) {
    if (named.segment->offset() > end && !isZero(end, named.segment->offset()))
      return {DLC_INCOMPATIBLE,
              text("unused bytes at ", end, " are not zero: the file is damaged; copy it again")};
    end = std::max(end, named.segment->offset() + named.segment->bytes());
  }
  if (!isZero(end, file->size()))
    return {DLC_INCOMPATIBLE,
            text("unused bytes at ", end, " are not zero: the file is damaged; copy it again")};
  return {};
}

Status Module::checkHashes(bool verifyAll) const {
  std::set<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>> seen; // weights may share bytes
  for (const auto &[segment, what] : segmentsOf(*root)) {
    if (!verifyAll && segment->bytes() > kHashedAtLoad)
      continue;
    if (!seen.emplace(segment->offset(), segment->bytes(), segment->hash_low(),
                      segment->hash_high())
             .second)
      continue;
    if (hashBytes(bytes(*segment), segment->bytes()) !=
        Hash128{segment->hash_low(), segment->hash_high()})
      return {DLC_INCOMPATIBLE,
              text(what, " is damaged (its hash does not match): copy the file again")};
    releasePages(*segment); // not all of the file at once
  }
  releasePages(); // and what came along with them
  return {};
}

const schema::Program *Module::program(schema::Target target) const {
  for (size_t i = 0; root->programs() && i < root->programs()->size(); ++i)
    if (root->programs()->Get(i)->target() == target)
      return root->programs()->Get(i);
  return nullptr;
}

bool Module::hasProgram(schema::Target target) const {
  if (!flow())
    return program(target) != nullptr;
  return std::all_of(children.begin(), children.end(),
                     [&](const auto &segment) { return segment->program(target) != nullptr; });
}

std::string Module::describe(const schema::Value &value) const {
  std::string out = text(nameOf(value.dtype()), "[");
  const std::vector<std::string> &dims = dimNames(value);
  for (size_t i = 0; i < dims.size(); ++i) {
    out += i ? "," : "";
    out += dims[i].empty() ? std::to_string(exprs.range(value.dims()->Get(i)).min) : dims[i];
  }
  return out + "]";
}

Expected<std::shared_ptr<PreparedProgram>> Module::prepared(const std::string &key,
                                                            const Prepare &prepare) {
  std::lock_guard lock(preparing);
  auto found = preparedPrograms.find(key);
  if (found != preparedPrograms.end())
    return found->second;
  Expected<std::shared_ptr<PreparedProgram>> made = prepare();
  if (!made.failed())
    preparedPrograms.emplace(key, *made);
  return made;
}
