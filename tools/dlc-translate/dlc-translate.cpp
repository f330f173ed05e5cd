//===- dlc-translate.cpp - Kernel IR to text: a tool of the lit tests ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cuda/CudaText.h"
#include "tools/driver/Dialects.h"

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"

int main(int argc, char **argv) {
  mlir::TranslateFromMLIRRegistration toCuda("mlir-to-cuda",
                                             "print the kernels of a module as CUDA C++",
                                             dlc::codegen::printKernels, dlc::registerDialects);
  return failed(mlir::mlirTranslateMain(argc, argv, "dlc-translate: kernel IR to text"));
}
