//===- Translations.cpp - What dlc-translate can do ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/Translations.h"

#include "codegen/cuda/print/CudaText.h"
#include "frontend/Frontend.h"
#include "frontend/dl/declare/Layers.h"
#include "frontend/keras/KerasCall.h"
#include "tools/driver/source/Dialects.h"

#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

/// Imports without weights: tests of the language need no files beside them.
static OwningOpRef<Operation *> importDl(llvm::SourceMgr &sources, MLIRContext *context) {
  auto path = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  return dlc::importFile(path, {{}, /*withoutWeights=*/true}, *context).release().getOperation();
}

/// The table of layers, one line for each: `Linear(int in_features, int out_features, bool
/// bias=True)`.
static LogicalResult printLayers(const std::shared_ptr<llvm::SourceMgr> &, raw_ostream &out,
                                 MLIRContext *) {
  for (const dlc::frontend::LayerKind &kind : dlc::frontend::layerKinds())
    out << kind.name << kind.schema << "\n";
  return success();
}

/// The same of sequential models.
static LogicalResult printKerasLayers(const std::shared_ptr<llvm::SourceMgr> &, raw_ostream &out,
                                      MLIRContext *) {
  for (const dlc::frontend::KerasKind &kind : dlc::frontend::kerasKinds())
    out << kind.name << kind.schema << "\n";
  return success();
}

void dlc::registerTranslations() {
  static TranslateRegistration kerasLayers(
      "print-keras-layers", "print the layers of sequential models", printKerasLayers);
  static TranslateRegistration layers("print-layers", "print the layers of the language",
                                      printLayers);
  static TranslateToMLIRRegistration fromDl("import-dl", "import a .dl file without its weights",
                                            importDl);
  static TranslateFromMLIRRegistration toCuda("mlir-to-cuda",
                                              "print the kernels of a module as CUDA C++",
                                              codegen::printKernels, registerDialects);
}
