//===- FuzzTokenizer.cpp - Any bytes as a tokenizer.json ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/fuzz/Demand.h"
#include "tools/driver/text/TextStream.h"

#include <algorithm>

using namespace dlc;
using namespace dlc::text;

/// Each token of what was encoded can be decoded, in pieces that are UTF-8 and together the whole.
static void checkTexts(const Tokenizer &tokenizer, std::string_view text) {
  Problem problem;
  std::vector<int64_t> ids;
  if (!tokenizer.encode(text, ids, problem)) {
    fuzz::demand(problem.message.size() > 10, "a problem that says what is wrong");
    return;
  }
  constexpr size_t kMostTokens = 100; // each decodes all before it
  ids.resize(std::min(ids.size(), kMostTokens));
  TextStream stream(tokenizer);
  std::string piece;
  for (int64_t id : ids) {
    if (!stream.add(id, piece, problem))
      return;
    fuzz::demand(llvm::json::isUTF8(piece), "whole characters");
  }
  if (stream.finish(piece, problem))
    fuzz::demand(llvm::json::isUTF8(piece), "whole characters");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Problem problem;
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto tokenizer = Tokenizer::parse(bytes, "input", problem);
  fuzz::demand((tokenizer == nullptr) == (problem.code != kOk), "a tokenizer or a problem");
  if (!tokenizer) {
    fuzz::demand(problem.message.size() > 10, "a problem that says what is wrong");
    return 0;
  }
  for (std::string_view text :
       {"", "Once upon <s> a\u0301 \U0001F600 12\n\n the word</s>", "  \t\u00a0x▁y  "})
    checkTexts(*tokenizer, text);
  return 0;
}
