//===- InspectWeights.h - What is in a file of weights ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_RUN_INSPECTWEIGHTS_H
#define DLC_TOOLS_DRIVER_RUN_INSPECTWEIGHTS_H

#include <string>

namespace dlc {

/// Whether the name ends as those of weight files do: .safetensors, .npz.
bool isWeightFile(const std::string &path);
/// Prints names, dtypes, shapes and sizes of the tensors and their totals; an ExitCode.
int inspectWeights(const std::string &path, bool json);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_RUN_INSPECTWEIGHTS_H
