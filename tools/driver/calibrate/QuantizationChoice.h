//===- QuantizationChoice.h - Which layers are quantized, and what they gain --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_QUANTIZATIONCHOICE_H
#define DLC_TOOLS_DRIVER_CALIBRATE_QUANTIZATIONCHOICE_H

#include "passes/compress/quantize/QuantizationGain.h"
#include "tools/driver/base/CompileOptions.h"
#include "tools/driver/base/Json.h"

namespace dlc {

/// Marks the products that stay as they are by cost (keep-slower), unless `--quantize-where
/// possible`. An ExitCode.
int keepSlowerLayers(mlir::ModuleOp module, const CompileOptions &options);

/// Whether a layer stays as it is on a target that would be slower: for int8 and dynamic it does,
/// and for any scheme with `--quantize-where faster`.
bool keepsLosses(const CompileOptions &options);

/// For each target on which some of the quantized layers stay as they are, how many do not: "; 4 of
/// them on cpu". `gains` has the quantized layers alone.
std::string countsByTarget(llvm::ArrayRef<std::vector<TargetGain>> gains,
                           const CompileOptions &options);

/// Where no layer is left.
inline constexpr const char *kTakeAll =
    "; --quantize-where possible takes every layer that can be quantized";

/// What gains are estimated for.
GainTargets gainTargets(const CompileOptions &options);

/// Writes the member `gains` of the object that is open: an object for each target, times in
/// microseconds.
void writeGains(Json &json, llvm::ArrayRef<TargetGain> gains, const CompileOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_QUANTIZATIONCHOICE_H
