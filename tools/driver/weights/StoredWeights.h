//===- StoredWeights.h - What is computed of weights, as weights --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_WEIGHTS_STOREDWEIGHTS_H
#define DLC_TOOLS_DRIVER_WEIGHTS_STOREDWEIGHTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc {

/// Computes, by the reference interpreter, the integers and the scales that quantize-products has
/// made of weights, and puts weights in their place, whose bytes are held for the files that are
/// written (WeightReader.h). They are named after the weight, `.codes`, `.scale` and, with scheme
/// dynamic, `.sums` of the codes. An ExitCode; all but kOk are reported.
int storeQuantizedWeights(mlir::func::FuncOp function);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_WEIGHTS_STOREDWEIGHTS_H
