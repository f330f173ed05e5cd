//===- Names.cpp - Names of an ONNX file that a compiled model cannot have ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/read/ModelFile.h"

using namespace llvm;

namespace dlc::onnx {

static bool isControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

StringRef Names::nameOf(StringRef name) {
  if (none_of(name, isControl)) {
    others.insert(name);
    return name;
  }
  const std::string &replacement = replacements[name];
  return replacement.empty() ? name : StringRef(replacement);
}

bool Names::replace() {
  for (auto &[name, replacement] : replacements) {
    replacement = name.str();
    std::replace_if(replacement.begin(), replacement.end(), isControl, '_');
    while (!others.insert(replacement).second)
      replacement += '_';
  }
  return !replacements.empty();
}

} // namespace dlc::onnx
