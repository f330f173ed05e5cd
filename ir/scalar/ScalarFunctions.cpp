//===- ScalarFunctions.cpp - Functions that upstream's math dialect lacks -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/scalar/ScalarFunctions.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

#include "ir/scalar/ScalarFunctionsDialect.cpp.inc"
#define GET_OP_CLASSES
#include "ir/scalar/ScalarFunctions.cpp.inc"

namespace dlc::dls {

void DLSDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/scalar/ScalarFunctions.cpp.inc"
      >();
}

} // namespace dlc::dls
