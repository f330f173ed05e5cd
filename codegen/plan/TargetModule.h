//===- TargetModule.h - The module of a target, and its symbols ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PLAN_TARGETMODULE_H
#define DLC_CODEGEN_PLAN_TARGETMODULE_H

#include "ir/dl/base/DLTypes.h"

#include "mlir/IR/BuiltinOps.h"

namespace dlc::codegen {

/// `module` if it is the one of target `name`, else the one in it; null where there is none.
inline mlir::ModuleOp targetModule(mlir::ModuleOp module, llvm::StringRef name) {
  return module.getName() == name ? module : module.lookupSymbol<mlir::ModuleOp>(name);
}

/// The ranges of the symbols, which stand on the outermost module that has them: `target` may lie
/// in the model's.
inline llvm::SmallVector<dl::Range> symbolsOf(mlir::ModuleOp target) {
  while (!target->hasAttr("dl.symbols") && target->getParentOfType<mlir::ModuleOp>())
    target = target->getParentOfType<mlir::ModuleOp>();
  return dl::symbolRanges(target);
}

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_TARGETMODULE_H
