//===- ImportAsText.h - Foreign models as .dl text and safetensors ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_IMPORTASTEXT_H
#define DLC_TOOLS_DRIVER_IMPORTASTEXT_H

#include "tools/driver/Compiler.h"

namespace dlc {

/// `dlc import`: an ExitCode; everything is reported.
int importAsText(const ImportAsTextOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_IMPORTASTEXT_H
