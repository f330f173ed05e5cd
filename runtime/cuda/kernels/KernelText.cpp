//===- KernelText.cpp - The CUDA C++ of a kernel, and what identifies it ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/kernels/KernelText.h"
#include "runtime/core/Text.h"
#include "runtime/core/package/Sha256.h"

using namespace dlc;
using namespace dlc::cuda;

/// The position behind the string or character literal that begins at `begin`.
static size_t skipLiteral(std::string_view text, size_t begin) {
  char quote = text[begin];
  for (size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == quote || text[at] == '\n')
      return at + 1;
  }
  return text.size();
}

static bool isNameCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Ends a line: without spaces at its end, and not at all where nothing is left of it.
static void endLine(std::string &out) {
  while (!out.empty() && (out.back() == ' ' || out.back() == '\t' || out.back() == '\r'))
    out.pop_back();
  if (!out.empty() && out.back() != '\n')
    out += '\n';
}

std::string dlc::cuda::stripComments(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    std::string_view rest = text.substr(at);
    char c = rest.front();
    // 1'000 is a number: its quote begins no literal.
    bool isLiteral = c == '"' || (c == '\'' && (at == 0 || !isNameCharacter(text[at - 1])));
    if (rest.starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (rest.starts_with("/*")) {
      size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
      out += ' ';
    } else if (isLiteral) {
      size_t end = skipLiteral(text, at);
      out += text.substr(at, end - at);
      at = end;
    } else if (c == '\n') {
      endLine(out);
      ++at;
    } else {
      out += c;
      ++at;
    }
  }
  endLine(out);
  return out;
}

const std::string &KernelDigest::ofHeader(const char *header) {
  std::string &digest = headers[header];
  if (digest.empty())
    digest = rt::hexadecimal(rt::sha256(stripComments(header)));
  return digest;
}

std::string KernelDigest::of(const KernelText &text) {
  std::string stripped = stripComments(text.source);
  std::string all = rt::text("dlc-kernel 1\n", stripped.size(), "\n", stripped);
  for (size_t i = 0; i < text.headers.size(); ++i)
    all += rt::text(text.headerNames[i], "\n", ofHeader(text.headers[i]), "\n");
  return rt::hexadecimal(rt::sha256(all));
}
