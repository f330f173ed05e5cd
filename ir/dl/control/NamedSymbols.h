//===- NamedSymbols.h - Symbols that ops name, and steps that give them -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_CONTROL_NAMEDSYMBOLS_H
#define DLC_IR_DL_CONTROL_NAMEDSYMBOLS_H

#include "ir/dl/DLDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Calls `visit` once with each symbol in the types, attributes and regions' arguments of `op`
/// itself, and with those that derived ones follow from. `symbols`: all of the module.
void forEachSymbol(mlir::Operation *op, llvm::ArrayRef<dl::SymbolAttr> symbols,
                   llvm::function_ref<void(unsigned)> visit);

/// Erases the ops of `block` whose results nothing reads. A branch or loop that gives a symbol
/// which an op after it names is kept.
void eraseUnread(mlir::Block &block, llvm::ArrayRef<dl::SymbolAttr> symbols);

/// Erases what nothing reads in a module with read symbols. If no branch, loop or read is left,
/// removes the read symbols and the derived ones over them, which no op names.
void dropUnreadSteps(mlir::ModuleOp module);

} // namespace dlc

#endif // DLC_IR_DL_CONTROL_NAMEDSYMBOLS_H
