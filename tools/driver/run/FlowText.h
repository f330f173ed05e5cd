//===- FlowText.h - What a model that is cut into segments does ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_RUN_FLOWTEXT_H
#define DLC_TOOLS_DRIVER_RUN_FLOWTEXT_H

#include "runtime/core/package/Module.h"

#include <string>
#include <vector>

namespace dlc {

/// The steps of the module's flow, one a line, those of inner blocks indented. Values have the
/// names of the model's inputs, states and outputs, else "%" and their slot.
std::vector<std::string> describeFlow(const rt::Module &module);
/// Why the model is cut, a reason a line: the sizes that its run reads, its branches and loops.
std::vector<std::string> describeCuts(const rt::Module &module);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_RUN_FLOWTEXT_H
