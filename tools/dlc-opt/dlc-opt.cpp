//===- dlc-opt.cpp - Runs passes on IR text: the tool of the lit tests --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "tools/driver/source/Dialects.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  dlc::registerDialects(registry);
  mlir::registerTransformsPasses();
  dlc::codegen::registerPasses();
  dlc::registerDLCPasses();
  dlc::registerPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "dlc-opt: runs dlc's passes\n", registry));
}
