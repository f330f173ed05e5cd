//===- dlc-translate.cpp - Models to IR, IR to text: a tool of the lit tests --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/Translations.h"

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  dlc::registerTranslations();
  return failed(
      mlir::mlirTranslateMain(argc, argv, "dlc-translate: models to IR, kernel IR to text"));
}
