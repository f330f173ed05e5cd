//===- FileNames.cpp - The files that a model's text names --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/FileNames.h"

#include "frontend/dl/syntax/Parser.h"

using namespace llvm;

namespace dlc {

using namespace frontend;

/// The length of the string that begins with the quote at `begin`.
static size_t lengthOfString(StringRef text, size_t begin) {
  size_t end = begin + 1;
  while (text[end] != text[begin])
    end += text[end] == '\\' ? 2 : 1;
  return end + 1 - begin;
}

std::optional<FileNames> fileNamesOf(std::unique_ptr<MemoryBuffer> source,
                                     mlir::MLIRContext &context) {
  SourceMgr sources;
  StringRef text = source->getBuffer();
  sources.AddNewSourceBuffer(std::move(source), {});
  Diagnostics diagnostics(sources, context);
  SourceFile file = parseSource(text, diagnostics);
  if (diagnostics.hasErrors())
    return std::nullopt;
  FileNames names{{}, !file.includes.empty()};
  for (const WeightsDecl &clause : file.weights)
    for (const QuotedText &name : clause.files) {
      size_t begin = name.loc.getPointer() - text.data();
      names.weights.push_back({name.value, begin, lengthOfString(text, begin)});
    }
  return names;
}

/// As a string of the language.
static std::string quoted(StringRef name) {
  std::string text = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\')
      text += '\\';
    text += c;
  }
  return text + '"';
}

std::string withWeightFiles(StringRef text, const FileNames &found,
                            const StringMap<std::string> &names) {
  std::string result;
  size_t end = 0;
  for (const FileName &file : found.weights) {
    result += text.slice(end, file.begin);
    result += quoted(names.at(file.name));
    end = file.begin + file.length;
  }
  result += text.substr(end);
  return result;
}

} // namespace dlc
