//===- Smoothing.h - Large channels of activations, made smaller for 8 bits ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SmoothQuant (Xiao, Lin, Seznec, Wu, Demouth, Han: "SmoothQuant: Accurate and Efficient
// Post-Training Quantization for Large Language Models", 2022). Where few channels j of an
// activation X are far larger than the others, 256 steps over all of it are coarse for these. X is
// divided, and the weights W are multiplied, by s_j = max|X_j|^a / max|W_j|^(1-a): the products are
// the same, and both have channels of like sizes.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_SMOOTHING_H
#define DLC_TOOLS_DRIVER_CALIBRATE_SMOOTHING_H

#include "tools/driver/calibrate/TappedRun.h"

namespace dlc {

/// Divides each activation that matrix products of `options.quantize` read by the s of these data,
/// and multiplies their weights by it, as *options.smooth says; products that read one activation
/// share its
/// s. 1 / s becomes a weight, named after that of the first product with `.smooth`, and is held for
///    the package
/// (WeightReader.h). Where a norm gives the activation to these products alone, its weight and bias
/// take 1 / s in. Channels of zeros stay. `progress` is told what goes on. An ExitCode; all but kOk
/// are reported.
int smoothActivations(mlir::ModuleOp module, const CompileOptions &options,
                      const Progress &progress, size_t &numSmoothed);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_SMOOTHING_H
