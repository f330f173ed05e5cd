//===- QuantizationGrids.h - The grids that --quantize and dlc quantize are asked for ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPILER_QUANTIZATIONGRIDS_H
#define DLC_TOOLS_DRIVER_COMPILER_QUANTIZATIONGRIDS_H

#include "passes/Pipelines.h"
#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// Whether the scheme has such grids; an ExitCode, reported unless it is kOk. `option` names the
/// scheme: "--quantize".
int checkGrids(QuantizationScheme scheme, const GridOptions &grids, const std::string &option);

/// How w8 and w4 write weights: by default w8 has symmetric grids, one for each row, and w4 has
/// asymmetric ones, one for each 32 neighbours of a row.
WeightFormat weightFormatOf(QuantizationScheme scheme, const GridOptions &grids);
/// Whether int8 and dynamic write activations without a zero point.
bool hasSymmetricActivations(const GridOptions &grids);
/// Whether the weights of a product share one scale.
bool hasPerTensorWeights(const GridOptions &grids);

/// The options that ask for these grids, each after a space; empty for those that the scheme has
/// anyway.
std::string textOf(const GridOptions &grids);

/// The options of a compile that say how numbers in few bits are written.
PipelineOptions quantizationOf(const CompileOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_QUANTIZATIONGRIDS_H
