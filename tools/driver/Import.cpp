//===- Import.cpp - A model or IR file in a context of its own -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/Import.h"

#include "frontend/Frontend.h"
#include "tools/driver/Dialects.h"
#include "tools/driver/Output.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace dlc {

ImportedModel::ImportedModel() {
  DialectRegistry registry;
  registerDialects(registry);
  // One thread: the order of diagnostics, dumps and comparisons is that of the passes.
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false); // users read .dl lines, not IR
  diagnostics = std::make_unique<SourceMgrDiagnosticHandler>(sources, context.get());
}

ImportedModel::~ImportedModel() = default;

int importModel(const ImportRequest &request, ImportedModel &model) {
  if (llvm::sys::fs::is_directory(request.path))
    return fail(kDevice, "cannot read '" + request.path + "': it is a directory");
  if (auto file = llvm::sys::fs::openNativeFileForRead(request.path); !file)
    return fail(kDevice, "cannot read '" + request.path + "': " + llvm::toString(file.takeError()));
  else
    llvm::sys::fs::closeFile(*file);

  if (request.isIR) {
    model.module = parseSourceFile<ModuleOp>(request.path, model.sources, model.context.get());
  } else {
    if (!StringRef(request.path).ends_with(".dl"))
      return fail(kUsage, "'" + request.path + "' is no .dl file; IR needs --compile-from=PHASE");
    model.module =
        importFile(request.path, {request.weights, request.withoutWeights, request.withoutHashes},
                   *model.context);
  }
  return model.module ? kOk : kModelError;
}

} // namespace dlc
