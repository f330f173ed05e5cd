//===- FuzzDl.cpp - Any bytes as the text of a model --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the text to a verified module, without weights.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Frontend.h"
#include "test/fuzz/ImportDemand.h"

using namespace dlc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext &context = fuzz::contextForInput();
  llvm::StringMap<std::string> texts;
  texts["input.dl"] = std::string(reinterpret_cast<const char *>(data), size);
  ImportOptions options;
  options.withoutWeights = true;
  options.unsaved = &texts;
  fuzz::demandModuleOrErrors(context, [&] { return importFile("input.dl", options, context); });
  return 0;
}
