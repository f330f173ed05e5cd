//===- KernelNames.cpp - finds the kernels in a text ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/nvrtc/KernelNames.h"
#include <cctype>

namespace dlc::emu {

namespace {

bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Words and single punctuation marks, without comments, literals and directives.
std::vector<std::string> tokenise(const std::string &text) {
  std::vector<std::string> tokens;
  bool lineStart = true;
  for (size_t i = 0, n = text.size(); i < n;) {
    char c = text[i];
    if (c == '\n') {
      lineStart = true;
      ++i;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (text.compare(i, 2, "//") == 0) {
      while (i < n && text[i] != '\n')
        ++i;
    } else if (text.compare(i, 2, "/*") == 0) {
      size_t end = text.find("*/", i + 2);
      i = end == std::string::npos ? n : end + 2;
    } else if (c == '#' && lineStart) {
      while (i < n && text[i] != '\n')
        i += text[i] == '\\' && i + 1 < n ? 2 : 1; // a directive may go on in the next line
    } else if (c == '"' || c == '\'') {
      for (++i; i < n && text[i] != c; ++i)
        if (text[i] == '\\')
          ++i;
      ++i;
      lineStart = false;
    } else {
      size_t begin = i++;
      while (isWordChar(c) && i < n && isWordChar(text[i]))
        ++i;
      tokens.push_back(text.substr(begin, i - begin));
      lineStart = false;
    }
  }
  return tokens;
}

/// With tokens[i] == "(", the texts between its commas; moves `i` past the ")".
std::vector<std::string> arguments(const std::vector<std::string> &tokens, size_t &i) {
  std::vector<std::string> found(1);
  int depth = 0;
  for (; i < tokens.size(); ++i) {
    const std::string &token = tokens[i];
    depth += token == "(" ? 1 : token == ")" ? -1 : 0;
    if (depth == 0) {
      ++i;
      return found;
    }
    if (token == "," && depth == 1)
      found.emplace_back();
    else if (token != "(" || depth != 1)
      found.back() += token + " ";
  }
  return found;
}

} // namespace

std::vector<KernelName> findKernels(const std::string &source) {
  std::vector<std::string> tokens = tokenise(source);
  std::vector<KernelName> kernels;
  for (size_t i = 0; i < tokens.size();) {
    std::string threads = "1024", cluster = "1";
    if (tokens[i] == "DLC_KERNEL" || tokens[i] == "DLC_KERNEL_OCCUPANCY" ||
        tokens[i] == "DLC_KERNEL_CLUSTER") {
      bool hasCluster = tokens[i] == "DLC_KERNEL_CLUSTER";
      if (++i >= tokens.size() || tokens[i] != "(")
        continue;
      std::vector<std::string> written = arguments(tokens, i);
      threads = written.front();
      if (hasCluster)
        cluster = written.back();
    } else if (tokens[i] == "__global__") {
      ++i;
    } else {
      ++i;
      continue;
    }
    // Up to the name: the word before the parameter list.
    while (i + 1 < tokens.size() && tokens[i] != ";" && tokens[i] != "{") {
      if (tokens[i] == "__launch_bounds__" && tokens[i + 1] == "(") {
        threads = arguments(tokens, ++i).front();
      } else if (tokens[i + 1] == "(") {
        kernels.push_back({tokens[i], threads, cluster});
        break;
      } else {
        ++i;
      }
    }
  }
  return kernels;
}

} // namespace dlc::emu
