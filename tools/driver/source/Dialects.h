//===- Dialects.h - The dialects that dlc's tools know ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_SOURCE_DIALECTS_H
#define DLC_TOOLS_DRIVER_SOURCE_DIALECTS_H

#include "mlir/IR/DialectRegistry.h"

namespace dlc {

/// Our dialects and the upstream ones that kernel IR is made of.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_SOURCE_DIALECTS_H
