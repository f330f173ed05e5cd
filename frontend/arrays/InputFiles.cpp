//===- InputFiles.cpp - The files that this process reads ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/InputFiles.h"

#include <map>
#include <mutex>
#include <set>

using namespace llvm;

namespace dlc::frontend {

namespace {
struct Record {
  std::mutex mutex;
  std::map<sys::fs::UniqueID, std::string> inputs; // with the path by which each was read first
  std::set<sys::fs::UniqueID> changed;             // in place
};
} // namespace

static Record &record() {
  static Record instance;
  return instance;
}

void noteInputFile(StringRef path, const sys::fs::file_status &status) {
  if (status.type() != sys::fs::file_type::regular_file)
    return;
  Record &all = record();
  std::scoped_lock lock(all.mutex);
  all.inputs.try_emplace(status.getUniqueID(), path.str());
}

void noteInputFile(StringRef path) {
  sys::fs::file_status status;
  if (!sys::fs::status(path, status))
    noteInputFile(path, status);
}

void changeInPlace(StringRef path) {
  sys::fs::UniqueID file;
  if (sys::fs::getUniqueID(path, file))
    return;
  Record &all = record();
  std::scoped_lock lock(all.mutex);
  all.changed.insert(file);
}

std::optional<std::string> inputFileAt(StringRef path) {
  sys::fs::UniqueID file;
  if (sys::fs::getUniqueID(path, file))
    return std::nullopt;
  Record &all = record();
  std::scoped_lock lock(all.mutex);
  auto found = all.inputs.find(file);
  if (found == all.inputs.end() || all.changed.contains(file))
    return std::nullopt;
  return found->second;
}

} // namespace dlc::frontend
