//===- Recurrent.cpp - What an op computes step by step along time ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interfaces/Recurrent.h"

#include "mlir/IR/Operation.h"

using namespace mlir;

#include "ir/interfaces/RecurrentInterface.cpp.inc"
