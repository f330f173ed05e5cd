//===- WeightsClause.h - What the text of a model says about its weights ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_SYNTAX_WEIGHTSCLAUSE_H
#define DLC_FRONTEND_DL_SYNTAX_WEIGHTSCLAUSE_H

#include "llvm/Support/SMLoc.h"

#include <string>
#include <vector>

namespace dlc::frontend {

/// A string of the text, and where it stands.
struct QuotedText {
  std::string value;
  llvm::SMLoc loc;
};

/// `"from" -> "to"` of a rename, or `"to" = "from"` of a tie.
struct TextPair {
  QuotedText from, to;
};

/// `weights "a.safetensors", "b.safetensors" { ... }`
struct WeightsDecl {
  llvm::SMLoc loc;
  std::vector<QuotedText> files;    // at least one
  std::vector<QuotedText> prefixes; // of the names in the files
  std::vector<TextPair> renames; // a part of the name in a file -> a part of the path in the model
  std::vector<QuotedText> transposes, extras; // globs
  std::vector<TextPair> ties;                 // paths in the model: `to` gets the weight of `from`
  bool isBroken = false;                      // a rule could not be read, which has been reported
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_SYNTAX_WEIGHTSCLAUSE_H
