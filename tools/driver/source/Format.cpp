//===- Format.cpp - The canonical layout of models ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/source/Format.h"

#include "frontend/Frontend.h"
#include "frontend/arrays/InputFiles.h"
#include "frontend/dl/format/Format.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/source/Import.h"

namespace dlc {

static int formatFile(const std::string &path, const FormatOptions &options, std::string &output) {
  std::unique_ptr<llvm::MemoryBuffer> source;
  int code = readModelText(path, source);
  if (code != kOk)
    return code;
  std::string before = source->getBuffer().str();
  SourceContext context;
  context.sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(before, source->getBufferIdentifier()), {});
  context.printDiagnostics();
  auto after = formatSource(std::move(source), *context.context);
  if (!after)
    return kModelError;
  if (options.check) {
    if (*after == before)
      return kOk;
    output += path + "\n";
    return kModelError;
  }
  if (options.toOutput || path == "-") {
    output += *after;
    return kOk;
  }
  if (*after == before)
    return kOk;
  frontend::changeInPlace(path);
  return writeFile(path, *after);
}

int formatFiles(const FormatOptions &options) {
  int result = kOk;
  std::string output;
  for (const std::string &path : options.files) {
    int code = formatFile(path, options, output);
    result = result == kOk ? code : result;
  }
  return output.empty() ? result : finishOutput(output, result);
}

} // namespace dlc
