//===- Lines.cpp - What an op computes line by line along one dim -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interfaces/Lines.h"

#include "mlir/IR/Operation.h"

using namespace mlir;

#include "ir/interfaces/LinesInterface.cpp.inc"
