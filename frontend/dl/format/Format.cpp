//===- Format.cpp - The canonical layout of a model's text --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/format/Format.h"

#include "frontend/dl/format/FormatWords.h"
#include "frontend/dl/syntax/Parser.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace dlc {

using namespace frontend;

/// What the layout must leave as it is: every token but `;`, and every comment.
static std::vector<StringRef> contentOf(ArrayRef<Word> words) {
  std::vector<StringRef> content;
  for (const Word &word : words) {
    for (const OwnComment &comment : word.comments)
      content.push_back(comment.text);
    if (!word.is(";"))
      content.push_back(word.text);
    if (!word.trailing.empty())
      content.push_back(word.trailing);
  }
  return content;
}

std::optional<std::string> formatSource(std::unique_ptr<MemoryBuffer> source,
                                        mlir::MLIRContext &context) {
  SourceMgr sources;
  StringRef text = source->getBuffer();
  sources.AddNewSourceBuffer(std::move(source), {});
  Diagnostics diagnostics(sources, context);
  parseSource(text, diagnostics);
  if (diagnostics.hasErrors())
    return std::nullopt;
  std::vector<Word> words = scanWords(text, diagnostics);
  joinWords(words);
  std::string result = layOut(words);
  // A mistake of the layout must not cost anybody a model.
  if (contentOf(scanWords(result, diagnostics)) != contentOf(words)) {
    mlir::emitError(diagnostics.translate({}))
        << "this file cannot be formatted without changing it, which is a bug of dlc; please "
           "report it";
    return std::nullopt;
  }
  return result;
}

} // namespace dlc
