//===- QuantizationGrids.h - The grids that --quantize and dlc quantize are asked for ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPILER_QUANTIZATIONGRIDS_H
#define DLC_TOOLS_DRIVER_COMPILER_QUANTIZATIONGRIDS_H

#include "passes/Passes.h"
#include "passes/compress/quantize/PackedMatrix.h"
#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// Whether the scheme has such grids; an ExitCode, reported unless it is kOk. `option` names the
/// scheme: "--quantize".
int checkGrids(const std::string &scheme, const GridOptions &grids, const std::string &option);

/// How w8 and w4 write weights: by default w8 has symmetric grids, one for each row, and w4 has
/// asymmetric ones, one for each 32 neighbours of a row.
WeightFormat weightFormatOf(const std::string &scheme, const GridOptions &grids);
/// Whether int8 and dynamic write activations without a zero point.
bool hasSymmetricActivations(const GridOptions &grids);
/// Whether the weights of a product share one scale.
bool hasPerTensorWeights(const GridOptions &grids);

/// The options that ask for these grids, each after a space; empty for those that the scheme has
/// anyway.
std::string textOf(const GridOptions &grids);

/// The passes that make such numbers, where the driver runs them itself.
QuantizeProductsOptions quantizeProductsOptions(const CompileOptions &options);
QuantizeWeightsOptions quantizeWeightsOptions(const CompileOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_QUANTIZATIONGRIDS_H
