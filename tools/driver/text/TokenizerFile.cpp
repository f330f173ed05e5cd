//===- TokenizerFile.cpp - Reading a tokenizer.json ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/arrays/InputFiles.h"
#include "tools/driver/text/Tokenizer.h"

#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/MemoryBuffer.h"

namespace dlc::text {

// Published files have up to 40 MB. What is read takes some ten times as much memory as the file.
static constexpr size_t kMostOfFile = size_t(128) << 20;

/// LLVM's reader goes into each bracket by a call: files of strangers may not nest deeply.
static bool nestsDeeply(llvm::StringRef bytes) {
  constexpr unsigned kMostNested = 64;
  unsigned depth = 0;
  bool isInText = false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    char c = bytes[i];
    if (isInText && c == '\\')
      ++i;
    else if (c == '"')
      isInText = !isInText;
    else if (isInText)
      continue;
    else if ((c == '{' || c == '[') && ++depth > kMostNested)
      return true;
    else if (c == '}' || c == ']')
      depth -= depth > 0;
  }
  return false;
}

/// Puts characters beyond U+FFFF in the place of the two escapes that spell each: LLVM's reader
/// (22.1) joins these wrongly from U+20000 on.
static std::string joinSurrogates(llvm::StringRef bytes) {
  auto escape = [&](size_t at) -> unsigned { // 0 where there is none
    unsigned code = 0;
    bool isEscape = bytes.substr(at, 2) == "\\u" && bytes.size() >= at + 6 &&
                    !bytes.substr(at + 2, 4).getAsInteger(16, code);
    return isEscape ? code : 0;
  };
  std::string joined;
  for (size_t at = 0; at < bytes.size();) {
    unsigned high = escape(at), low = high ? escape(at + 6) : 0;
    if (high >= 0xD800 && high < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
      char buffer[4], *end = buffer;
      llvm::ConvertCodePointToUTF8(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), end);
      joined.append(buffer, end);
      at += 12;
      continue;
    }
    size_t size = bytes[at] == '\\' ? 2 : 1; // an escaped \ begins no other escape
    joined += bytes.substr(at, size);
    at += size;
  }
  return joined;
}

std::unique_ptr<Tokenizer> Tokenizer::parse(llvm::StringRef bytes, const std::string &name,
                                            Problem &problem) {
  std::string quoted = frontend::quote(name);
  if (bytes.size() > kMostOfFile || nestsDeeply(bytes)) {
    problem.set(kModelError, quoted + " is larger or nests deeper than any tokenizer.json");
    return nullptr;
  }
  std::string joined;
  if (bytes.contains("\\u"))
    bytes = joined = joinSurrogates(bytes);
  auto value = llvm::json::parse(bytes);
  if (!value) {
    problem.set(kModelError, quoted + " is no tokenizer.json: " + toString(value.takeError()));
    return nullptr;
  }
  Problem inFile;
  FileField file(&*value, "", inFile);
  auto tokenizer = std::make_unique<Tokenizer>();
  auto read = [&] {
    file.expectKeys({"version", "truncation", "padding", "added_tokens", "normalizer",
                     "pre_tokenizer", "post_processor", "decoder", "model"});
    for (const char *key : {"truncation", "padding"})
      if (FileField field = file.get(key); !field.isAbsent())
        field.unsupported("dlc takes texts as they are; expected null (in Python, "
                          "tokenizer.no_truncation() and tokenizer.no_padding(), then save)");
    if (file.get("model").isAbsent())
      file.get("model").expected("the vocabulary and how it is used");
    if (inFile.code)
      return;
    tokenizer->normalizer = Normalizer::read(file.get("normalizer"));
    tokenizer->preTokenizer = PreTokenizer::read(file.get("pre_tokenizer"));
    tokenizer->postProcessor.read(file.get("post_processor"));
    tokenizer->decoder = TokenDecoder::read(file.get("decoder"));
    if (inFile.code)
      return;
    tokenizer->added.read(file.get("added_tokens"), tokenizer->normalizer.get(), inFile);
    tokenizer->model = TokenModel::read(file.get("model"));
  };
  read();
  if (inFile.code == kOk)
    return tokenizer;
  problem.set(inFile.code, quoted + ": " + inFile.message);
  return nullptr;
}

std::unique_ptr<Tokenizer> Tokenizer::load(const std::string &path, Problem &problem) {
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    problem.set(kDevice,
                "cannot read " + frontend::quote(path) + ": " + buffer.getError().message());
    return nullptr;
  }
  frontend::noteInputFile(path);
  return parse((*buffer)->getBuffer(), path, problem);
}

} // namespace dlc::text
