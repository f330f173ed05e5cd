//===- SparseStorage.cpp - How weights are stored without their zeros ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/sparse/SparseStorage.h"

#include "llvm/Support/FormatVariadic.h"

namespace dlc {

std::string SparseStorage::text() const {
  std::string text =
      llvm::formatv("{0}: {1} of {2} weights {3}", pattern, stored, found, how).str();
  if (stored > 0)
    text += llvm::formatv("; {0:N} bytes became {1:N}", bytesBefore, bytesAfter).str();
  else
    text += "; --explain says why";
  return text + '\n';
}

} // namespace dlc
