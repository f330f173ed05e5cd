//===- FileField.cpp - A value of a tokenizer.json, with its place ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/FileField.h"

#include "frontend/Spelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <limits>

using namespace llvm;

namespace dlc::text {

/// The value that the file has there, as text, cut where it is long.
static std::string shown(const json::Value *value) {
  if (!value)
    return "nothing";
  if (value->kind() == json::Value::Object)
    return "an object";
  if (value->kind() == json::Value::Array)
    return "an array";
  std::string text;
  raw_string_ostream(text) << *value;
  constexpr size_t kMost = 60;
  return text.size() <= kMost ? text : json::fixUTF8(StringRef(text).take_front(kMost)) + "...";
}

FileField FileField::get(StringRef key) const {
  const json::Object *found = value ? value->getAsObject() : nullptr;
  return {found ? found->get(key) : nullptr, (path.empty() ? "" : path + ".") + key.str(),
          *problem};
}

std::vector<FileField> FileField::elements() const {
  std::vector<FileField> found;
  forEach([&](const FileField &one) { found.push_back(one); });
  return found;
}

FileField FileField::element(size_t i) const {
  return {&(*value->getAsArray())[i], path + "[" + std::to_string(i) + "]", *problem};
}

const json::Object *FileField::object() const {
  const json::Object *found = value ? value->getAsObject() : nullptr;
  if (!found)
    expected("an object");
  return found;
}

const json::Array *FileField::array() const {
  const json::Array *found = value ? value->getAsArray() : nullptr;
  if (!found)
    expected("an array");
  return found;
}

std::string FileField::text() const {
  std::optional<StringRef> found = value ? value->getAsString() : std::nullopt;
  if (!found)
    expected("a text");
  return found ? found->str() : std::string();
}

std::string FileField::text(StringRef ifAbsent) const {
  return isAbsent() ? ifAbsent.str() : text();
}

bool FileField::flag(bool ifAbsent) const {
  std::optional<bool> found = value ? value->getAsBoolean() : std::nullopt;
  if (!found && !isAbsent())
    expected("true or false");
  return found.value_or(ifAbsent);
}

int64_t FileField::number() const {
  std::optional<int64_t> found = value ? value->getAsInteger() : std::nullopt;
  if (found && *found >= 0 && *found <= std::numeric_limits<int32_t>::max())
    return *found;
  expected("a whole number from 0 on");
  return 0;
}

double FileField::real() const {
  std::optional<double> found = value ? value->getAsNumber() : std::nullopt;
  if (!found)
    expected("a number");
  return found.value_or(0);
}

std::string FileField::type(std::initializer_list<StringRef> known) const {
  if (!object())
    return {};
  std::string name = get("type").text();
  if (hasProblem() || is_contained(known, name))
    return name;
  std::string list;
  for (StringRef one : known)
    list += (list.empty() ? "" : ", ") + one.str();
  get("type").unsupported("dlc has no " + frontend::quote(name) + "; expected one of " + list);
  return {};
}

void FileField::expectKeys(std::initializer_list<StringRef> known) const {
  const json::Object *found = object();
  if (!found)
    return;
  std::vector<StringRef> unknown;
  for (const auto &[key, ignored] : *found)
    if (!is_contained(known, StringRef(key)) && key != "type")
      unknown.push_back(key);
  if (unknown.empty())
    return;
  std::string list;
  for (StringRef one : known)
    list += (list.empty() ? "" : ", ") + one.str();
  // The least name, so that equal files give equal messages.
  StringRef first = *std::min_element(unknown.begin(), unknown.end());
  get(first).unsupported("dlc does not know this key here; expected " +
                         (list.empty() ? "none beside type" : list));
}

void FileField::expected(StringRef what) const {
  problem->set(kModelError, (path.empty() ? "" : path + ": ") + "expected " + what.str() +
                                ", got " + shown(value));
}

void FileField::unsupported(const std::string &message) const {
  problem->set(kUnsupported, (path.empty() ? "" : path + ": ") + message);
}

} // namespace dlc::text
