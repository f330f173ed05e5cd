//===- KernelDigest.cpp - What a kernel computes, in 16 digits ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/tune/KernelDigest.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace dlc {

std::string digestOf(dlx::KernelOp kernel) {
  OwningOpRef<dlx::KernelOp> unnamed = kernel.clone();
  unnamed->setSymName("kernel");
  std::string text;
  llvm::raw_string_ostream os(text);
  unnamed->print(os, OpPrintingFlags().useLocalScope().printGenericOpForm());
  return llvm::formatv("{0:x-16}", llvm::xxh3_64bits(text)).str();
}

} // namespace dlc
