//===- FlowTable.h - The flow between segments as the package stores it -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PACKAGE_FLOWTABLE_H
#define DLC_CODEGEN_PACKAGE_FLOWTABLE_H

#include "codegen/package/Package.h"

namespace dlc::codegen {

/// Writes the signature, the symbols and the flow of `module` into `table`. The function of
/// `module` holds calls of `segments`, branches, loops and reads alone (the pass cut-segments).
mlir::LogicalResult buildFlow(mlir::ModuleOp module, llvm::ArrayRef<CompiledSegment> segments,
                              schema::ModuleT &table);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PACKAGE_FLOWTABLE_H
