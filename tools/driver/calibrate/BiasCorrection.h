//===- BiasCorrection.h - The mean of what 8 bits change, taken back ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The errors of rounding and cutting off do not cancel on average: of each channel of a product's
// result a mean is left, which the bias can take back (Nagel, van Baalen, Blankevoort, Welling:
// "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019; here the mean is
// measured).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_BIASCORRECTION_H
#define DLC_TOOLS_DRIVER_CALIBRATE_BIASCORRECTION_H

#include "passes/compress/quantize/QuantizableProducts.h"
#include "tools/driver/calibrate/TappedRun.h"

namespace dlc {

/// Runs each product that has a kActivationRange in f32 and on integers of 8 bits, both on what it
/// reads in the model of f32 on the data of `options`, and adds the mean of the difference to the
/// channels of its result: to the bias, where it has one. The numbers are held for the package
/// (WeightReader.h), named after the weight with `.correction`. Products are replaced in place. An
/// ExitCode; all but kOk are reported.
int correctBiases(mlir::ModuleOp module, const CompileOptions &options,
                  llvm::ArrayRef<QuantizableProduct> products, const Progress &progress);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_BIASCORRECTION_H
