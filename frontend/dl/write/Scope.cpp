//===- Scope.cpp - Modules and paths that names of nodes and weights show -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/write/Scope.h"

#include "frontend/dl/evaluate/Item.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::onnx {

static bool isNumber(StringRef text) { return !text.empty() && llvm::all_of(text, llvm::isDigit); }

/// A word of the language that names nothing else.
static bool isWord(StringRef name) {
  static const llvm::StringSet<> kWords = {
      "_",
#define TOKEN(kind)
#define LITERAL(kind, spelling) spelling,
#include "frontend/dl/syntax/Tokens.def"
  };
  return kWords.contains(name);
}

/// A piece of a path: letters, digits and '_', and no word of the language.
static std::string pieceOf(StringRef name) {
  std::string piece;
  for (char c : name)
    piece += llvm::isAlnum(c) || c == '_' ? c : '_';
  return isWord(piece) ? piece + "_" : piece;
}

std::string pathOf(StringRef name) {
  std::string path;
  SmallVector<StringRef> pieces;
  name.split(pieces, '.', -1, /*KeepEmpty=*/false);
  for (StringRef piece : pieces)
    path += (path.empty() ? "" : ".") + pieceOf(piece);
  bool isPath = !path.empty() && !llvm::isDigit(path.front()) &&
                StringRef(path).split('.').first != "self"; // which people write out of habit
  return isPath ? path : "w_" + path;
}

bool isMadeByMachine(StringRef weight) { return weight.contains("::") || isNumber(weight); }

std::string uniquePath(llvm::StringSet<> &paths, StringRef path) {
  std::string made = path.str();
  for (unsigned suffix = 2; !paths.insert(made).second; ++suffix)
    made = (path + "_" + Twine(suffix)).str();
  return made;
}

SmallVector<std::string, 0> scopeOf(Operation &op) {
  SmallVector<std::string, 0> scope;
  auto described = op.getLoc()->findInstanceOf<NameLoc>();
  auto node = described ? dyn_cast<NameLoc>(described.getChildLoc()) : NameLoc();
  if (!node)
    return scope;
  SmallVector<StringRef> parts;
  node.getName().getValue().split(parts, '/', -1, /*KeepEmpty=*/false);
  if (parts.size() < 2)
    return scope;
  StringRef outer; // PyTorch says a child of a list by the names of both, "layer1/layer1.0"
  for (StringRef part : ArrayRef(parts).drop_back()) {
    StringRef own = part;
    if (!outer.empty() && own.starts_with(outer) && own.drop_front(outer.size()).starts_with("."))
      own = own.drop_front(outer.size() + 1);
    SmallVector<StringRef> pieces;
    own.split(pieces, '.', -1, /*KeepEmpty=*/false);
    for (StringRef piece : pieces)
      scope.push_back(pieceOf(piece));
    outer = part;
  }
  // A name of the language begins with a letter, and 'self' is what people write out of habit.
  if (!scope.empty() && (llvm::isDigit(scope.front().front()) || scope.front() == "self"))
    scope.front() = "m_" + scope.front();
  return scope;
}

} // namespace dlc::onnx
