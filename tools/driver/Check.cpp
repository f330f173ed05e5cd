//===- Check.cpp - All errors of a model, without compiling it -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/Check.h"

#include "tools/driver/Import.h"
#include "tools/driver/Output.h"

int dlc::checkModel(const CheckOptions &options) {
  ImportedModel model;
  return importModel({options.input, options.weights, options.withoutWeights, false}, model);
}
