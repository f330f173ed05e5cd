//===- FileField.h - A value of a tokenizer.json, with its place --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A field knows its path from the root of the file, such as pre_tokenizer.pretokenizers[0].pattern,
// and puts it before each problem. After a problem the getters go on giving what they can, so that
// a reader looks at the problem once, when it has read everything.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_TEXT_FILEFIELD_H
#define DLC_TOOLS_DRIVER_TEXT_FILEFIELD_H

#include "tools/driver/text/Problem.h"

#include "llvm/Support/JSON.h"

#include <initializer_list>
#include <optional>
#include <vector>

namespace dlc::text {

class FileField {
public:
  /// `value` may be null where the file has none, and must outlive the field, as must `problem`.
  FileField(const llvm::json::Value *value, std::string path, Problem &problem)
      : value(value), path(std::move(path)), problem(&problem) {}

  /// Absent, or null in the file.
  bool isAbsent() const { return !value || value->kind() == llvm::json::Value::Null; }
  FileField get(llvm::StringRef key) const;
  /// The elements of an array; none of an absent one.
  std::vector<FileField> elements() const;
  /// Calls visit(element) for each of an array, one field at a time.
  template <typename Visit> void forEach(Visit visit) const {
    const llvm::json::Array *list = array();
    for (size_t i = 0; list && i < list->size() && !hasProblem(); ++i)
      visit(element(i));
  }
  bool isArray() const { return value && value->kind() == llvm::json::Value::Array; }
  const llvm::json::Object *object() const;
  const llvm::json::Array *array() const;

  std::string text() const;
  std::string text(llvm::StringRef ifAbsent) const;
  bool flag(bool ifAbsent) const;
  /// A whole number from 0 to 2^31 - 1, as ids of tokens are.
  int64_t number() const;
  double real() const;

  /// The text of "type", which says what the object is. `known` lists what dlc has, for the refusal
  /// of another one.
  std::string type(std::initializer_list<llvm::StringRef> known) const;
  /// Refuses an object with other keys: what they ask for would be left out silently.
  void expectKeys(std::initializer_list<llvm::StringRef> known) const;

  /// The file is damaged here: "PATH: expected WHAT, got ...".
  void expected(llvm::StringRef what) const;
  /// dlc lacks what the file asks for here: "PATH: MESSAGE".
  void unsupported(const std::string &message) const;
  bool hasProblem() const { return problem->code != kOk; }

private:
  FileField element(size_t i) const;

  const llvm::json::Value *value;
  std::string path;
  Problem *problem;
};

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_FILEFIELD_H
