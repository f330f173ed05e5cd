//===- Library.cpp - Functions that are written in the language ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/library/Library.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"

using llvm::StringRef;

namespace dlc::embed {
struct File {
  const char *name, *text;
};
extern const File libraryFiles[]; // ends in a null name
} // namespace dlc::embed

namespace dlc::frontend {

std::vector<LibraryFunction> parseLibrary(StringRef text) {
  std::vector<LibraryFunction> functions;
  StringRef summary;
  while (!text.empty()) {
    if (text.consume_front("# ")) {
      std::tie(summary, text) = text.split('\n');
      continue;
    }
    if (text.consume_front("\n")) {
      summary = {};
      continue;
    }
    size_t open = text.find(" {\n"), close = text.find("\n}\n");
    if (open == StringRef::npos || close == StringRef::npos || close < open || summary.empty())
      llvm::report_fatal_error("malformed function of the library: " +
                               llvm::Twine(text.take_front(80)));
    functions.push_back(
        {parseSignature("", text.take_front(open)), summary, text.slice(open + 3, close + 1)});
    text = text.drop_front(close + 3);
  }
  return functions;
}

llvm::ArrayRef<LibraryFunction> libraryFunctions() {
  static const std::vector<LibraryFunction> functions = [] {
    std::vector<LibraryFunction> all;
    for (const embed::File *file = embed::libraryFiles; file->name; ++file)
      for (LibraryFunction &function : parseLibrary(file->text))
        all.push_back(std::move(function));
    return all;
  }();
  return functions;
}

const LibraryFunction *libraryFunctionOf(const Signature &signature) {
  if (!signature.op.empty())
    return nullptr;
  for (const LibraryFunction &function : libraryFunctions())
    if (&function.signature == &signature)
      return &function;
  return nullptr;
}

llvm::SmallVector<const Signature *> functionSignatures(StringRef name) {
  static const auto kByName = [] {
    llvm::StringMap<llvm::SmallVector<const Signature *>> map;
    for (const LibraryFunction &function : libraryFunctions())
      map[function.signature.name].push_back(&function.signature);
    return map;
  }();
  llvm::SmallVector<const Signature *> all = signaturesOf(name);
  if (auto found = kByName.find(name); found != kByName.end())
    llvm::append_range(all, found->second);
  return all;
}

StringRef summaryOf(StringRef name) {
  auto signatures = functionSignatures(name);
  if (signatures.empty())
    return {};
  const LibraryFunction *function = libraryFunctionOf(*signatures.front());
  return function ? function->summary : opInfo(signatures.front()->op)->summary;
}

void forEachFunction(llvm::function_ref<void(const Signature &, StringRef)> visit) {
  for (const OpInfo &info : opTable())
    for (const Signature &signature : info.signatures)
      visit(signature, info.summary);
  for (const LibraryFunction &function : libraryFunctions())
    if (!function.signature.name.starts_with("_"))
      visit(function.signature, function.summary);
}

} // namespace dlc::frontend
